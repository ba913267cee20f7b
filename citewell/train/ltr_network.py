"""Training the network that weighs signals beside the trees: of all candidates of a question the right ones shall stand out.

The loss is the cross-entropy of the softmax over a question's candidates. Trees cut signals into steps, the network sees
slopes: what both think together is better than what either does.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from citewell.models.ltr_network import Network, scaling
from citewell.train.ltr import Examples, Hiding, held_back, never_cited
from citewell.train.recipe import NetworkNumbers

if TYPE_CHECKING:
    from torch import nn

_AT_ONCE = 1 << 16


def learn(
    examples: Examples, numbers: NetworkNumbers, task: str, hiding: Hiding, seed: int
) -> tuple[Network, npt.NDArray[np.float64]]:
    """A network, and what one of most questions thought of those that were held back."""
    uncited = numbers.uncited.get(task, 1.0)
    some, others = held_back(examples, seed)
    first = fit(hiding.added(some, seed), numbers, uncited, seed)
    thought = np.concatenate([first.scores(part.astype(np.float64)) for part in _parts(others.rows)])
    return fit(hiding.added(examples, seed), numbers, uncited, seed), thought


def fit(examples: Examples, numbers: NetworkNumbers, uncited: float, seed: int) -> Network:
    """The network of some examples; a right paper that nobody has cited yet counts `uncited` times."""
    import torch
    from torch import nn

    torch.manual_seed(seed)
    means, scales, told = scaling(examples.rows)
    still = Network(examples.names, means, scales, told, (), numbers.share)
    parts = [still.inputs(part.astype(np.float64)).astype(np.float32) for part in _parts(examples.rows)]
    inputs = torch.from_numpy(np.concatenate(parts))
    worth = torch.from_numpy((examples.labels * np.where(never_cited(examples), uncited, 1.0)).astype(np.float32))
    ends = np.cumsum(examples.sizes)
    places = [torch.arange(end - size, end) for end, size in zip(ends.tolist(), examples.sizes.tolist(), strict=True)]
    widths = [inputs.shape[1], numbers.hidden, max(1, numbers.hidden // 2), 1]
    layers = [nn.Linear(before, after) for before, after in pairwise(widths)]
    inner = [part for layer in layers[:-1] for part in (layer, nn.ReLU(), nn.Dropout(numbers.dropout))]
    model = nn.Sequential(*inner, layers[-1])
    optimizer = torch.optim.AdamW(model.parameters(), numbers.rate, weight_decay=numbers.decay)
    steps = numbers.epochs * -(-len(places) // numbers.batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, numbers.rate, total_steps=steps)
    for _ in range(numbers.epochs):
        order = torch.randperm(len(places)).tolist()
        for start in range(0, len(order), numbers.batch):
            some = [places[at] for at in order[start : start + numbers.batch]]
            here = torch.cat(some)
            scores = model(inputs[here])[:, 0].split([len(each) for each in some])
            right = worth[here].split([len(each) for each in some])
            loss = sum(-(score.log_softmax(0) * each).sum() / each.sum() for score, each in zip(scores, right, strict=True))
            optimizer.zero_grad()
            (loss / len(some)).backward()
            optimizer.step()
            schedule.step()
    return Network(examples.names, means, scales, told, tuple(_arrays(layer) for layer in layers), numbers.share)


def _parts(rows: npt.NDArray[np.float32]) -> list[npt.NDArray[np.float32]]:
    """Rows in pieces, so that not all of them are there in twice the width at once."""
    return np.array_split(rows, -(-len(rows) // _AT_ONCE) or 1)


def _arrays(layer: nn.Linear) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    weights, biases = (part.detach().numpy().astype(np.float64) for part in (layer.weight, layer.bias))
    return weights.T, biases
