"""Word vectors from a graph of terms by graph convolutions, as AUEB's GRAPH-JPDRMM has them.

A bidirectional GRU reads the words of a node's name; the highest value over the words, with the word vectors added, is the
node's text vector. Graph convolutions (Kipf and Welling) then mix the vectors of neighbours. Skip-gram with negative sampling
over random walks, as in node2vec, brings nodes together that walks visit near each other. The word vectors are learned with the
rest; JPDRMM reads them, and the node vectors are dropped.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from citewell.arrays import Arrays
from citewell.progress import SILENT, Progress
from citewell.train.random_walks import walks
from citewell.train.recipe import ConvolutionHyperparameters, GraphHyperparameters
from citewell.train.save import EpochCheckpoints
from citewell.train.term_graph import Links, TermGraph, name_rows
from citewell.types import Float32Array, IntArray

_SAVE_EVERY = 50
_STAGE = "convolution"
_ABSENT = -1e9
"""Below every value of a word, so that a position without a word is never the highest."""


def normalised_adjacency(links: Sequence[Links]) -> Tensor:
    """The sparse matrix of links and of every node to itself, divided by the root of the degrees of both ends."""
    sizes = np.array([len(each.nodes) + 1 for each in links])
    rows = np.repeat(np.arange(len(links)), sizes)
    columns = np.concatenate([[at, *each.nodes] for at, each in enumerate(links)]).astype(np.int64)
    values = (1 / np.sqrt(sizes[rows] * sizes[columns])).astype(np.float32)
    places = torch.from_numpy(np.stack([rows, columns]))
    return torch.sparse_coo_tensor(places, torch.from_numpy(values), (len(links), len(links)), check_invariants=True).coalesce()


class Convolution(nn.Module):
    """One graph convolution: the weighted mean of the neighbours' vectors, times a matrix."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.linear = nn.Linear(size, size)

    def forward(self, adjacency: Tensor, states: Tensor) -> Tensor:
        return torch.sparse.mm(adjacency, self.linear(states))


class GraphEncoder(nn.Module):
    """Vectors of all nodes, from the words of their names and from their neighbours."""

    def __init__(self, names: IntArray, adjacency: Tensor, start: Float32Array, layers: int) -> None:
        super().__init__()
        size = start.shape[1]
        self.words = nn.Parameter(torch.from_numpy(start.copy()))
        # Both directions together have at least the dimensions of a word vector; the rest is cut.
        self.gru = nn.GRU(size, (size + 1) // 2, batch_first=True, bidirectional=True)
        self.convolutions = nn.ModuleList(Convolution(size) for _ in range(layers))
        self._names, self._present = torch.from_numpy(np.maximum(names, 0)), torch.from_numpy(names >= 0)
        self._lengths = self._present.sum(1).clamp(min=1)
        self._adjacency = adjacency

    def forward(self) -> Tensor:
        states = self.texts()
        for at, convolution in enumerate(self.convolutions):
            states = convolution(self._adjacency, states)
            if at + 1 < len(self.convolutions):
                states = functional.relu(states)
        return states

    def texts(self) -> Tensor:
        """The text vector of each node."""
        words = functional.embedding(self._names, self.words)
        packed = nn.utils.rnn.pack_padded_sequence(words, self._lengths, batch_first=True, enforce_sorted=False)
        read, _ = nn.utils.rnn.pad_packed_sequence(self.gru(packed)[0], batch_first=True, total_length=words.shape[1])
        states = read[..., : words.shape[2]] + words
        highest = states.masked_fill(~self._present[..., None], _ABSENT).max(dim=1).values
        return highest * self._present.any(dim=1, keepdim=True)  # a name may have no word at all


def train_word_vectors(
    terms: TermGraph,
    start: Float32Array,
    graph: GraphHyperparameters,
    seed: int,
    checkpoints: EpochCheckpoints,
    progress: Progress = SILENT,
) -> Float32Array:
    """Word vectors, learned from those in `start`; resumes an interrupted training from its last checkpoint."""
    numbers = graph.convolution
    assert numbers is not None
    torch.manual_seed(seed)
    encoder = GraphEncoder(name_rows(terms.names), normalised_adjacency(terms.links), start, numbers.layers)
    optimizer = torch.optim.Adam(encoder.parameters(), numbers.rate)
    paths = torch.tensor(list(walks(terms, graph, seed)))
    visits = torch.bincount(paths.flatten(), minlength=len(terms.names)).float() ** 0.75
    done, arrays = checkpoints.load(_STAGE)
    if done:
        _restore(encoder, optimizer, arrays)
    progress.start("training graph convolutions", numbers.steps, "steps")
    progress.advance(done)
    for step in range(done, numbers.steps):
        optimizer.zero_grad(set_to_none=True)
        walk_loss(encoder(), paths, visits, numbers).backward()
        optimizer.step()
        progress.advance()
        if (step + 1) % _SAVE_EVERY == 0:
            checkpoints.save(_STAGE, step + 1, _state(encoder, optimizer))
    return np.asarray(encoder.words.detach().numpy(), np.float32)


def walk_loss(nodes: Tensor, paths: Tensor, visits: Tensor, numbers: ConvolutionHyperparameters) -> Tensor:
    """Skip-gram's loss of a sample of pairs at most `window` apart on a walk, with negatives sampled by visits."""
    rows = torch.randint(len(paths), (numbers.pairs,))
    here = torch.randint(paths.shape[1], (numbers.pairs,))
    away = torch.randint(1, numbers.window + 1, (numbers.pairs,)) * (2 * torch.randint(2, (numbers.pairs,)) - 1)
    there = here + away
    inside = (there >= 0) & (there < paths.shape[1])
    one, other = paths[rows[inside], here[inside]], paths[rows[inside], there[inside]]
    negatives = torch.multinomial(visits, len(one) * numbers.negatives, replacement=True).view(len(one), -1)
    positive = functional.logsigmoid((nodes[one] * nodes[other]).sum(1))
    negative = functional.logsigmoid(-(nodes[negatives] @ nodes[one][:, :, None])[..., 0]).sum(1)
    return -(positive + negative).mean()


def _state(encoder: GraphEncoder, optimizer: torch.optim.Optimizer) -> Arrays:
    arrays = {f"weights.{name}": value.numpy() for name, value in encoder.state_dict().items()}
    for at, values in optimizer.state_dict()["state"].items():
        arrays |= {f"adam.{at}.{name}": np.atleast_1d(value.numpy()) for name, value in values.items()}
    return {**arrays, "random": torch.get_rng_state().numpy()}


def _restore(encoder: GraphEncoder, optimizer: torch.optim.Optimizer, arrays: Arrays) -> None:
    weights = {name: value for name, value in arrays.items() if name.startswith("weights.")}
    encoder.load_state_dict({name.removeprefix("weights."): torch.from_numpy(value) for name, value in weights.items()})
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in arrays.items():
        if name.startswith("adam."):
            _, at, what = name.split(".")
            tensor = torch.from_numpy(value)
            state.setdefault(int(at), {})[what] = tensor[0] if what == "step" else tensor
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
    torch.set_rng_state(torch.from_numpy(arrays["random"]))
