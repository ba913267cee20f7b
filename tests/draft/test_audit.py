"""Audits of drafts: findings, and what is not a finding."""

from __future__ import annotations

import pytest

from citewell.draft import parse
from citewell.draft.audit import Finding, audit, unchecked
from citewell.draft.manuscript import Manuscript
from citewell.library import Library
from citewell.models.claims import load
from citewell.papers import TARGET_MARK

CLAIM = "Previous studies have shown that gulls are often mistaken for boats, and can be told apart by their wings."
TEX = rf"""\documentclass{{article}}
\begin{{document}}
\title{{Counting boats from a pier}}
\begin{{abstract}}
{CLAIM}
\end{{abstract}}
\section{{Introduction}}
We count boats. {CLAIM} Here we present our own counts in Figure~\ref{{one}}.

Boats were first counted from the air~\cite{{harbour}}, then by hand~\cite{{nobody,harbour}}, and again~\cite{{nobody}}.
{CLAIM[:-1]}~\cite{{tides}}. {CLAIM[:-1]}~\cite{{}}.
\end{{document}}
"""
BIB = """@article{harbour, title = {Counting boats in the harbour}, author = {Holt, M.}, year = 2015, doi = {10.1000/harbour}}
@article{tides, title = {Tides move the boats}, author = {Pike, Jon}, year = {2018}, doi = {10.1000/tides}}
@article{tides2, title = {Tides that move boats}, author = {Pike, J.}, year = {2019}, doi = {https://doi.org/10.1000/TIDES}}
@article{gulls, title = {Gulls as a Source of Error}, author = {Reis, Ana}, year = {2001}}
@article{gulls2, title = {Gulls as a source of error!}, author = {A. Reis}, year = {2001}}
@article{other, title = {A theory of piers}, year = {1999}, doi = {10.1000/harbour2}}
"""


def findings_of(kind: str, library: Library | None = None, tex: str = TEX, bib: str = BIB) -> list[Finding]:
    return audit(parse(tex, "latex", bib), library, load(), only=[kind])


def test_an_uncited_claim_is_found_with_its_place() -> None:
    draft = parse(TEX, "latex", BIB)
    (claim,) = audit(draft, None, load(), only=["uncited-claim"])
    # Not in the abstract, and not where there is a citation or a gap.
    assert draft.sources[claim.place.file][claim.place.begin : claim.place.end] == CLAIM
    assert claim.place.line == 8
    assert claim.level == "warning"
    assert claim.score is not None and claim.score > load().thresholds.high_precision
    assert f"apart by their wings {TARGET_MARK} ." in claim.context
    assert "previous" in claim.message


def test_the_threshold_decides() -> None:
    draft = parse(TEX, "latex", BIB)
    none, some, more = (len(audit(draft, None, load(), at, ["uncited-claim"])) for at in (1.0, None, 0.0))
    assert none == 0 < some < more


def test_a_missing_key_is_reported_once() -> None:
    (missing,) = findings_of("missing-key")
    assert (missing.key, missing.level, missing.place.line) == ("nobody", "error", 10)


def test_without_a_bibliography_keys_are_not_checked_and_a_note_says_so() -> None:
    assert findings_of("missing-key", bib="") == []
    assert any("no bibliography" in note for note in unchecked(parse(TEX, "latex")))
    assert unchecked(parse(TEX, "latex", BIB)) == []


def test_entries_that_are_never_cited() -> None:
    assert [each.key for each in findings_of("never-cited")] == ["tides2", "gulls", "gulls2", "other"]
    assert findings_of("never-cited")[0].place.line == 3
    assert findings_of("never-cited", tex=TEX.replace("We count", r"\nocite{*} We count")) == []
    listed = findings_of("never-cited", tex=TEX.replace("We count", r"\nocite{gulls,other} We count"))
    assert [each.key for each in listed] == ["tides2", "gulls2"]


def test_one_work_in_two_entries() -> None:
    by_doi, by_title = findings_of("duplicate-entry")
    assert by_doi.key == "tides2" and "'tides'" in by_doi.message and "doi:10.1000/tides" in by_doi.message
    assert by_title.key == "gulls2" and "'gulls'" in by_title.message


def test_one_key_for_two_entries() -> None:
    again = "@comment{gulls, not an entry}\n@book{gulls, title = {Another book on gulls}, year = {1987}}\n"
    first = findings_of("duplicate-entry", bib=f"{BIB}\n{again}")[0]
    assert (first.key, first.place.line) == ("gulls", 9) and "already has the key 'gulls'" in first.message


@pytest.mark.parametrize("change", [("A. Reis", "B. Other"), ("{2001}}\n@article{other", "{2010}}\n@article{other")])
def test_one_title_with_other_authors_or_years_is_not_a_duplicate(change: tuple[str, str]) -> None:
    assert [each.key for each in findings_of("duplicate-entry", bib=BIB.replace(*change))] == ["tides2"]


def test_disagreements_with_the_library(tiny: Library) -> None:
    messages = {each.key: each.message for each in findings_of("disagrees", tiny)}
    assert set(messages) == {"tides", "gulls", "gulls2"}
    assert "has the year 2018; the library has 2019" in messages["tides"]
    assert "has the year 2001; the library has 2017" in messages["gulls"]


def test_a_doi_that_belongs_to_another_work(tiny: Library) -> None:
    bib = "@article{a, title = {On the feeding of swans}, author = {X, Y}, year = {2015}, doi = {10.1000/harbour}}"
    (wrong,) = findings_of("disagrees", tiny, bib=bib)
    assert "On the feeding of swans" in wrong.message and "Counting boats in the harbour" in wrong.message


@pytest.mark.parametrize(("doi", "count"), [("10.1000/another", 1), ("10.48550/arXiv.1706.03762", 0)])
def test_another_doi_for_the_same_title(tiny: Library, doi: str, count: int) -> None:
    bib = f"@article{{a, title = {{Tides move the boats}}, author = {{Pike, Jon}}, year = {{2019}}, doi = {{{doi}}}}}"
    assert len(findings_of("disagrees", tiny, bib=bib)) == count


def test_a_longer_title_is_the_same(tiny: Library) -> None:
    bib = "@book{a, title = {Counting boats in the harbour: twenty years on}, year = {2015}, doi = {10.1000/harbour}}"
    assert findings_of("disagrees", tiny, bib=bib) == []


def test_papers_for_a_claim(tiny: Library) -> None:
    findings = Manuscript.from_text(TEX, tiny, "latex", BIB).check(pipeline="fast", k=2).findings
    for finding in findings:
        assert len(finding.suggestions) == (2 if finding.kind == "uncited-claim" else 0)
    assert findings[0].suggestions[0].paper.title == "Gulls as a source of error"


def test_an_empty_draft() -> None:
    assert audit(parse(""), None, load()) == []


def test_every_form_of_a_draft_is_audited() -> None:
    markdown = f"# Counting boats\n\n## Introduction\n\nWe count boats. {CLAIM} See [@harbour; @nobody].\n"
    findings = audit(parse(markdown, "markdown", BIB), None, load(), only=["uncited-claim", "missing-key"])
    assert [each.kind for each in findings] == ["uncited-claim", "missing-key"]
    plain = f"Counting boats\n\nAbstract. We count.\n\nWe count boats. {CLAIM} Gulls follow.\n"
    assert [each.kind for each in audit(parse(plain, "text"), None, load())] == ["uncited-claim"]


def test_entries_without_a_title_and_aliases_are_not_missing_keys() -> None:
    bib = BIB + "@misc{web, howpublished = {On the web}}\n@article{new, ids = {old, older}, title = {Names}, year = 2001}\n"
    tex = r"\begin{document} Boats~\cite{web,older,Harbor}. \end{document}"
    (missing,) = findings_of("missing-key", tex=tex, bib=bib)
    assert missing.message == "the bibliography has no entry 'Harbor'; did you mean 'harbour'?"
    assert {"web", "new"}.isdisjoint(each.key for each in findings_of("never-cited", tex=tex, bib=bib))


def test_cross_referenced_proceedings_count_as_cited() -> None:
    bib = "@inproceedings{a, title = {A}, crossref = {all}}\n@proceedings{all, title = {All of it}}\n@book{b, title = {B}}"
    assert [each.key for each in findings_of("never-cited", tex=r"\begin{document}\cite{a}\end{document}", bib=bib)] == ["b"]


@pytest.mark.parametrize("section", ["Acknowledgements", "References", "Funding"])
def test_acknowledgements_and_references_are_not_checked(section: str) -> None:
    assert not findings_of("uncited-claim", tex=rf"\begin{{document}}\section*{{{section}}} {CLAIM} \end{{document}}")
