"""A file uses the abbreviations that another of the user's files defines."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from citewell import Manuscript
from citewell.export.own_entries import export
from citewell.library.library import Library

STRINGS = '@string{LeeA = "Lee, Ann"}\n@string{joh = {Journal of } # harbours}\n@string{harbours = "Harbours"}\n'
REFS = '@article{a,\n  author = LeeA # " and " # {Berg, Bo},\n  title = {Boats},\n  journal = joh,\n  year = 2020,\n}\n'


@pytest.fixture
def library(tmp_path: Path) -> Library:
    (tmp_path / "strings.bib").write_text(STRINGS)
    (tmp_path / "refs.bib").write_text(REFS)
    return Library(tmp_path / "library")


@pytest.mark.parametrize("order", [["strings.bib", "refs.bib"], ["refs.bib", "strings.bib"]])
def test_abbreviations_of_files_that_are_added_together(library: Library, tmp_path: Path, order: list[str]) -> None:
    outcome = library.add([tmp_path / name for name in order])
    paper = library.paper("a")
    assert [str(name) for name in paper.authors] == ["Ann Lee", "Bo Berg"]
    assert paper.venue.startswith("Journal of") and outcome.changed == 0


def test_what_nothing_defines_is_told_and_known_once_a_file_defines_it(library: Library, tmp_path: Path) -> None:
    (note,) = library.add([tmp_path / "refs.bib"]).notes
    assert "abbreviations that no @string defines: LeeA, joh; add the file that does" in note
    library.add([tmp_path / "strings.bib"])
    outcome = library.add([tmp_path / "refs.bib"])
    assert (outcome.changed, outcome.notes) == (1, [])
    assert str(library.paper("a").authors[0]) == "Ann Lee"


def test_an_own_definition_comes_first(library: Library, tmp_path: Path) -> None:
    (tmp_path / "refs.bib").write_text('@string{LeeA = "Lee, Amy"}\n' + REFS)
    library.add([tmp_path / "strings.bib", tmp_path / "refs.bib"])
    assert str(library.paper("a").authors[0]) == "Amy Lee"


def test_a_chosen_entry_is_exported_with_the_abbreviations_of_both_files(library: Library, tmp_path: Path) -> None:
    library.add([tmp_path / "refs.bib", tmp_path / "strings.bib"])
    out = io.StringIO()
    export(library, "bibtex", out, [library.number("a")])
    assert out.getvalue().count("@string") == 2 and REFS.strip() in out.getvalue()
    again = Library(tmp_path / "again")
    (tmp_path / "chosen.bib").write_text(out.getvalue())
    again.add([tmp_path / "chosen.bib"])
    assert again.paper("a").authors == library.paper("a").authors


def test_a_draft_reads_its_bibliographies_one_after_the_other(library: Library, tmp_path: Path) -> None:
    library.add([tmp_path / "strings.bib", tmp_path / "refs.bib"])
    draft = tmp_path / "paper.tex"
    draft.write_text(
        "\\documentclass{article}\\begin{document}Boats float \\cite{a}.\\bibliography{strings,refs}\\end{document}"
    )
    assert str(Manuscript(draft, library).draft.bibliography["a"].authors[0]) == "Ann Lee"


def test_each_folder_has_its_own_abbreviations(library: Library, tmp_path: Path) -> None:
    for name in ("A", "B"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "journals.bib").write_text(f"@string{{joh = {{Journal {name}}}}}\n@string{{LeeA = {{Lee, Ann}}}}\n")
        (tmp_path / name / "refs.bib").write_text(
            REFS.replace("{a,", f"{{{name.lower()},").replace("Boats", f"Boats of {name}")
        )
    library.add([tmp_path / "A", tmp_path / "B"])
    assert (library.paper("a").venue, library.paper("b").venue) == ("Journal A", "Journal B")
    assert library.add([tmp_path / "B" / "refs.bib"]).changed == 0
    out = io.StringIO()
    export(library, "bibtex", out, [library.number("b")])
    assert "Journal B" in out.getvalue() and "Journal A" not in out.getvalue()
