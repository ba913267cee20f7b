"""Damaged files: XML readers give only records and problems, and each file has one reader."""

import tempfile
from pathlib import Path

import pytest
from fuzzing import fuzz, mutations, survives
from hypothesis import given
from hypothesis import strategies as st
from reading import DATA

from citewell.papers import Problem
from citewell.sources import reader

SEEDS = {
    "jats": "jats.xml",
    "pubmed": "pubmed.xml",
    "acl_anthology": "acl.xml",
    "dblp": "dblp.xml",
    "arxiv_oai": "arxiv_raw.xml",
    "arxiv_atom": "arxiv_atom.xml",
    "endnote_xml": "endnote.xml",
    "mods": "mods.xml",
    "zotero_rdf": "zotero.rdf",
}


@pytest.mark.parametrize("name", SEEDS)
def test_damaged_files(name: str) -> None:
    @fuzz
    @given(mutations((DATA / SEEDS[name]).read_bytes()))
    def survives_any(data: bytes) -> None:
        result = survives(reader(name), data, Path(folder))
        assert not [each for each in result if isinstance(each, Problem) and each.reason.startswith("unexpected")]
        assert all(each.line is None or each.line > 0 for each in result if isinstance(each, Problem))

    with tempfile.TemporaryDirectory() as folder:
        survives_any()


@fuzz
@given(st.data())
def test_one_reader_at_most(data: st.DataObject) -> None:
    seed = data.draw(st.sampled_from(sorted(SEEDS)))
    head = data.draw(mutations((DATA / SEEDS[seed]).read_bytes()[:4000]))
    assert sum(reader(name).matches(head) for name in SEEDS) <= 1


@pytest.mark.parametrize("name", SEEDS)
def test_each_format_is_recognised_by_its_reader_alone(name: str) -> None:
    head = (DATA / SEEDS[name]).read_bytes()
    assert [other for other in SEEDS if reader(other).matches(head)] == [name]
