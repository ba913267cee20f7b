"""Real bibliographies, added and exported: every entry as it was, and no name changed in any format."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from citewell.export import write
from citewell.export.own_entries import export
from citewell.library.library import Library
from citewell.library.store.identity import is_supplement
from citewell.papers import Paper
from citewell.sources import Source, find_reader, reader
from citewell.sources.bibtex_entries import Entry, entries

SAMPLES = Path(__file__).resolve().parents[3] / "shared" / "samples"
FILES = [*sorted((SAMPLES / "libraries").glob("*.bib")), *sorted((SAMPLES / "bibtex").glob("*.bib"))]
READERS = {"bibtex": "bibtex", "ris": "ris", "csl": "csl_json"}

needs_samples = pytest.mark.skipif(not FILES, reason=f"needs {SAMPLES}")


def entries_of(text: str) -> dict[str, list[dict[str, str]]]:
    """The fields of each entry by key, with white space normalised; a key may occur twice."""
    listed: dict[str, list[dict[str, str]]] = {}
    for entry in entries(Source.of(text)):
        if isinstance(entry, Entry):
            fields = {name: " ".join(value.split()) for name, value in entry.fields.items()}
            listed.setdefault(entry.key, []).append({"type": entry.type, **fields})
    return listed


@needs_samples
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_entry_comes_back_under_its_key(file: Path, tmp_path: Path) -> None:
    library = Library(tmp_path / "library")
    library.add([file])
    out = io.StringIO(newline="")
    export(library, "bibtex", out)
    before, after = entries_of(file.read_bytes().decode("utf-8", "replace")), entries_of(out.getvalue())
    assert {key: fields for key, fields in before.items() if after.get(key) != fields} == {}
    assert after.keys() == before.keys()


@needs_samples
@pytest.mark.parametrize("format", READERS)
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_no_name_changes_in_any_format(file: Path, format: str) -> None:
    with Source(file) as source:
        chosen = find_reader(source.head)
        records = [each for each in chosen.read(source) if isinstance(each, Paper)] if chosen else []
    papers = [each for each in records if not is_supplement(each)]  # those have no entry of their own in other formats
    out = io.StringIO()
    write(papers, format, out)
    with Source.of(out.getvalue()) as source:
        again = [each for each in reader(READERS[format]).read(source) if isinstance(each, Paper)]
    assert len(again) == len(papers)
    changed = [
        (one.extra.get("citekey"), one.authors, other.authors)
        for one, other in zip(papers, again, strict=True)
        if one.authors != other.authors or one.people != other.people
    ]
    assert changed == []
