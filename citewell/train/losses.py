"""Loss functions, over scores or distances."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def in_batch_softmax(scores: Tensor, positives: Tensor, masked: Tensor, temperature: float) -> Tensor:
    """Softmax of each query's positive over all papers of the batch, without the `masked` ones, which may be relevant."""
    logits = (scores / temperature).masked_fill(masked, float("-inf"))
    return functional.cross_entropy(logits, positives)


def triplet(near: Tensor, far: Tensor, margin: float) -> Tensor:
    """Triplet loss over distances: the positive must be nearer than the negative by a margin."""
    return functional.relu(near - far + margin).mean()


def binary(scores: Tensor, labels: Tensor) -> Tensor:
    """Binary cross-entropy of pairs."""
    return functional.binary_cross_entropy_with_logits(scores, labels)


def listwise(scores: Tensor, relevant: Tensor) -> Tensor:
    """Listwise softmax: the relevant candidates of each row share all the probability."""
    logs = functional.log_softmax(scores, dim=1)
    return -(logs * relevant).sum(1).div(relevant.sum(1).clamp(min=1)).mean()


def distillation(student: Tensor, teacher: Tensor, temperature: float) -> Tensor:
    """KL divergence of the student's score distribution over a batch from the teacher's."""
    targets = torch.softmax(teacher / temperature, dim=1)
    return functional.kl_div(torch.log_softmax(student / temperature, dim=1), targets, reduction="batchmean")
