"""Word vectors from graph convolutions: one layer against numpy, training, and resumption."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from citewell.train.recipe import ConvolutionHyperparameters, GraphHyperparameters
from citewell.train.save import EpochCheckpoints
from citewell.train.term_graph import Links, TermGraph, name_rows

torch = pytest.importorskip("torch")

CONVOLUTION = ConvolutionHyperparameters(start="random", layers=1, window=1, pairs=200, negatives=3, steps=60, rate=0.05)
GRAPH = GraphHyperparameters(
    terms=1, max_words=1, min_papers=1, walks=3, length=4, return_weight=1.0, outward_weight=1.0, convolution=CONVOLUTION
)


def two_groups() -> TermGraph:
    """Eight nodes of one word each; the first four are linked with each other, and so are the others."""
    groups = [list(range(first, first + 4)) for first in (0, 4)]
    links = []
    for node in range(8):
        near = [other for other in groups[node // 4] if other != node]
        links.append(Links(near, [1, 2, 3], frozenset(near)))
    return TermGraph([(node,) for node in range(8)], links, np.arange(8))


def start(size: int = 6) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.random.default_rng(1).uniform(-0.5, 0.5, (8, size)).astype(np.float32)


def test_a_convolution_is_the_normalised_sum_over_neighbours() -> None:
    from citewell.train.graph_convolution import Convolution, normalised_adjacency

    near = [[1], [0, 2], [1]]
    links = [Links(each, list(range(1, len(each) + 1)), frozenset(each)) for each in near]
    torch.manual_seed(2)
    layer = Convolution(4)
    states = np.random.default_rng(3).normal(size=(3, 4)).astype(np.float32)
    weight, bias = layer.linear.weight.detach().numpy(), layer.linear.bias.detach().numpy()
    expected = np.zeros((3, 4))
    for node, others in enumerate(near):
        for other in [node, *others]:
            degrees = (len(near[node]) + 1) * (len(near[other]) + 1)
            expected[node] += (weight @ states[other] + bias) / np.sqrt(degrees)
    with torch.no_grad():
        got = layer(normalised_adjacency(links), torch.from_numpy(states)).numpy()
    assert got == pytest.approx(expected, abs=1e-6)


def test_a_name_is_read_alike_whatever_the_length_of_others() -> None:
    from citewell.train.graph_convolution import GraphEncoder, normalised_adjacency

    links = two_groups().links[:4]
    torch.manual_seed(0)
    one = GraphEncoder(name_rows([(0,), (1, 2), (3,), ()]), normalised_adjacency(links), start(5), 1)
    other = GraphEncoder(name_rows([(0,), (1, 2), (3, 4, 5, 6), ()]), normalised_adjacency(links), start(5), 1)
    other.load_state_dict(one.state_dict())
    with torch.no_grad():
        texts, same = one.texts().numpy(), other.texts().numpy()
    assert same[[0, 1, 3]] == pytest.approx(texts[[0, 1, 3]], abs=1e-6) and not np.allclose(same[2], texts[2])
    assert (texts[3] == 0).all() and texts.shape == (4, 5)


def test_training_lowers_the_loss_and_brings_the_words_of_neighbours_together(tmp_path: Path) -> None:
    from citewell.train.graph_convolution import GraphEncoder, normalised_adjacency, train_word_vectors, walk_loss
    from citewell.train.random_walks import walks

    terms, first = two_groups(), start()
    paths = torch.tensor(list(walks(terms, GRAPH, 1)))

    def loss(words: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> float:
        """The loss of untrained layers over these words."""
        torch.manual_seed(4)
        encoder = GraphEncoder(name_rows(terms.names), normalised_adjacency(terms.links), words, 1)
        with torch.no_grad():
            return float(walk_loss(encoder(), paths, torch.ones(8), CONVOLUTION))

    def nearness(words: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> float:
        """How much closer a word is to the words of its neighbours than to others."""
        unit = words / np.linalg.norm(words, axis=1, keepdims=True)
        cosines, same = unit @ unit.T, np.arange(8)[:, None] // 4 == np.arange(8) // 4
        return float(cosines[same & ~np.eye(8, dtype=bool)].mean() - cosines[~same].mean())

    trained = train_word_vectors(terms, first, GRAPH, 1, EpochCheckpoints(tmp_path / "a", "x"))
    assert loss(trained) < loss(first)
    assert nearness(trained) > nearness(first) + 0.3


def test_a_resumed_training_ends_with_the_same_vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from citewell.train import graph_convolution
    from citewell.train.graph_convolution import train_word_vectors

    monkeypatch.setattr(graph_convolution, "_SAVE_EVERY", 20)
    whole = train_word_vectors(two_groups(), start(), GRAPH, 1, EpochCheckpoints(tmp_path / "whole", "x"))
    checkpoints = EpochCheckpoints(tmp_path / "killed", "x")
    save = checkpoints.save

    def save_and_stop(*args: object) -> None:
        save(*args)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    checkpoints.save = save_and_stop  # type: ignore[assignment, method-assign]
    with pytest.raises(KeyboardInterrupt):
        train_word_vectors(two_groups(), start(), GRAPH, 1, checkpoints)
    resumed = train_word_vectors(two_groups(), start(), GRAPH, 1, EpochCheckpoints(tmp_path / "killed", "x"))
    assert (resumed == whole).all()
