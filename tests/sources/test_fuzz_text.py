"""Damaged files: text and JSON readers give only problems and records that can be stored."""

import copy
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from fuzzing import fuzz, mutations, survives
from hypothesis import given
from hypothesis import strategies as st
from reading import DATA

from citewell.papers import Context, Paper, Problem, Reference
from citewell.sources import reader

SEEDS = {
    "bibtex.bib": "bibtex",
    "ris.ris": "ris",
    "medline.nbib": "ris",
    "csl.json": "csl_json",
    "crossref.json": "csl_json",
    "citewell.jsonl": "citewell_jsonl",
    "openalex.jsonl": "openalex",
    "s2_corpus.jsonl": "semantic_scholar",
    "s2_graph.json": "semantic_scholar",
    "s2_datasets.jsonl": "semantic_scholar",
    "s2orc_metadata.jsonl": "semantic_scholar",
    "s2orc_parses.jsonl": "semantic_scholar",
    "s2orc.jsonl": "semantic_scholar",
    "arxiv_snapshot.jsonl": "arxiv_snapshot",
    "endnote.enw": "endnote_tagged",
    "wos.txt": "web_of_science",
    "wos_table.txt": "web_of_science",
    "scopus.csv": "scopus",
    "zotero.csv": "zotero_csv",
    "table.csv": "table",
    "CITATION.cff": "citation_cff",
}

ODD = st.recursive(
    st.sampled_from(
        [None, True, 0, -1, 99999, 10**30, 2.5, float("nan"), float("inf"), "", "x", "\ud800", "a\x00b", "10.1/x", "2020"]
    ),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "title", "name", "a", "\udfff"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@pytest.mark.parametrize("seed", SEEDS)
def test_damaged_files(seed: str) -> None:
    @fuzz
    @given(mutations((DATA / seed).read_bytes()))
    def survives_any(data: bytes) -> None:
        for record in survives(reader(SEEDS[seed]), data, Path(folder)):
            assert_storable(record)

    with tempfile.TemporaryDirectory() as folder:
        survives_any()


@pytest.mark.parametrize("seed", [seed for seed in SEEDS if "json" in seed])
def test_anything_in_any_field(seed: str) -> None:
    lines = (DATA / seed).read_text()
    values = [json.loads(line) for line in lines.splitlines()] if seed.endswith("jsonl") else [json.loads(lines)]

    @fuzz
    @given(st.data())
    def survives_any(data: st.DataObject) -> None:
        record = copy.deepcopy(data.draw(st.sampled_from(values)))
        for _ in range(data.draw(st.integers(1, 4))):
            _replace_one(record, data)
        written = json.dumps(record).encode()
        for result in survives(reader(SEEDS[seed]), written, Path(folder)):
            assert_storable(result)

    with tempfile.TemporaryDirectory() as folder:
        survives_any()


def _replace_one(value: Any, data: st.DataObject) -> None:
    """Put something odd into one place of a JSON value, at any depth."""
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        if not keys:
            return
        key = data.draw(st.sampled_from(keys))
        if isinstance(value[key], dict | list) and data.draw(st.booleans()):
            value = value[key]
            continue
        value[key] = data.draw(ODD)
        return


def assert_storable(record: Paper | Context | Problem) -> None:
    """Every text is one that SQLite takes, and every other value has the type that the record says."""
    match record:
        case Problem():
            _assert_texts([record.reason])
            assert record.line is None or record.line > 0
        case Context():
            _assert_texts([record.text, record.citing, record.section, record.id])
            _assert_references(record.cited)
            assert record.text
            assert record.cited
        case Paper():
            _assert_texts([record.title, record.abstract, record.date, record.venue, record.id])
            names = [*record.authors, *(name for people in record.people.values() for name in people)]
            _assert_texts([part for name in names for part in name])
            _assert_texts([*record.ids, *record.keywords, *record.extra, *record.extra.values(), *record.people])
            assert all(map(any, names)) and not any("," in part for name in names for part in name[:4])
            assert all([*record.ids, *record.keywords, *record.extra, *record.extra.values(), *record.people.values()])
            assert all(":" in each for each in record.ids)
            assert record.year is None or (type(record.year) is int and 1000 <= record.year <= 2100)
            _assert_references(record.references)
            _assert_texts([text for each in record.sentences for text in (each.text, each.section)])
            for context in record.contexts:
                assert_storable(context)


def _assert_references(references: list[Reference]) -> None:
    for each in references:
        _assert_texts([*each.ids, each.title, *each.authors])
        assert each.year is None or 1000 <= each.year <= 2100
        assert each.ids or each.title


def _assert_texts(texts: list[str]) -> None:
    for each in texts:
        assert isinstance(each, str)
        assert "\x00" not in each
        each.encode()
