"""The good files that the fuzz cases are mutations of, for each reader of files and of drafts.

They come from the tests. Formats that the tests have no file for are made here.
"""

from __future__ import annotations

import io
import json
import runpy
import tempfile
import zipfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from citewell import demo
from citewell.draft import registry as draft_readers
from citewell.draft.files import DraftSource
from citewell.errors import CitewellError
from citewell.sources.registry import find_reader, reader_names

_TESTS = Path(__file__).resolve().parents[1] / "tests"
_TYPST = """#set page(paper: "a4")
#let note(body) = [_#body_]
= Boats <boats>
Boats float @berg1931[p. 3], see @boats and #cite(<lee2020>, form: "prose"). Gulls disturb the count [?]. // TODO cite Holt
#figure(image("boat.png"), caption: [A boat @pike2019.]) #note[Tides move it #footnote[See @moss.].] $ x^2 $ `raw @no`
#bibliography("refs.bib")
"""
_ORG = """#+title: Boats
#+author: Ann Lee
#+bibliography: refs.bib
* Introduction :draft:
Boats float [cite/t:see @berg1931 p. 3; @lee2020] and cite:pike2019 says why [?]. \\cite{moss} [fn:1]
# TODO cite Holt
#+begin_src python
print("[cite:@no]")
#+end_src
| a | b [cite:@holt] |
[fn:1] A note [cite:@reis].
"""
_NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "metadata": {}, "source": ["# Boats\n", "\n", 'They "float" [@berg1931; @lee2020].\n']},
        {"cell_type": "code", "metadata": {}, "outputs": [], "source": ["x = '[@no]'"]},
        {"cell_type": "markdown", "metadata": {}, "source": "Gulls \u00e9 \U0001f6a2 disturb the count [?].\\n"},
    ],
    "metadata": {},
    "nbformat": 4,
    "nbformat_minor": 5,
}


@dataclass(frozen=True, slots=True)
class Target:
    """A reader, and the files that it is fuzzed with: name and content of each."""

    name: str
    """``source:bibtex``, ``draft:latex`` and so on."""
    seeds: tuple[tuple[str, bytes], ...]


@lru_cache(maxsize=1)
def targets() -> tuple[Target, ...]:
    """Every reader of citewell, with its files; a reader without a file is an error, so that none is forgotten."""
    seeds: dict[str, list[tuple[str, bytes]]] = {f"source:{name}": [] for name in sorted(reader_names())}
    seeds |= {f"draft:{name}": [] for name in sorted(draft_readers.formats())}
    for name, data in _source_files():
        reader = find_reader(data[: 64 * 1024])
        if reader is not None:
            seeds[f"source:{_module(reader)}"].append((name, data))
    for name, data in _draft_files():
        seeds[f"draft:{draft_readers.detect(DraftSource(data, name))}"].append((name, data))
    if missing := [name for name, files in seeds.items() if not files]:
        raise CitewellError(f"there is no file to fuzz {', '.join(missing)} with; add one to benchmarks/fuzz_seeds.py")
    return tuple(Target(name, tuple(files)) for name, files in seeds.items())


def _module(reader: object) -> str:
    """The name that a reader is registered with, which is that of its module."""
    return str(getattr(reader, "__name__", type(reader).__module__)).rpartition(".")[2]


def _source_files() -> list[tuple[str, bytes]]:
    files = [(path.name, path.read_bytes()) for path in sorted((_TESTS / "sources" / "data").iterdir()) if path.is_file()]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "zotero.sqlite"
        runpy.run_path(str(_TESTS / "sources" / "zotero_file.py"))["make"](path).close()
        return [*files, (path.name, path.read_bytes())]


def _draft_files() -> list[tuple[str, bytes]]:
    suffixes = (".tex", ".md", ".qmd", ".Rmd", ".txt")
    paths = [path for path in sorted((_TESTS / "draft" / "manuscripts").rglob("*")) if path.suffix in suffixes]
    paths = [path for path in paths if path.name != "expected.txt"] + [
        demo.path(f"draft.{end}") for end in ("tex", "md", "txt")
    ]
    made = {"draft.typ": _TYPST, "draft.org": _ORG, "draft.ipynb": json.dumps(_NOTEBOOK, indent=1)}
    return [
        *((path.name, path.read_bytes()) for path in paths),
        *((name, text.encode()) for name, text in made.items()),
        ("draft.docx", _word_file()),
    ]


def _word_file() -> bytes:
    word = runpy.run_path(str(_TESTS / "draft" / "word.py"))
    paragraph, docx = word["paragraph"], word["docx"]
    item = {"type": "article-journal", "title": "Boats", "author": [{"family": "Lee", "given": "Ann"}]}
    data = docx(
        paragraph("Boats", style="Title"),
        paragraph("Introduction", style="Heading2"),
        paragraph("Boats float ", word["zotero"]("(Lee 2020)", item), " and gulls disturb the count [?].", word["footnote"](1)),
        paragraph(word["commented"](0, "Tides move them.")),
        word["table"](["a", "b (Berg, 1931)"]),
        paragraph("References", style="Heading2"),
        paragraph("Berg, B. (1931). On boats. Journal of Harbours, 3, 1-9."),
        comments={0: "cite Holt"},
        footnotes={1: paragraph("See also Pike (2019).")},
    )
    assert isinstance(data, bytes)
    return data


def parts_of(archive: bytes) -> dict[str, bytes]:
    """The files in a zip archive."""
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def archive_of(parts: dict[str, bytes]) -> bytes:
    """A zip archive of these files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    return out.getvalue()
