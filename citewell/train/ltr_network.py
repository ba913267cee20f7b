"""Trains the network of learning to rank.

The loss is the cross-entropy of a softmax over the candidates of a query. Trees split features into steps, the network fits
slopes; their ensemble is better than either.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from citewell.models.ltr_network import Network, scaling
from citewell.train.ltr import Examples, FeatureDropout, hold_out, is_uncited
from citewell.train.recipe import NetworkHyperparameters

if TYPE_CHECKING:
    from torch import nn

_CHUNK_ROWS = 1 << 16


def train_network(
    examples: Examples, numbers: NetworkHyperparameters, task: str, dropout: FeatureDropout, seed: int
) -> tuple[Network, npt.NDArray[np.float64]]:
    """The network, and the scores of the held-out queries by a network trained without them."""
    uncited = numbers.uncited.get(task, 1.0)
    training, held_out = hold_out(examples, seed)
    first = fit(dropout.augment(training, seed), numbers, uncited, seed)
    held_out_scores = np.concatenate([first.scores(part.astype(np.float64)) for part in _chunks(held_out.rows)])
    return fit(dropout.augment(examples, seed), numbers, uncited, seed), held_out_scores


def fit(examples: Examples, numbers: NetworkHyperparameters, uncited: float, seed: int) -> Network:
    """Fit a network to examples; a relevant paper without citations has the weight `uncited`."""
    import torch
    from torch import nn

    torch.manual_seed(seed)
    means, scales, flagged = scaling(examples.rows)
    scaler = Network(examples.names, means, scales, flagged, (), numbers.share)
    parts = [scaler.inputs(part.astype(np.float64)).astype(np.float32) for part in _chunks(examples.rows)]
    inputs = torch.from_numpy(np.concatenate(parts))
    grades = torch.from_numpy((examples.labels * np.where(is_uncited(examples), uncited, 1.0)).astype(np.float32))
    ends = np.cumsum(examples.sizes)
    groups = [torch.arange(end - size, end) for end, size in zip(ends.tolist(), examples.sizes.tolist(), strict=True)]
    widths = [inputs.shape[1], numbers.hidden, max(1, numbers.hidden // 2), 1]
    layers = [nn.Linear(before, after) for before, after in pairwise(widths)]
    inner = [part for layer in layers[:-1] for part in (layer, nn.ReLU(), nn.Dropout(numbers.dropout))]
    model = nn.Sequential(*inner, layers[-1])
    optimizer = torch.optim.AdamW(model.parameters(), numbers.rate, weight_decay=numbers.decay)
    steps = numbers.epochs * -(-len(groups) // numbers.batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, numbers.rate, total_steps=steps)
    for _ in range(numbers.epochs):
        order = torch.randperm(len(groups)).tolist()
        for start in range(0, len(order), numbers.batch):
            batch = [groups[at] for at in order[start : start + numbers.batch]]
            here = torch.cat(batch)
            scores = model(inputs[here])[:, 0].split([len(each) for each in batch])
            right = grades[here].split([len(each) for each in batch])
            loss = sum(-(score.log_softmax(0) * each).sum() / each.sum() for score, each in zip(scores, right, strict=True))
            optimizer.zero_grad()
            (loss / len(batch)).backward()
            optimizer.step()
            schedule.step()
    return Network(examples.names, means, scales, flagged, tuple(_arrays(layer) for layer in layers), numbers.share)


def _chunks(rows: npt.NDArray[np.float32]) -> list[npt.NDArray[np.float32]]:
    """The rows in chunks, to limit the memory of the conversion."""
    return np.array_split(rows, -(-len(rows) // _CHUNK_ROWS) or 1)


def _arrays(layer: nn.Linear) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    weights, biases = (part.detach().numpy().astype(np.float64) for part in (layer.weight, layer.bias))
    return weights.T, biases
