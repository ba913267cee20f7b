"""A library gives the user's own records back as their files have them."""

import io
from pathlib import Path

import pytest

from citewell.export.own_entries import export
from citewell.library.library import Library
from citewell.papers import Paper
from citewell.sources import Source, ris

RIS = """Provider: a database

TY  - JOUR
ID  - a
TI  - Boats
AB  - One line.

And another one.
ER  -

TY  - JOUR
ID  - untitled
ER  -
NL  - Harbour Stud

2.
TY  - BOOK
ID  - b
TI  - Tides
ER  -

"""
MEDLINE = "PMID- 1\nTI  - Gulls.\nFAU - Berg, Ada\nDP  - 2001\n"


def added(folder: Path, **files: str) -> Library:
    library = Library(folder / "library")
    for name, written in files.items():
        (folder / name).write_bytes(written.encode())
        library.add([folder / name])
    return library


def exported(library: Library, format: str, **options: bool) -> str:
    out = io.StringIO(newline="")
    export(library, format, out, **options)
    return out.getvalue()


def titles(written: str) -> list[str]:
    with Source.of(written) as source:
        return [each.title for each in ris.read(source) if isinstance(each, Paper)]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("written", [RIS, RIS.rstrip("\n"), RIS.replace("\n\n", "\n")])
def test_a_file_of_ris_comes_back(written: str, end: str, tmp_path: Path) -> None:
    written = written.replace("\n", end)
    assert exported(added(tmp_path, file=written), "ris") == written


def test_a_record_that_the_file_no_longer_has_stands_apart(tmp_path: Path) -> None:
    library = added(tmp_path, file="TY  - JOUR\nID  - a\nTI  - Boats\nER  - \nTY  - JOUR\nID  - b\nTI  - Tides\nER  - \n")
    (tmp_path / "file").write_text("TY  - JOUR\nID  - a\nTI  - Boats\nER  - \nTY  - JOUR\nID  - c\nTI  - Gulls\nER  - \n")
    library.add([tmp_path / "file"])
    assert sorted(titles(exported(library, "ris"))) == ["Boats", "Gulls", "Tides"]


def test_two_files_of_ris(tmp_path: Path) -> None:
    first, second = (f"TY  - JOUR\nTI  - {title}\nER  - " for title in ("Boats", "Tides"))
    assert titles(exported(added(tmp_path, first=first, second=second), "ris")) == ["Boats", "Tides"]


def test_what_is_read_with_ris_and_is_none(tmp_path: Path) -> None:
    """PubMed's own format is no RIS, so its papers are written from what the library knows."""
    assert titles(exported(added(tmp_path, file=MEDLINE), "ris")) == ["Gulls"]


def test_an_entry_without_a_key(tmp_path: Path) -> None:
    first, second = ("@article{,\n  title = {Boats}\n}\n", "@article{title = {Tides}}\n")
    library = added(tmp_path, first=first, second=second)
    assert exported(library, "bibtex") == first + second
    assert "@article{anonymousboats,\n  title = {Boats}" in exported(library, "bibtex", merged=True)


@pytest.mark.parametrize(
    "field",
    [
        r"file = {:C\:\\Users\\me\\a_b {1}.pdf:PDF}",
        r"file = {a%20b.pdf;~/c$.pdf}",
        "bdsk-file-1 = {YnBsaXN0MDDSAQ==}",
        r"local-url = {file://a\_b}",
    ],
)
def test_paths_stay_in_what_citewell_writes(field: str, tmp_path: Path) -> None:
    library = added(tmp_path, file=f"@misc{{a,\n  title = {{Boats}},\n  {field}\n}}\n")
    assert f"  {field}\n" in exported(library, "bibtex", merged=True)
