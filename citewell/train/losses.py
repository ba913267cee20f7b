"""What training makes small: each a function of scores or distances."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def in_batch_softmax(scores: Tensor, right: Tensor, hidden: Tensor, temperature: float) -> Tensor:
    """Each query's right paper against all papers of the batch, those left out that may be right too (`hidden`)."""
    logits = (scores / temperature).masked_fill(hidden, float("-inf"))
    return functional.cross_entropy(logits, right)


def triplet(near: Tensor, far: Tensor, margin: float) -> Tensor:
    """The right paper must be nearer than a wrong one by a margin; distances."""
    return functional.relu(near - far + margin).mean()


def binary(scores: Tensor, labels: Tensor) -> Tensor:
    """Right or wrong, pair by pair."""
    return functional.binary_cross_entropy_with_logits(scores, labels)


def listwise(scores: Tensor, right: Tensor) -> Tensor:
    """Candidates in rows: the right ones of each (`right`, 0 or 1) share all the probability."""
    logs = functional.log_softmax(scores, dim=1)
    return -(logs * right).sum(1).div(right.sum(1).clamp(min=1)).mean()


def likeness(student: Tensor, teacher: Tensor, temperature: float) -> Tensor:
    """How far the student's scores of a batch are from the teacher's, as distributions over its papers."""
    wanted = torch.softmax(teacher / temperature, dim=1)
    return functional.kl_div(torch.log_softmax(student / temperature, dim=1), wanted, reduction="batchmean")
