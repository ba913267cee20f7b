"""What a user sees of vectors that are computed in the background, and of papers that trained models do not cover."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from citewell.cli.library import _of_vectors
from citewell.collection.interface import TEXT_LABELS
from citewell.library import Library
from citewell.library.trained_models import model_folder
from citewell.library.vectors.status import VectorStatus
from citewell.library.vectors.store import vectors_path
from citewell.text.analysis import terms
from citewell.train.save import save_arrays
from tests.cli.test_commands import citewell

SAYS = "Vectors are being computed in the background"


def info(library: Path) -> dict[str, Any]:
    described: dict[str, Any] = json.loads(citewell("library", "info", "--json", library=library).stdout)
    return described


def complete(library: Path) -> dict[str, Any]:
    """The status of the last encoder's vectors once all vectors are computed."""
    end = time.monotonic() + 60
    while (statuses := info(library)["vectors"]) and not all(each["complete"] for each in statuses):
        assert time.monotonic() < end, (library / "vectors" / "background.log").read_text()
        time.sleep(0.2)
    stores = [("citewell-static", "own+cited"), ("citewell-static", "sentences"), ("citewell", "own+cited")]
    assert [(each["encoder"], each["text"]) for each in statuses] == stores
    return dict(statuses[-1])


def test_an_add_makes_vectors_in_the_background(
    tmp_path: Path, tiny_file: Path, tiny_models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CITEWELL_MODELS", str(tiny_models))
    monkeypatch.setenv("CITEWELL_BACKGROUND", "on")
    library = tmp_path / "library"
    without = citewell("add", tiny_file, "--no-vectors", library=library)
    assert SAYS not in without.stdout and not (library / "vectors").exists()
    assert (
        "citewell (title, abstract and citing sentences): 0 of 4 papers; run 'citewell library encode'"
        in citewell("library", "info", library=library).stdout
    )
    assert SAYS in citewell("add", tiny_file, library=library).stdout
    assert complete(library)["papers"] == 4
    assert SAYS not in citewell("add", tiny_file, library=library).stdout, "there is nothing left to do"
    more = tmp_path / "more.jsonl"
    more.write_text('{"id": "fog", "title": "Fog over the harbour"}\n')
    assert "started" not in json.loads(citewell("add", more, "--json", library=library).stdout)
    assert complete(library)["papers"] == 5
    assert "citewell (title, abstract and citing sentences): 5 papers\n" in citewell("library", "info", library=library).stdout
    assert "0 papers encoded; 5 have" in citewell("library", "encode", library=library).stdout
    assert "2 papers encoded" in (library / "vectors" / "background.log").read_text()


def test_an_add_that_cannot_make_vectors_is_an_add(
    tmp_path: Path, tiny_file: Path, tiny_models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CITEWELL_MODELS", str(tiny_models))
    monkeypatch.setenv("CITEWELL_BACKGROUND", "on")
    library = tmp_path / "library"
    store = vectors_path(library, "citewell", "own+cited")
    store.mkdir(parents=True)
    (store / "manifest.json").write_text("{")
    done = citewell("add", tiny_file, library=library)
    assert "4 new" in done.stdout and SAYS not in done.stdout
    assert "vectors cannot be computed" in done.stderr and done.stderr.count("\n") == 1
    assert "delete that folder" in citewell("library", "info", library=library).stdout


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"at_work": True, "seconds_left": 400.0}, "12,288 of 31,284 papers; computing now, about 7 minutes left"),
        ({"at_work": True, "seconds_left": 9000.0}, "12,288 of 31,284 papers; computing now, about 2 hours left"),
        ({"at_work": True, "seconds_left": 65.0}, "12,288 of 31,284 papers; computing now, about 1 minute left"),
        ({"at_work": True, "seconds_left": 3.0}, "12,288 of 31,284 papers; computing now, less than a minute left"),
        ({"at_work": True}, "12,288 of 31,284 papers; computing now"),
        ({}, "12,288 of 31,284 papers; run 'citewell library encode'"),
        ({"text": "cited"}, "12,288 of 31,284 papers; run 'citewell library encode --encoder citewell --text cited'"),
        ({"papers": 31284}, "31,284 papers, some of which may have changed; run 'citewell library encode'"),
        ({"papers": 31284, "complete": True}, "31,284 papers"),
    ],
)
def test_the_status_of_vectors_is_a_line(fields: dict[str, Any], line: str) -> None:
    usual = {"encoder": "citewell", "text": "own+cited", "papers": 12288, "of": 31284, "complete": False, "at_work": False}
    status = VectorStatus(**{**usual, **fields})
    assert _of_vectors(status) == f"citewell ({TEXT_LABELS[status.text]}): {line}"


@pytest.fixture
def trained(tiny: Library) -> Path:
    """A library with a model that was trained before the paper on tides came."""
    papers = np.array([num for num in tiny.index.listed("own") if num != tiny.number("tides")])
    words = np.sort(list(terms("boats gulls harbour")))
    sizes = {"words_in": len(words), "docs_in": len(papers), "docs_out": len(papers)}
    arrays = {name: np.ones((size, 4), np.float32) for name, size in sizes.items()}
    lengths = {f"lengths_of_{side}": np.full(len(papers), 2, np.float32) for side in ("docs_in", "docs_out")}
    save_arrays(model_folder(tiny, "hyperdoc2vec"), {"papers": papers, "words": words, **arrays, **lengths}, {})
    return tiny.folder


def test_suggest_notes_once_what_its_model_does_not_know(trained: Path, tmp_path: Path) -> None:
    draft = tmp_path / "draft.txt"
    draft.write_text("Boats\n\nBoats in the harbour [?] and gulls [?] are counted.\n")
    done = citewell("suggest", draft, "--pipeline", "hyperdoc2vec", "--json", library=trained)
    assert len(json.loads(done.stdout)) == 3
    assert done.stderr == (
        "citewell: 1 paper was added after 'hyperdoc2vec' was trained, so it cannot find it."
        " Run 'citewell train hyperdoc2vec'.\n"
    )
    assert citewell("suggest", draft, "--pipeline", "bm25", library=trained).stderr == ""


def test_library_info_lists_the_models(trained: Path) -> None:
    assert "models  hyperdoc2vec (3 papers; 1 added later)\n" in citewell("library", "info", library=trained).stdout
    assert info(trained)["models"] == [{"name": "hyperdoc2vec", "papers": 3, "later": 1, "damage": ""}]
