"""Training SEMISER without labels: a sentence must be near to its own key terms, and to those of other sentences it must not.

The highest of the four cosines of a sentence's and a key term's two vectors, not less than 0, is taken for the chance that the
one belongs to the other (cross-entropy); to that the cosines between the two vectors of each text are added, which keeps them
apart. Vectors of words stay as they are. `citewell.models.semiser` is the same network by numpy, and tells what it does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from citewell.errors import CitewellError
from citewell.models.onnx import by_length
from citewell.models.semiser import NOWHERE, VIEWS
from citewell.models.word_networks import NETWORK
from citewell.models.word_vectors import WordVectors, side_by_side
from citewell.text.sgrank import Term, key_terms
from citewell.train.checkpoint import Checkpoint
from citewell.train.checkpoints import Best
from citewell.train.monitoring import Watcher
from citewell.train.sentence_data import Lessons
from citewell.train.sentence_measures import measured
from citewell.train.steps import Steps

_SURE = 1e-4
"""No chance is nearer to 0 or 1."""
_BATCH_WORDS = 8192
_LONGEST = 200
"""Words of a sentence that key terms are looked for in."""


class Numbers(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The numbers of a recipe."""

    steps: int
    pairs: int
    """Sentences a step, each with a key term of its own and with one of another."""
    drawn: int
    """So many sentences are learned from."""
    terms: int
    """Key terms of a sentence."""
    words: int
    """Words of a key term, at most."""
    size: int
    """Dimensions of the vectors of texts."""
    hidden: int
    """Those of the layer that attention is made of."""
    apart: float
    """How much the cosines between the two vectors of a text count."""
    rate: float
    warmup: float
    dev_every: int
    dev_questions: int
    dev_depth: int
    seed: int


class Network(nn.Module):
    """SEMISER."""

    def __init__(self, words: WordVectors, numbers: Numbers) -> None:
        super().__init__()
        self._known = len(words.hashes)
        self.register_buffer("table", torch.from_numpy(words.vectors), persistent=False)
        self.context1 = nn.Conv1d(words.vectors.shape[1], numbers.size, 3, padding=1)
        self.context2 = nn.Conv1d(numbers.size, numbers.size, 3, padding=1)
        self.sentence1, self.question1 = (nn.Linear(numbers.size, numbers.hidden) for _ in range(2))
        self.sentence2, self.question2 = (nn.Linear(numbers.hidden, VIEWS) for _ in range(2))

    def sentences(self, ids: Tensor) -> Tensor:
        """The two vectors of sentences, given as rows of words."""
        return self._views(ids, self.sentence1, self.sentence2)

    def questions(self, ids: Tensor) -> Tensor:
        """The two vectors of questions."""
        return self._views(ids, self.question1, self.question2)

    def _views(self, ids: Tensor, first: nn.Linear, second: nn.Linear) -> Tensor:
        there = (ids > 0)[..., None]
        words = self.table[torch.where(ids <= self._known, ids, 0)]
        for layer in (self.context1, self.context2):
            words = torch.tanh(layer(words.transpose(1, 2)).transpose(1, 2)) * there
        told = second(torch.tanh(first(words))).masked_fill(~there, NOWHERE)
        shares = torch.softmax(told, dim=1) * there
        return functional.normalize(shares.transpose(1, 2) @ words, dim=-1, eps=1e-9)


def nearness(questions: Tensor, sentences: Tensor) -> Tensor:
    """For each question and the sentence beside it the highest cosine of their vectors."""
    return (questions @ sentences.transpose(1, 2)).flatten(1).max(dim=1).values


class Training:
    """Draws sentences with key terms, and measures on dev."""

    def __init__(self, lessons: Lessons, words: WordVectors, model: Network, numbers: Numbers, device: torch.device) -> None:
        torch.manual_seed(numbers.seed)
        self.lessons, self.model, self.numbers = lessons, model, numbers
        self.best = Best(model)
        self._device = device
        self._numbers = words.numbers(lessons.hashes)
        self._sentences, self._terms = _with_terms(lessons, numbers)
        if len(self._sentences) < 2:
            raise CitewellError("the papers of the sets have no two sentences with key terms; name other sets")

    def state(self) -> dict[str, Any]:
        """What further steps depend on, but for torch's own random numbers."""
        return {"best": self.best.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.best.restore(state["best"])

    def loss(self) -> Tensor:
        """Of some sentences, each with a key term of its own and with one of another sentence."""
        many = len(self._sentences)
        here = torch.randint(many, (self.numbers.pairs,))
        there = (here + 1 + torch.randint(many - 1, here.shape)) % many
        terms = [self._term(at) for at in (*here.tolist(), *there.tolist())]
        sentences = self.model.sentences(self._ids([self.lessons.sentence(self._sentences[at]) for at in here.tolist()]))
        questions = self.model.questions(self._ids([np.array(term) for term in terms]))
        chances = nearness(questions, sentences.repeat(2, 1, 1)).clamp(_SURE, 1 - _SURE)
        labels = torch.arange(len(terms), device=self._device) < len(here)
        apart = sum((views[:, 0] * views[:, 1]).sum(1).clamp(min=0).mean() for views in (sentences, questions))
        return functional.binary_cross_entropy(chances, labels.float()) + self.numbers.apart * apart

    def _term(self, at: int) -> Term:
        terms = self._terms[at]
        return terms[int(torch.randint(len(terms), (1,)).item())]

    def _ids(self, texts: Sequence[npt.NDArray[np.int64]]) -> Tensor:
        return torch.from_numpy(side_by_side([self._numbers[text] for text in texts])).to(self._device)

    @torch.no_grad()
    def judge(self, question: int, papers: Sequence[int]) -> tuple[npt.NDArray[np.float32], list[npt.NDArray[np.float32]]]:
        """The nearness of sentences, and of papers that of their best one."""
        parts = [[self.lessons.sentence(at) for at in self.lessons.sentences(paper)[1:]] for paper in papers]
        flat = [text for part in parts for text in part]
        asked = self.model.questions(self._ids([self.lessons.asked(question)]))
        near = np.zeros(len(flat), np.float32)
        for places in by_length([len(text) for text in flat], _BATCH_WORDS):
            sentences = self.model.sentences(self._ids([flat[place] for place in places.tolist()]))
            near[places] = nearness(asked, sentences).cpu().numpy()
        found = np.split(near, np.cumsum([len(part) for part in parts])[:-1])
        return np.array([part.max(initial=-1.0) for part in found], np.float32), found

    def dev(self) -> dict[str, float]:
        self.model.eval()
        found = measured(self.lessons, self.judge, self.numbers.dev_depth, self.numbers.dev_questions)
        self.best.offer(sum(found.values()) / max(1, len(found)))
        return found


def _with_terms(lessons: Lessons, numbers: Numbers) -> tuple[list[int], list[list[Term]]]:
    """Some sentences that are not titles, and the key terms of each."""
    rarity = lessons.rarity().tolist()
    others = np.setdiff1d(np.arange(len(lessons.sentence_at) - 1), lessons.paper_at)
    drawn = np.random.default_rng(numbers.seed).permutation(others)[: numbers.drawn].tolist()
    found = [key_terms(lessons.runs([at], _LONGEST), rarity.__getitem__, numbers.terms, numbers.words) for at in drawn]
    kept = [(at, terms) for at, terms in zip(drawn, found, strict=True) if terms]
    return [at for at, _ in kept], [terms for _, terms in kept]


def fit(
    lessons: Lessons,
    words: WordVectors,
    numbers: Numbers,
    checkpoint: Checkpoint,
    out: Path,
    device: torch.device,
    watcher: Watcher | None = None,
) -> Network:
    """Train a network and leave it in `out`; killed, it goes on from its checkpoint."""
    torch.manual_seed(numbers.seed)
    model = Network(words, numbers).to(device)
    training = Training(lessons, words, model, numbers, device)
    optimizer = torch.optim.Adam(model.parameters(), numbers.rate)
    steps = Steps(model, optimizer, training, out, checkpoint, watcher)
    steps.run(numbers.steps, numbers.rate, numbers.warmup, training.loss, training.dev, numbers.dev_every)
    training.best.take()
    np.savez(out / NETWORK, **{name: weight.detach().cpu().numpy() for name, weight in model.state_dict().items()})
    return model


WHAT = "SEMISER: two vectors of a question or a sentence, by numpy"
"""What a card says of it."""
