"""HyperDoc2Vec: the compiled steps compared with a slow reference; training interrupted, repeated, replaced."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from filelock import FileLock

from citewell.errors import CitewellError
from citewell.library import Library
from citewell.library.trained_models import load_model, untrained
from citewell.progress import SILENT, Progress
from citewell.train import hyperdoc2vec
from citewell.train.corpus import Corpus, read_corpus
from citewell.train.recipe import load_recipe
from citewell.train.training import is_current, train


class Generator:
    """word2vec's random numbers."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def below(self, bound: int) -> int:
        self.state = (self.state * 25214903917 + 11) % 2**64
        return (self.state >> 16 & 0x7FFFFFFF) % bound


def events(corpus: Corpus, doc: int, numbers: Any, with_citations: bool, draw: Generator) -> Any:
    """The examples of one paper: the words whose mean predicts, the kind of the target, and its row."""
    keep = hyperdoc2vec.keep_probability(corpus.counts, numbers.sample)
    words = [word for word in corpus.texts[doc].tolist() if keep[word] >= 1 or draw.below(65536) < keep[word] * 65536]
    for at, word in enumerate(words):
        reach = numbers.window - draw.below(numbers.window)
        near = words[max(0, at - reach) : at] + words[at + 1 : at + reach + 1]
        yield near, "text", word
    text = corpus.texts[doc].tolist()
    for _ in range(numbers.own_passes if with_citations and text else 0):
        start = draw.below(max(1, len(text) - numbers.span + 1))
        yield text[start : start + numbers.span], "own", doc
    for _ in range(numbers.passes if with_citations else 0):
        for context in np.flatnonzero(corpus.citing == doc).tolist():
            yield corpus.contexts[context].tolist(), "citation", int(corpus.cited[context])


def reference(corpus: Corpus, numbers: Any, seed: int) -> dict[str, Any]:
    """The same vectors, one simple step at a time."""
    vectors = {
        name: array.astype(np.float64) for name, array in hyperdoc2vec._initial_vectors(corpus, numbers.size, seed).items()
    }
    cited = np.bincount(corpus.cited, minlength=len(corpus.papers))
    tables = {
        "text": hyperdoc2vec.sampling_table(corpus.counts),
        "citation": hyperdoc2vec.sampling_table(cited),
        "own": np.arange(len(corpus.papers)),
    }
    for epoch in range(numbers.text_epochs + numbers.epochs):
        part = (epoch, numbers.text_epochs) if epoch < numbers.text_epochs else (epoch - numbers.text_epochs, numbers.epochs)
        left = max(0.01, 1 - part[0] / part[1])
        if epoch == numbers.text_epochs:
            for doc, words in enumerate(corpus.texts):
                vectors["docs_out"][doc] = vectors["words_out"][words].mean(axis=0) if len(words) else 0
        draw = Generator(seed * 1_000_003 + epoch + 1)
        for doc in np.random.default_rng([seed, epoch]).permutation(len(corpus.papers)).tolist():
            for near, kind, target in events(corpus, doc, numbers, epoch >= numbers.text_epochs, draw):
                rows = [vectors["words_in"][word] for word in near]
                mean = np.mean(rows if kind == "own" else [vectors["docs_in"][doc], *rows], axis=0)
                side, rate, negatives = "docs_out", numbers.citation_rate * left, numbers.doc_negatives
                if kind == "text":
                    side, rate, negatives = "words_out", numbers.rate * left, numbers.negatives
                table = tables[kind]
                samples = [(target, 1)] + [(int(table[draw.below(len(table))]), 0) for _ in range(negatives)]
                error = np.zeros(numbers.size)
                for place, label in samples:
                    if label or place != target:
                        step = rate * (label - 1 / (1 + np.exp(-mean @ vectors[side][place])))
                        error += step * vectors[side][place]
                        vectors[side][place] += step * mean
                if kind != "own":
                    vectors["docs_in"][doc] += error
                for word in near:
                    vectors["words_in"][word] += error
    return vectors


class NoCheckpoints:
    """Saves nothing."""

    def load(self, stage: str) -> tuple[int, dict[str, Any]]:
        return 0, {}

    def save(self, stage: str, epochs: int, arrays: Any) -> None: ...


@pytest.mark.parametrize(("sample", "own_passes"), [(0.0, 0), (0.01, 0), (0.0, 2)])
def test_the_compiled_steps_equal_the_reference(small: Library, sample: float, own_passes: int) -> None:
    corpus = read_corpus(small, "own+citing", 1)
    numbers = hyperdoc2vec.Parameters(
        size=8,
        window=3,
        negatives=2,
        doc_negatives=3,
        sample=sample,
        text_epochs=1,
        epochs=2,
        passes=2,
        own_passes=own_passes,
        span=5,
        rate=0.1,
        citation_rate=0.2,
    )
    trained = hyperdoc2vec.train(corpus, numbers, 7, NoCheckpoints(), SILENT)  # type: ignore[arg-type]
    for name, expected in reference(corpus, numbers, 7).items():
        assert np.abs(expected).max() > 0.05, "something was learned"
        np.testing.assert_allclose(trained[name], expected, rtol=2e-3, atol=2e-4, err_msg=name)


def vectors(library: Library) -> dict[str, Any]:
    return {name: np.array(array) for name, array in load_model(library, "hyperdoc2vec").items()}


@pytest.mark.parametrize("epochs", [1, 5, 6])
def test_a_resumed_training_ends_with_the_same_vectors(small: Library, tmp_path: Path, epochs: int) -> None:
    copy = Library(shutil.copytree(small.folder, tmp_path / "copy"))
    train(small, "hyperdoc2vec")
    command = [sys.executable, "-m", "tests.train.training_apart", str(copy.folder), "hyperdoc2vec", str(epochs)]
    killed = subprocess.run(command, cwd=Path(__file__).parents[2], check=False)
    assert killed.returncode == -signal.SIGKILL
    with pytest.raises(CitewellError, match="has no model 'hyperdoc2vec'; run 'citewell train hyperdoc2vec --library"):
        load_model(copy, "hyperdoc2vec")
    counts: list[int] = []

    class Counter(Progress):
        def advance(self, count: int = 1) -> None:
            counts.append(count)

    train(copy, "hyperdoc2vec", Counter())
    assert counts[0] == epochs * len(copy), "finished epochs are not repeated"
    once, again = vectors(small), vectors(copy)
    assert all((once[name] == again[name]).all() for name in once)
    assert sorted(path.name for path in (copy.folder / "models").iterdir()) == ["hyperdoc2vec", "hyperdoc2vec.lock"]


def test_a_checkpoint_of_another_corpus_is_ignored(small: Library) -> None:
    command = [sys.executable, "-m", "tests.train.training_apart", str(small.folder), "hyperdoc2vec", "2"]
    subprocess.run(command, cwd=Path(__file__).parents[2], check=False)
    small.remove(["p2016-0"])
    counts: list[int] = []

    class Counter(Progress):
        def advance(self, count: int = 1) -> None:
            counts.append(count)

    train(small, "hyperdoc2vec", Counter())
    assert counts[0] == 0
    assert len(load_model(small, "hyperdoc2vec")["papers"]) == len(small)


def test_the_card_of_a_model(small: Library) -> None:
    about = train(small, "hyperdoc2vec")
    card = json.loads((small.folder / "models" / "hyperdoc2vec" / "card.json").read_text())
    assert card["about"] == about
    assert about["recipe"] == msgspec.to_builtins(load_recipe("hyperdoc2vec"))
    assert about["papers"] == len(small) and about["contexts"] == 4 * 12 * 4
    assert is_current(small, "hyperdoc2vec") and not is_current(small, "lda")
    train(small, "hyperdoc2vec")
    assert len(list((small.folder / "models" / "hyperdoc2vec").iterdir())) == 2, "the old arrays are removed"
    assert small.check().sound


def test_papers_added_later_are_counted(small: Library, tiny_file: Path) -> None:
    train(small, "hyperdoc2vec")
    assert untrained(small, "hyperdoc2vec") == 0
    small.add([tiny_file])
    assert untrained(small, "hyperdoc2vec") == 4


def test_concurrent_training_of_a_model_is_an_error(small: Library) -> None:
    (small.folder / "models").mkdir()
    with FileLock(small.folder / "models" / "hyperdoc2vec.lock"), pytest.raises(CitewellError, match="is being trained"):
        train(small, "hyperdoc2vec")
