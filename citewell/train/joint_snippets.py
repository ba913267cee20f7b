"""Training JPDRMM: for a question a right paper must score higher than wrong ones, and marked sentences higher than others.

The loss is that of papers (the wrong ones of BM25's candidates must stay behind by 1) times `papers`, and that of sentences
(cross-entropy: marked or not) times `snippets`. Vectors of words stay as they are. `citewell.models.joint_snippets` is the same
network by numpy, and tells what it does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from citewell.errors import CitewellError
from citewell.models import overlap
from citewell.models.joint_snippets import NO_WORD, against_candidates
from citewell.models.word_networks import LEAK, NETWORK
from citewell.models.word_vectors import WordVectors, side_by_side
from citewell.train.checkpoint import Checkpoint
from citewell.train.checkpoints import Best
from citewell.train.monitoring import Watcher
from citewell.train.sentence_data import Lessons
from citewell.train.sentence_measures import measured
from citewell.train.steps import Steps

_FEW = -4.0
"""The score of a sentence of which nothing is known."""


class Numbers(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The numbers of a recipe."""

    steps: int
    questions: int
    """Questions a step."""
    wrong: int
    """Wrong papers a question."""
    longest: int
    """Of a paper that has more sentences so many are drawn, the marked ones among them."""
    papers: float
    """How much the loss of papers counts."""
    snippets: float
    """How much the loss of sentences counts."""
    best: int
    """So many of the highest similarities of a word are averaged."""
    sentences: int
    """So many of the highest sentences of a paper tell its score."""
    hidden: int
    rate: float
    warmup: float
    dev_every: int
    dev_questions: int
    dev_depth: int
    seed: int


class Seen(NamedTuple):
    """A question and some papers as the network takes them."""

    question: Tensor
    """The numbers of its words."""
    ids: Tensor
    """A row of words for each sentence, 0 for none."""
    features: Tensor
    sizes: list[int]
    """How many sentences each paper has."""
    of_papers: Tensor


class Network(nn.Module):
    """JPDRMM."""

    def __init__(self, words: WordVectors, numbers: Numbers) -> None:
        super().__init__()
        self._known, self._best, self._sentences = len(words.hashes), numbers.best, numbers.sentences
        self.register_buffer("table", torch.from_numpy(words.vectors), persistent=False)
        self.register_buffer("rarity", torch.from_numpy(words.rarity), persistent=False)
        size, hidden = words.vectors.shape[1], numbers.hidden
        self.context1, self.context2 = (nn.Conv1d(size, size, 3, padding=1) for _ in range(2))
        self.gate = nn.Linear(size + 1, 1, bias=False)
        self.term1, self.term2 = nn.Linear(6, hidden), nn.Linear(hidden, 1)
        self.sentence1, self.sentence2 = nn.Linear(1 + overlap.OF_SENTENCE, hidden), nn.Linear(hidden, 1)
        self.paper1, self.paper2 = nn.Linear(numbers.sentences + overlap.OF_PAPER, hidden), nn.Linear(hidden, 1)
        self.final = nn.Linear(2, 1)
        with torch.no_grad():  # few sentences are right, and those that come first should stay so
            self.final.weight.fill_(1.0)
            self.final.bias.fill_(_FEW)

    def forward(self, seen: Seen) -> tuple[Tensor, Tensor]:
        """The scores of the papers, and of their sentences."""
        rows = self._rows(seen.question)
        similar = self._similar(seen)
        gate = torch.softmax(self.gate(torch.cat([self.table[rows], self.rarity[rows, None]], dim=1))[:, 0], dim=0)
        matched = self.term2(_leaky(self.term1(similar)))[..., 0] @ gate
        first = self.sentence2(_leaky(self.sentence1(torch.cat([matched[:, None], seen.features], dim=1))))[:, 0]
        highest = torch.stack([self._highest(part) for part in first.split(seen.sizes)])
        papers = self.paper2(_leaky(self.paper1(torch.cat([highest, seen.of_papers], dim=1))))[:, 0]
        sizes = torch.tensor(seen.sizes, device=papers.device)
        final = self.final(torch.stack([first, papers.repeat_interleave(sizes)], dim=1))[:, 0]
        return papers, final

    def _rows(self, numbers: Tensor) -> Tensor:
        return torch.where(numbers <= self._known, numbers, 0)

    def _similar(self, seen: Seen) -> Tensor:
        plain, context = self._in_context(seen.ids)
        asked, asked_in_context = self._in_context(seen.question[None])
        there = (seen.ids > 0)[:, None, :]
        exact = (seen.ids[:, None, :] == seen.question[None, :, None]).float()
        both = ((plain, asked), (context, asked_in_context))
        cosines = [_unit(theirs[0]) @ _unit(mine).transpose(1, 2) for mine, theirs in both]
        return torch.stack([part for kind in (*cosines, exact) for part in self._pooled(kind, there)], dim=-1)

    def _in_context(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        plain = self.table[self._rows(ids)]
        there = (ids > 0)[..., None]
        found = plain
        for layer in (self.context1, self.context2):
            found = _leaky(layer(found.transpose(1, 2)).transpose(1, 2)) * there
        return plain, plain + found

    def _pooled(self, similar: Tensor, there: Tensor) -> tuple[Tensor, Tensor]:
        held = similar.masked_fill(~there, NO_WORD)
        top = held.topk(min(self._best, held.shape[-1]), dim=-1).values
        counted = top > NO_WORD
        many = counted.sum(-1)
        mean = top.where(counted, 0.0).sum(-1) / many.clamp(min=1)
        return top[..., 0].where(many > 0, 0.0), mean

    def _highest(self, scores: Tensor) -> Tensor:
        best = scores.topk(min(self._sentences, len(scores))).values
        return functional.pad(best, (0, self._sentences - len(best)))


def _leaky(found: Tensor) -> Tensor:
    return functional.leaky_relu(found, LEAK)


def _unit(found: Tensor) -> Tensor:
    return functional.normalize(found, dim=-1, eps=1e-9)


class Training:
    """Draws questions with right and wrong papers, and measures on dev."""

    def __init__(self, lessons: Lessons, words: WordVectors, model: Network, numbers: Numbers, device: torch.device) -> None:
        torch.manual_seed(numbers.seed)
        self.lessons, self.words, self.model, self.numbers = lessons, words, model, numbers
        self.best = Best(model)
        self._device = device
        self._numbers = words.numbers(lessons.hashes)
        # A right paper that BM25 has not found would teach that a low score of BM25's is a good one.
        self._asked = [
            at for at in lessons.questions("train").tolist() if np.isin(lessons.wanted(at), lessons.candidates(at)[0]).any()
        ]
        if not self._asked:
            raise CitewellError("BM25 finds no right paper for any question; raise 'depth' in the recipe's [questions]")

    def state(self) -> dict[str, Any]:
        """What further steps depend on, but for torch's own random numbers."""
        return {"best": self.best.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.best.restore(state["best"])

    def loss(self) -> Tensor:
        """Of a few questions."""
        drawn = torch.randint(len(self._asked), (self.numbers.questions,)).tolist()
        return torch.stack([self._loss(self._asked[at]) for at in drawn]).mean()

    def _loss(self, question: int) -> Tensor:
        wanted, known = self.lessons.wanted(question), self.lessons.candidates(question)[0]
        there = known[np.isin(known, wanted)]
        right = there[torch.randint(len(there), (1,)).item()]
        others = known[~np.isin(known, wanted)]
        wrong = others[torch.randperm(len(others))[: self.numbers.wrong].numpy()]
        papers = [int(right), *wrong.tolist()]
        marked = self.lessons.marked(question)
        sentences = [self._drawn(paper, marked) for paper in papers]
        scores, found = self.model(self.seen(question, papers, sentences))
        behind = (1.0 - scores[0] + scores[1:]).clamp(min=0)
        loss = self.numbers.papers * (behind.mean() if len(behind) else scores.sum() * 0.0)
        if not len(marked):  # nobody has said which sentences are meant
            return loss
        flat = np.concatenate(sentences)
        titles = np.isin(flat, self.lessons.paper_at[papers])
        labels = torch.from_numpy(np.isin(flat, marked)[~titles].astype(np.float32)).to(self._device)
        if not len(labels):
            return loss
        of_text = found[torch.from_numpy(~titles).to(self._device)]
        return loss + self.numbers.snippets * functional.binary_cross_entropy_with_logits(of_text, labels)

    def _drawn(self, paper: int, marked: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The title of a paper and its sentences, or some of them."""
        title, *others = self.lessons.sentences(paper)
        if len(others) > self.numbers.longest:
            kept = [sentence for sentence in others if sentence in marked]
            rest = [sentence for sentence in others if sentence not in kept]
            drawn = torch.randperm(len(rest))[: max(0, self.numbers.longest - len(kept))].tolist()
            others = sorted([*kept, *(rest[at] for at in drawn)])
        return np.array([title, *others], np.int64)

    def seen(self, question: int, papers: Sequence[int], sentences: Sequence[npt.NDArray[np.int64]]) -> Seen:
        """A question and some of its candidates, of which only some sentences may be read."""
        asked = self._numbers[self.lessons.asked(question)]
        ids = side_by_side([self._numbers[self.lessons.sentence(at)] for at in np.concatenate(sentences).tolist()])
        rarity = self.words.rarity[self.words.rows(asked)]
        met = overlap.met(asked, rarity, ids)
        sizes = [len(each) for each in sentences]
        candidates, scores = self.lessons.candidates(question)
        known = dict(zip(candidates.tolist(), scores.tolist(), strict=True))
        bm25 = against_candidates(np.array([known[paper] for paper in papers], np.float32), scores)
        of_papers = overlap.of_papers(met, np.cumsum([0, *sizes[:-1]]), rarity, bm25)
        asked_, ids_, features, of_papers_ = (
            torch.from_numpy(part).to(self._device) for part in (asked, ids, met.features, of_papers)
        )
        return Seen(asked_, ids_, features, sizes, of_papers_)

    @torch.no_grad()
    def judge(self, question: int, papers: Sequence[int]) -> tuple[npt.NDArray[np.float32], list[npt.NDArray[np.float32]]]:
        """The scores of papers and of their sentences, the title left out."""
        sentences = [np.array(self.lessons.sentences(paper), np.int64) for paper in papers]
        scores, found = self.model(self.seen(question, papers, sentences))
        parts = np.split(found.cpu().numpy(), np.cumsum([len(each) for each in sentences])[:-1])
        return scores.cpu().numpy(), [part[1:] for part in parts]

    def dev(self) -> dict[str, float]:
        self.model.eval()
        found = measured(self.lessons, self.judge, self.numbers.dev_depth, self.numbers.dev_questions)
        self.best.offer(sum(found.values()) / max(1, len(found)))
        return found


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
    weights = {name: weight.detach().cpu().numpy() for name, weight in model.state_dict().items()}
    np.savez(out / NETWORK, **weights, best=numbers.best, sentences=numbers.sentences)
    return model


WHAT = "JPDRMM: scores of papers and their sentences for a question, by numpy"
"""What a card says of it."""
