"""Identifiers are normalised to one form."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.identifiers import canonical, implied, recognise


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("10.1000/ABC", "doi:10.1000/abc"),
        ("https://doi.org/10.1000/ABC.", "doi:10.1000/abc"),
        ("doi:10.1000/abc", "doi:10.1000/abc"),
        ("acm:10.1145/67544.66932", "doi:10.1145/67544.66932"),
        ("https://doi.org/10.48550/arXiv.1706.03762", "arxiv:1706.03762"),
        ("arXiv:1706.03762v2", "arxiv:1706.03762"),
        ("http://arxiv.org/abs/hep-th/9901001v1", "arxiv:hep-th/9901001"),
        ("https://arxiv.org/pdf/1706.03762.pdf", "arxiv:1706.03762"),
        ("acl:P19-1285", "acl:P19-1285"),
        ("https://aclanthology.org/2020.acl-main.1/", "acl:2020.acl-main.1"),
        ("https://pubmed.ncbi.nlm.nih.gov/0123/", "pmid:123"),
        ("PMC:PMC0042", "pmcid:42"),
        ("https://openalex.org/W42", "openalex:W42"),
        ("CorpusId:7", "corpus:7"),
        ("smith2020", None),
        ("peerread:12", None),
        ("", None),
        ("10.1", None),
        ("10.9999/o\x00ld.1", None),
        ("10.1000/abc\n10.1000/def", "doi:10.1000/abc"),
    ],
)
def test_identifiers_are_recognised_as_people_write_them(written: str, meant: str | None) -> None:
    assert recognise(written) == meant


def test_an_acl_doi_implies_the_anthology_id() -> None:
    assert implied("doi:10.18653/v1/p19-1285") == ["doi:10.18653/v1/p19-1285", "acl:P19-1285"]
    assert implied("doi:10.1000/abc") == ["doi:10.1000/abc"]


@given(st.text(max_size=60))
def test_a_canonical_identifier_is_its_own_canonical_form(text: str) -> None:
    identifier = recognise(text)
    assert identifier is None or recognise(identifier) == identifier


@given(
    st.sampled_from(["doi", "arxiv", "acl", "pmid", "pmcid", "openalex", "s2", "corpus", "mag", "dblp"]), st.text(max_size=60)
)
def test_cleaning_never_fails_and_is_stable(scheme: str, text: str) -> None:
    identifier = canonical(scheme, text)
    if identifier is not None:
        known, _, value = identifier.partition(":")
        assert canonical(known, value) == identifier
