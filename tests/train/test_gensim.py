"""Models trained with gensim: served like gensim, and resumed to the same vectors."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from citewell.collection.local import LocalCollection
from citewell.library import Library
from citewell.library.trained_models import load_model
from citewell.papers import Query
from citewell.pipeline.registry import pipeline
from citewell.ranking.request import Request
from citewell.retrieve.topics import LDA, mixture
from citewell.train.corpus import read_corpus
from citewell.train.training import train

pytest.importorskip("gensim")


class Ones:
    """Replaces gensim's random initialisation."""

    def gamma(self, shape: float, scale: float, size: tuple[int, int]) -> Any:
        return np.ones(size)


def test_topic_mixtures_equal_gensim(small: Library) -> None:
    from gensim.models.ldamodel import LdaModel

    corpus = read_corpus(small, "own+citing", 1)
    texts = [[(int(w), int(n)) for w, n in zip(*np.unique(words, return_counts=True), strict=True)] for words in corpus.texts]
    model = LdaModel(
        texts,
        id2word={at: str(at) for at in range(len(corpus.hashes))},
        num_topics=7,
        passes=3,
        random_state=1,
        dtype=np.float64,
    )
    model.random_state = Ones()
    expected, _ = model.inference(texts)
    topics = np.ascontiguousarray(model.expElogbeta.T)
    for text, gamma in zip(texts, expected, strict=True):
        words, counts = (np.array(column) for column in zip(*text, strict=True))
        np.testing.assert_allclose(
            mixture(counts.astype(float), topics[words], model.alpha), gamma, rtol=1e-3
        )  # gensim approximates psi


@pytest.mark.parametrize("recipe", ["lda", "lda-gibbs", "doc2vec", "paper2vec"])
def test_a_resumed_training_ends_with_the_same_vectors(small: Library, tmp_path: Path, recipe: str) -> None:
    copy = Library(shutil.copytree(small.folder, tmp_path / "copy"))
    train(small, recipe)
    command = [sys.executable, "-m", "tests.train.training_apart", str(copy.folder), recipe, "2"]
    killed = subprocess.run(command, cwd=Path(__file__).parents[2], check=False)
    assert killed.returncode == -signal.SIGKILL
    train(copy, recipe)
    once, again = load_model(small, recipe), load_model(copy, recipe)
    for name in once:
        np.testing.assert_array_equal(once[name], again[name], err_msg=name)


@pytest.mark.parametrize(
    "name", ["lda", "lda-gibbs", "doc2vec", "paper2vec", "hyperdoc2vec", "hyperdoc2vec-in", "hybrid", "hybrid23"]
)
def test_pipelines_work_once_their_models_are_trained(small: Library, name: str) -> None:
    chosen = pipeline(name)
    for model in chosen.models():
        train(small, model)
    suggestions = chosen.suggest(small, Query("local", context="ferry fog harbour TARGETCIT hull", title="Keel and knot"))
    assert len(suggestions) == 10
    assert any(each.reasons for each in suggestions)
    assert [each.score for each in suggestions] == sorted((each.score for each in suggestions), reverse=True)


def test_serving_needs_neither_gensim_nor_torch(small: Library) -> None:
    train(small, "lda")
    script = f"""
import sys
from citewell.collection.local import LocalCollection
from citewell.library import Library
from citewell.papers import Query
from citewell.pipeline.api import suggest
assert suggest(Library({str(small.folder)!r}), Query(title="ferry fog"), "lda")
assert not {{"gensim", "torch"}} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_walks_follow_citations(small: Library) -> None:
    from citewell.train.paper2vec import walk

    corpus = read_corpus(small, "own", 1)
    linked = np.flatnonzero(np.diff(corpus.links.starts))
    walks = walk(corpus, linked, 3, 6, 1)
    assert np.bincount(walks[:, 0])[linked].tolist() == [3] * len(linked)
    for path in walks.tolist():
        assert all(after in corpus.links[before] for before, after in pairwise(path))
    assert (walks == walk(corpus, linked, 3, 6, 1)).all()


def test_scores_of_lda_are_cosines_of_mixtures(small: Library) -> None:
    train(small, "lda")
    model = load_model(small, "lda")
    request = Request(LocalCollection(small), Query(title="ferry fog harbour", before=2019))
    ranking = pipeline("lda").rank(request)
    stage = LDA("lda")
    gamma = stage._mixture(request, stage._model(request))
    rows = np.searchsorted(model["papers"], ranking.papers)
    expected = [row @ gamma / np.linalg.norm(row) / np.linalg.norm(gamma) for row in model["docs"][rows].astype(float)]
    np.testing.assert_allclose(ranking.scores, expected, rtol=1e-5)
    assert all(paper.year < 2019 for paper in small.store.papers(ranking.papers.tolist()).values() if paper.year)
