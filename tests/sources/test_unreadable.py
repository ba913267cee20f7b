"""Files that citewell does not read get one line that says what they are and how to convert them."""

import sqlite3
import zipfile
from pathlib import Path

import pytest
from fuzzing import fuzz
from hypothesis import given
from hypothesis import strategies as st

from citewell.library import Library
from citewell.sources.unreadable import UNKNOWN, advice, database_advice


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.pdf", b"%PDF-1.7\n", "a PDF: add its DOI"),
        ("renamed.txt", b"%PDF-1.7\n", "a PDF: add its DOI"),
        ("a.enl", b"\x07\x01binary", "File > Export, with the output style RefMan (RIS) Export"),
        ("a.mdb", b"\x00\x01\x00\x00Standard Jet DB\x00", "an Access database: export the table"),
        ("a.nb", b"(* Content-type: application/vnd.wolfram.mathematica *)", "a Mathematica notebook"),
        ("a.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a Word document"),
        ("a.html", b"<!DOCTYPE html>\n<html>", "a web page: add its DOI"),
        ("a.xml", b'<bibtex:file xmlns:bibtex="http://bibtexml.sf.net/">', "a database of JabRef"),
        ("a.bibtexml", b"<file>", "a database of JabRef"),
        ("a.sql", b"CREATE TABLE jabref_entry", "open the database in JabRef"),
        ("a.dump", b"-- JabRef\nCREATE TABLE entry", "a database of JabRef"),
        ("a.json", b'{"a": 1}', "JSON of a shape"),
        ("a.xml", b"<?xml version='1.0'?><menu/>", "its root is <menu>"),
        ("a.bbl", b"\\begin{thebibliography}{1}", "add the .bib file"),
        ("a.tex", b"\\documentclass{article}", "'citewell suggest' reads it as a draft"),
        ("a.xz", b"\xfd7zXZ\x00", "unpack it"),
        ("a.png", b"\x89PNG\r\n", "an image"),
        ("a.ctv6", b"binary", "in Citavi, choose File > Export"),
        ("a.unknown", b"just words", UNKNOWN),
        ("a.txt", b"<1>\nAuthor\n  Berg, Ada\n", "Ovid's own text format"),
        ("a.txt", b"RT Journal Article\nSR Electronic(1)\nA1 Berg, Ada\n", "in RefWorks, export"),
        ("a.txt", b"--AU-- Berg, A.\n--TI-- Boats\n", "Biblioscape"),
        ("a.ris", b"JF  - Harbour Studies\nT1  - Boats\nER  - \n", "RIS without the first line"),
        ("a.xml", b'<b:Sources xmlns:b="http://schemas.openxmlformats.org/x">', "Word's list of sources"),
        ("a.xml", b'<collection xmlns="http://www.loc.gov/MARC21/slim"><record/>', "MARC XML"),
        ("a.json", b'[{"uid": "GS:1", "title": "A", "cites_url": ""}]', "JSON of Publish or Perish"),
        ("a.csv", b"  \n", "the file is empty"),
    ],
)
def test_what_a_file_is(name: str, content: bytes, expected: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    message = advice(tmp_path / name, content)
    assert expected in message
    assert "\n" not in message
    with Library(tmp_path / "library") as library:
        outcome = library.add([tmp_path / name])
    assert [each.reason for each in outcome.problems] == [message]


@pytest.mark.parametrize(
    ("member", "name", "expected"),
    [
        ("word/document.xml", "a.docx", "a Word document"),
        ("xl/workbook.xml", "renamed.zip", "a spreadsheet: save it as CSV"),
        ("sdb/sdb.eni", "a.enlx", "an EndNote library"),
        ("papers.bib", "a.zip", "an archive: unpack it"),
    ],
)
def test_archives_by_their_members(member: str, name: str, expected: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / name, "w") as archive:
        archive.writestr(member, "x")
    assert expected in advice(tmp_path / name, (tmp_path / name).read_bytes())


@pytest.mark.parametrize(
    ("tables", "expected"),
    [
        (["Documents", "DocumentContributors", "Folders"], "Mendeley's database"),
        (["enl_refs"], "an EndNote library"),
        (["Publication", "Author", "Keyword"], "a library of Papers"),
        (["t"], "an SQLite file, but not a Zotero database"),
    ],
)
def test_databases_of_other_programs(tables: list[str], expected: str, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "file.sqlite") as db:
        for table in tables:
            db.execute(f"CREATE TABLE {table} (a)")
    db.close()
    with Library(tmp_path / "library") as library:
        outcome = library.add([tmp_path / "file.sqlite"])
    assert expected in outcome.problems[0].reason
    assert database_advice(tables) == outcome.problems[0].reason


def test_a_library_folder_of_papers_is_not_searched(tmp_path: Path) -> None:
    folder = tmp_path / "My.paperslibrary"
    folder.mkdir()
    (folder / "a.pdf").write_bytes(b"%PDF-")
    with Library(tmp_path / "library") as library:
        outcome = library.add([tmp_path / "My.paperslibrary"])
    assert [each.reason for each in outcome.problems] == [advice(Path("x.papers2"), b"x")]


@fuzz
@given(st.binary(max_size=300), st.sampled_from(["", ".xml", ".json", ".enl", ".zip"]))
def test_any_file_gets_one_line(content: bytes, ending: str) -> None:
    message = advice(Path(f"nowhere{ending}"), content)
    assert message
    assert "\n" not in message
