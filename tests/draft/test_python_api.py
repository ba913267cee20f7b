"""`Manuscript` in Python: gaps, queries, suggestions, audit and patches, from a file and from a text."""

from __future__ import annotations

from pathlib import Path

import pytest

from citewell import Manuscript, check
from citewell.draft.manuscript import CiteAt
from citewell.errors import CitewellError
from citewell.library import Library
from citewell.papers import Place

TEX = r"""\documentclass{article}
\begin{document}
\title{Counting boats from a pier}
\section{Introduction}
Boats were first counted in the harbour~\cite{harbour,nobody}. Gulls as a source of error, by their wings~\cite{}.

Tides move the boats~[?].

This paragraph about the counting of boats from piers cites nothing.

Previous studies have shown that gulls are often mistaken for boats, and can be told apart by their wings.
\bibliography{refs}
\end{document}
"""
BIB = "@article{harbour, title = {Counting boats in the harbour}, author = {Holt, Mira}, year = {2015}}\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "paper.tex").write_text(TEX)
    (tmp_path / "refs.bib").write_text(BIB)
    return tmp_path / "paper.tex"


def test_attributes_of_a_manuscript(path: Path, tiny: Library) -> None:
    manuscript = Manuscript(str(path), tiny)
    assert [gap.place.line for gap in manuscript.gaps] == [5, 7]
    assert manuscript.cited == {"harbour": "harbour", "nobody": None} and manuscript.known == ["harbour"]
    assert manuscript.notes == [] and manuscript.bib == path.with_name("refs.bib")
    assert "2 gaps, 2 cited works (1 in the library)" in repr(manuscript)
    assert [each.query.task for each in manuscript.queries()] == ["global", "local", "local", "paragraph", "paragraph"]
    assert all(each.query.before == 2018 for each in manuscript.queries("local", before=2018))


def test_suggestions_for_each_place(path: Path, tiny: Library) -> None:
    placed = Manuscript(path, tiny).suggest("bm25", k=2, task="local")
    assert [place.number for place, _ in placed] == [1, 2]
    assert [results[0].paper.id for _, results in placed] == ["gulls", "tides"]
    assert all(results.pipeline == "bm25" and len(results) <= 2 for _, results in placed)
    with pytest.raises(CitewellError, match="no gap"):
        Manuscript.from_text("Boats\n\nText without a gap.", tiny).suggest("bm25", task="local")


def test_patches_are_shown_then_written(path: Path, tiny: Library) -> None:
    manuscript = Manuscript(path, tiny)
    patch = manuscript.accept("1=gulls", "2", pipeline="bm25")
    assert [change.path.name for change in patch.changes] == ["refs.bib", "paper.tex"] and set(patch.keys) == {"gulls", "tides"}
    assert path.read_text() == TEX and f"by their wings~\\cite{{{patch.keys['gulls']}}}." in patch.diff()
    patch.write()
    again = Manuscript(path, tiny)
    assert again.gaps == [] and again.known == ["harbour", "gulls", "tides"]
    with pytest.raises(CitewellError, match="in the meantime"):
        patch.write()


def test_a_text_without_a_file_is_patched_as_text(tiny: Library) -> None:
    text = "# Boats\n\nGulls are mistaken for boats [?]. Tides move them.\n"
    manuscript = Manuscript.from_text(text, tiny, bib=BIB)
    begin = text.index("Tides")
    patch = manuscript.accept("1=gulls", CiteAt(Place("", begin, len(text) - 1), ["tides", "harbour"]))
    gulls, tides = patch.keys["gulls"], patch.keys["tides"]
    assert patch.texts[""] == f"# Boats\n\nGulls are mistaken for boats [@{gulls}]. Tides move them [@{tides}; @harbour].\n"
    assert patch.bibliography.startswith(BIB) and patch.bibliography.count("@article") >= 1 and not patch.changes
    assert f"{{{gulls}," in patch.bibliography and patch.bibliography.count("{harbour,") == 1


def test_bytes_of_any_format(tiny: Library) -> None:
    assert Manuscript.from_bytes(TEX.encode("utf-16"), "paper.tex", tiny).draft.format == "latex"
    with pytest.raises(CitewellError, match=r"a\.pdf is a PDF"):
        Manuscript.from_bytes(b"%PDF-1.5", "a.pdf", tiny)


def test_check_reports_findings_and_notes(path: Path, tiny: Library) -> None:
    report = check(tiny, path, k=1)
    assert report.counts["missing-key"] == 1 and report.counts["uncited-claim"] == 1
    claim = next(finding for finding in report.findings if finding.kind == "uncited-claim")
    assert [each.paper.id for each in claim.suggestions] == ["gulls"]
    assert "error: the bibliography has no entry 'nobody'" in repr(report)
    assert Manuscript(path).check(["missing-key"]).counts["missing-key"] == 1, "no library is needed"


def test_mistakes(path: Path, tiny: Library) -> None:
    manuscript = Manuscript(path, tiny)
    for choice, message in (("3", "has no gap 3; it has 2 gaps"), ("x", "GAP#RANK"), ("1=nowhere", "has no paper")):
        with pytest.raises(CitewellError, match=message):
            manuscript.accept(choice, pipeline="bm25")
    with pytest.raises(CitewellError, match="need a library"):
        Manuscript(path).suggest("bm25")
