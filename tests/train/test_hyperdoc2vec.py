"""HyperDoc2Vec's compiled steps against the definition, written out slowly; trainings that are killed, repeated, replaced."""

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
from citewell.train import hyperdoc2vec
from citewell.train.corpus import Corpus, read_corpus
from citewell.train.recipe import load_recipe
from citewell.train.training import made_by, train


class Generator:
    """word2vec's random numbers."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def below(self, bound: int) -> int:
        self.state = (self.state * 25214903917 + 11) % 2**64
        return (self.state >> 16 & 0x7FFFFFFF) % bound


def events(corpus: Corpus, doc: int, numbers: Any, with_citations: bool, draw: Generator) -> Any:
    """What is learnt from one paper: the words whose mean foretells, of what kind that is, and the right row of it."""
    keep = hyperdoc2vec.kept(corpus.counts, numbers.sample)
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


def slowly(corpus: Corpus, numbers: Any, seed: int) -> dict[str, Any]:
    """The same vectors, one obvious step after the other."""
    vectors = {name: array.astype(np.float64) for name, array in hyperdoc2vec._fresh(corpus, numbers.size, seed).items()}
    cited = np.bincount(corpus.cited, minlength=len(corpus.papers))
    tables = {
        "text": hyperdoc2vec.table(corpus.counts),
        "citation": hyperdoc2vec.table(cited),
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
            for near, kind, right in events(corpus, doc, numbers, epoch >= numbers.text_epochs, draw):
                rows = [vectors["words_in"][word] for word in near]
                mean = np.mean(rows if kind == "own" else [vectors["docs_in"][doc], *rows], axis=0)
                side, rate, negatives = "docs_out", numbers.citation_rate * left, numbers.doc_negatives
                if kind == "text":
                    side, rate, negatives = "words_out", numbers.rate * left, numbers.negatives
                table = tables[kind]
                drawn = [(right, 1)] + [(int(table[draw.below(len(table))]), 0) for _ in range(negatives)]
                error = np.zeros(numbers.size)
                for place, label in drawn:
                    if label or place != right:
                        step = rate * (label - 1 / (1 + np.exp(-mean @ vectors[side][place])))
                        error += step * vectors[side][place]
                        vectors[side][place] += step * mean
                if kind != "own":
                    vectors["docs_in"][doc] += error
                for word in near:
                    vectors["words_in"][word] += error
    return vectors


class Nowhere:
    """Checkpoints that nobody keeps."""

    def load(self, stage: str) -> tuple[int, dict[str, Any]]:
        return 0, {}

    def save(self, stage: str, epochs: int, arrays: Any) -> None: ...


class Silent:
    def training(self, steps: int) -> None: ...

    def trained(self, steps: int) -> None: ...


@pytest.mark.parametrize(("sample", "own_passes"), [(0.0, 0), (0.01, 0), (0.0, 2)])
def test_the_compiled_steps_are_those_of_the_definition(small: Library, sample: float, own_passes: int) -> None:
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
    found = hyperdoc2vec.train(corpus, numbers, 7, Nowhere(), Silent())  # type: ignore[arg-type]
    for name, expected in slowly(corpus, numbers, 7).items():
        assert np.abs(expected).max() > 0.05, "something was learnt"
        np.testing.assert_allclose(found[name], expected, rtol=2e-3, atol=2e-4, err_msg=name)


def vectors(library: Library) -> dict[str, Any]:
    return {name: np.array(array) for name, array in load_model(library, "hyperdoc2vec").items()}


@pytest.mark.parametrize("epochs", [1, 5, 6])
def test_a_training_that_was_killed_goes_on_to_the_same_vectors(small: Library, tmp_path: Path, epochs: int) -> None:
    copy = Library(shutil.copytree(small.folder, tmp_path / "copy"))
    train(small, "hyperdoc2vec")
    command = [sys.executable, "-m", "tests.train.training_apart", str(copy.folder), "hyperdoc2vec", str(epochs)]
    killed = subprocess.run(command, cwd=Path(__file__).parents[2], check=False)
    assert killed.returncode == -signal.SIGKILL
    with pytest.raises(CitewellError, match="has no model 'hyperdoc2vec'; run 'citewell train hyperdoc2vec --library"):
        load_model(copy, "hyperdoc2vec")
    seen: list[int] = []

    class Watch(Silent):
        def trained(self, steps: int) -> None:
            seen.append(steps)

    train(copy, "hyperdoc2vec", Watch())
    assert seen[0] == epochs * len(copy), "the epochs that were done are not done again"
    once, again = vectors(small), vectors(copy)
    assert all((once[name] == again[name]).all() for name in once)
    assert sorted(path.name for path in (copy.folder / "models").iterdir()) == ["hyperdoc2vec", "hyperdoc2vec.lock"]


def test_what_was_begun_on_other_papers_is_not_gone_on_with(small: Library) -> None:
    command = [sys.executable, "-m", "tests.train.training_apart", str(small.folder), "hyperdoc2vec", "2"]
    subprocess.run(command, cwd=Path(__file__).parents[2], check=False)
    small.remove(["p2016-0"])
    seen: list[int] = []

    class Watch(Silent):
        def trained(self, steps: int) -> None:
            seen.append(steps)

    train(small, "hyperdoc2vec", Watch())
    assert seen[0] == 0
    assert len(load_model(small, "hyperdoc2vec")["papers"]) == len(small)


def test_the_card_says_what_the_model_was_made_from(small: Library) -> None:
    about = train(small, "hyperdoc2vec")
    card = json.loads((small.folder / "models" / "hyperdoc2vec" / "card.json").read_text())
    assert card["about"] == about
    assert about["recipe"] == msgspec.to_builtins(load_recipe("hyperdoc2vec"))
    assert about["papers"] == len(small) and about["contexts"] == 4 * 12 * 4
    assert made_by(small, "hyperdoc2vec") and not made_by(small, "lda")
    train(small, "hyperdoc2vec")
    assert len(list((small.folder / "models" / "hyperdoc2vec").iterdir())) == 2, "the old arrays are gone"
    assert small.check().sound


def test_papers_that_come_later_are_counted(small: Library, tiny_file: Path) -> None:
    train(small, "hyperdoc2vec")
    assert untrained(small, "hyperdoc2vec") == 0
    small.add([tiny_file])
    assert untrained(small, "hyperdoc2vec") == 4


def test_two_trainings_of_one_model_do_not_meet(small: Library) -> None:
    (small.folder / "models").mkdir()
    with FileLock(small.folder / "models" / "hyperdoc2vec.lock"), pytest.raises(CitewellError, match="is being trained"):
        train(small, "hyperdoc2vec")
