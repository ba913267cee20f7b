"""Ranked lists: for questions of a pack the candidates that a first stage found, as a re-ranker will be handed them.

The file lies beside the pack and holds two arrays: ``questions``, ascending numbers of the pack's questions, and ``papers``,
for each a row of the pack's papers, best first, -1 where there is none; and a word for the pack that they belong to.
`citewell.train.prefilter` makes it; numpy and torch read it.
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from citewell.errors import CitewellError
from citewell.train.curve import Values
from citewell.train.pack_queries import Asking
from citewell.train.packs import Arrays, load
from citewell.train.sidecars import beside, word


class Lists:
    """The lists of some questions on a device."""

    def __init__(self, questions: Tensor, papers: Tensor) -> None:
        self.questions, self.papers = questions.contiguous(), papers

    @classmethod
    def read(cls, pack: Path, arrays: Arrays, name: str, device: torch.device) -> Lists:
        """Those of the first stage called `name`, from beside a pack, which holds `arrays`."""
        path = beside(pack, name)
        if not path.exists():
            raise CitewellError(f"there is no {path}; citewell.train.prefilter makes it of the pack's sets")
        found = load(path)
        if str(found["pack"]) != word(arrays):
            raise CitewellError(f"{path} was made for another pack; remove it and make it anew")
        return cls(*(torch.from_numpy(found[part].astype("int64")).to(device) for part in ("questions", "papers")))

    def known(self, questions: Tensor) -> Tensor:
        """Which of some questions have a list."""
        return self.questions[self._places(questions)] == questions if len(self.questions) else torch.zeros_like(questions) > 0

    def of(self, questions: Tensor) -> Tensor:
        """The rows of some questions; -1 throughout where a question has no list."""
        known = self.known(questions)
        if not len(self.questions):
            return torch.full((len(questions), 1), -1, device=questions.device)
        return torch.where(known[:, None], self.papers[self._places(questions)], -1)

    def found(self, questions: Tensor, papers: Tensor) -> Tensor:
        """For each question and the paper beside it, whether its list has the paper."""
        return (self.of(questions) == papers[:, None]).any(1)

    def _places(self, questions: Tensor) -> Tensor:
        return torch.searchsorted(self.questions, questions).clamp(max=max(0, len(self.questions) - 1))


def ranked(papers: Tensor, scores: Tensor) -> Tensor:
    """Papers in rows by their scores, best first; -1, which is no paper, last."""
    order = scores.masked_fill(papers < 0, float("-inf")).argsort(dim=1, descending=True, stable=True)
    return papers.gather(1, order)


def measured(asking: Asking, questions: Tensor, papers: Tensor) -> Values:
    """R@10, R-precision and RR of rankings in rows."""
    right = asking.answers(questions, papers)
    wanted = asking.wanted(questions)
    places = torch.arange(papers.shape[1], device=papers.device)
    first = torch.where(right.any(1), 1 / (right.float().argmax(1) + 1), 0.0)
    return {
        "R@10": round((right[:, :10].sum(1) / wanted).mean().item(), 4),
        "Rprec": round(((right & (places < wanted[:, None])).sum(1) / wanted).mean().item(), 4),
        "RR": round(first.mean().item(), 4),
    }
