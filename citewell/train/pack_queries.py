"""The questions of a pack on a device: drawn for training, asked on dev, and used to look for wrong papers that seem right."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from citewell.train.batches import Texts
from citewell.train.packs import SPLITS, TASKS, Arrays

FOREVER = 9999
_AT_ONCE = 512

Vectors = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Group:
    """The questions of one set and task."""

    set: int
    task: int
    sentences: int
    """Whether the answers are sentences, not papers."""
    questions: Tensor
    pairs: int
    """Questions with each of their answers."""

    def name(self, arrays: Arrays) -> str:
        return f"{arrays['sets'][self.set]} {TASKS[self.task]}{' sentences' if self.sentences else ''}"


class Asking:
    """Questions, and which papers answer them, may answer them, or cannot."""

    def __init__(self, arrays: Arrays, texts: Texts) -> None:
        def held(name: str) -> Tensor:
            return torch.from_numpy(arrays[name].astype("int64")).to(texts.device)

        self._arrays = arrays
        self._texts = texts
        self.device = texts.device
        self._wanted_at, self._wanted = held("question_wanted_at"), held("question_wanted")
        counts = self._wanted_at[1:] - self._wanted_at[:-1]
        asked = torch.repeat_interleave(torch.arange(len(counts), device=self.device), counts)
        self._answers = torch.sort(asked << 32 | self._wanted).values
        self._cites = held("cites")
        self.citing, self.date = held("question_citing"), held("question_date")
        self.paper_date, self.paper_set, self.paper_sentence = held("paper_date"), held("paper_set"), held("paper_sentence")
        self.year = torch.where(self.date < 9999_0000, self.date // 10_000, FOREVER)

    def groups(self, split: str) -> list[Group]:
        """The questions of a split by set and task."""
        columns = [self._arrays[f"question_{name}"] for name in ("set", "task", "sentences", "split")]
        counts = np.diff(self._arrays["question_wanted_at"])
        found = []
        for place, task, sentences in sorted({key[:3] for key in zip(*(column.tolist() for column in columns), strict=True)}):
            wanted = (place, task, sentences, SPLITS.index(split))
            here = np.flatnonzero(np.all([column == value for column, value in zip(columns, wanted, strict=True)], axis=0))
            if len(here):
                numbers = torch.from_numpy(here.astype("int64")).to(self.device)
                found.append(Group(place, task, sentences, numbers, int(counts[here].sum())))
        return found

    def one_answer(self, questions: Tensor) -> Tensor:
        """A paper that answers each question, drawn."""
        first, count = self._wanted_at[questions], self._wanted_at[questions + 1] - self._wanted_at[questions]
        return self._wanted[first + (torch.rand(len(questions), device=self.device) * count).long()]

    def may_answer(self, questions: Tensor, papers: Tensor) -> Tensor:
        """For each question and paper (rows and columns) whether it answers it, or its citing paper cites it or is it."""
        keys = questions[:, None] << 32 | papers
        citing = self.citing[questions]
        cited = citing.clamp(min=0)[:, None] << 32 | papers
        own = citing[:, None] == papers
        return _among(keys, self._answers) | own | ((citing >= 0)[:, None] & _among(cited, self._cites))

    def beside(self, questions: Tensor, papers: Tensor) -> Tensor:
        """As `may_answer`, less those that answer: neither right nor wrong."""
        return self.may_answer(questions, papers) & ~self.answers(questions, papers)

    def answers(self, questions: Tensor, papers: Tensor) -> Tensor:
        """For each question and its row of papers whether these answer it; -1 is no paper."""
        return _among(questions[:, None] << 32 | papers, self._answers)

    def wanted(self, questions: Tensor) -> Tensor:
        """How many papers answer each question."""
        return self._wanted_at[questions + 1] - self._wanted_at[questions]

    def pool(self, place: int, sentences: int) -> Tensor:
        """The papers, or sentences, of a set."""
        return torch.nonzero((self.paper_set == place) & (self.paper_sentence == sentences)).flatten()

    def best(
        self,
        questions: Tensor,
        pool: Tensor,
        vectors: Tensor,
        ask: Vectors,
        size: int,
        hide: Callable[[Tensor, Tensor], Tensor] | None = None,
    ) -> Iterator[Tensor]:
        """The best papers of a pool for some questions at a time, none from their future and none to `hide`.

        Where fewer than `size` are left, the rest of a row is -1.
        """
        for some in questions.split(_AT_ONCE):
            scores = ask(some) @ vectors.T
            unseen = (self.paper_date[pool][None] > self.date[some, None]) | (
                (self.paper_date[pool] == 0)[None] & (self.date[some, None] < 9999_0000)
            )
            unseen |= pool[None] == self.citing[some, None]
            if hide is not None:
                unseen |= hide(some, pool)
            scores, places = scores.masked_fill_(unseen, float("-inf")).topk(min(size, len(pool)), dim=1)
            yield torch.where(scores > float("-inf"), pool[places], -1)

    def measure(self, group: Group, pool: Tensor, vectors: Tensor, ask: Vectors, sample: int) -> dict[str, float]:
        """R@10 and RR of a group's questions, as far as `sample` of them tell."""
        generator = torch.Generator().manual_seed(0)
        drawn = torch.randperm(len(group.questions), generator=generator)[:sample].to(self.device)
        questions = group.questions[drawn]
        recall, first = [], []
        for some, best in zip(questions.split(_AT_ONCE), self.best(questions, pool, vectors, ask, 100), strict=True):
            right = self.answers(some, best)
            recall.append(right[:, :10].sum(1) / self.wanted(some).clamp(max=10**6))
            rank = torch.where(right.any(1), right.float().argmax(1) + 1, 10**9)
            first.append(1 / rank)
        return {"R@10": torch.cat(recall).mean().item(), "RR": torch.cat(first).mean().item(), "queries": len(questions)}


def _among(keys: Tensor, known: Tensor) -> Tensor:
    """Which keys are among the known ones, which are sorted."""
    if not len(known):
        return torch.zeros_like(keys, dtype=torch.bool)
    return known[torch.searchsorted(known, keys).clamp(max=len(known) - 1)] == keys
