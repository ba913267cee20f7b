"""What a reader of the documentation has at hand: a library, a draft, a data set, and the commands."""

from __future__ import annotations

import os
import shutil
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from snippets import Session

from citewell import Library, demo, prepare
from tests.draft import word

ROOT = Path(__file__).parents[2]

DRAFT = r"""\documentclass{article}
\title{Citation recommendation on a laptop}
\author{A. N. Author}
\begin{document}
\begin{abstract}
We rank papers for a manuscript by words, vectors and citations.
\end{abstract}
\section{Introduction}
Färber and Jatowt survey the methods and data sets of the field~\cite{farber2020citation}. Documents are mixtures of topics,
as in latent Dirichlet allocation~\cite{}. Training an encoder on a million scientific papers pays off on nearly
every kind of scientific text~\cite{?}.
\bibliography{refs}
\end{document}
"""


@pytest.fixture(scope="session")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with the papers of the demo and their vectors; pages get a copy."""
    folder = tmp_path_factory.mktemp("documentation") / "papers"
    with Library(folder) as library:
        library.add([demo.path("library.jsonl")])
        prepare(library)
    return folder


@pytest.fixture(scope="session")
def data_set(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small made-up data set."""
    sys.path.append(str(ROOT / "tests" / "evaluate"))
    from small_set import small_set

    return Path(small_set().write(tmp_path_factory.mktemp("documentation") / "cs"))


@pytest.fixture(scope="session")
def service_addresses() -> Iterator[dict[str, str]]:
    """A server that answers as the services do, and the variables that put it in their place."""
    sys.path.append(str(ROOT / "tests" / "fetch"))
    from fake_services import ROOTS, Services

    server = Services(papers=12)
    yield {f"CITEWELL_{name.upper()}_URL": f"{server.address}/{root}" for name, root in ROOTS.items()}
    server.close()


def _make_zotero(folder: Path) -> None:
    """Zotero's data folder, with a collection called Thesis."""
    sys.path.append(str(ROOT / "tests" / "sources"))
    from zotero_file import make

    folder.mkdir()
    database = make(folder / "zotero.sqlite")
    database.execute("UPDATE collections SET collectionName = 'Thesis' WHERE collectionID = 1")
    database.close()


@pytest.fixture
def session(
    papers: Path, data_set: Path, service_addresses: dict[str, str], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Session]:
    """A reader who has a library, a draft with its bibliography, and a data set under the names that the pages use."""
    for name in ("papers", "my-papers"):
        shutil.copytree(papers, tmp_path / name)
    for name in ("cs", "elife", "scifact"):
        shutil.copytree(data_set, tmp_path / "data" / name)
    (tmp_path / "paper.tex").write_text(DRAFT, "utf-8")
    gaps = [word.paragraph(f"Topics are mixtures of words, as in {name} [?].") for name in ("topic models", "allocation")]
    (tmp_path / "paper.docx").write_bytes(word.docx(word.paragraph("On Topics", style="Title"), *gaps))
    for name in ("refs.bib", "draft.md", "draft.txt"):
        shutil.copy(demo.path(name), tmp_path / name)
    (tmp_path / "more.ris").write_text("TY  - JOUR\nTI  - Counting boats in the harbour\nPY  - 2015\nER  - \n")
    (tmp_path / "dois.txt").write_text("10.1000/3\n10.1000/5\n")
    _make_zotero(tmp_path / "Zotero")
    commands = tmp_path / ".bin"
    commands.mkdir()
    installed = tmp_path / ".installed"
    programs = {
        "citewell": 'exec "{python}" -m citewell "$@"',
        "python": 'exec "{python}" "$@"',
        "python3": 'exec "{python}" "$@"',
        # What a page installs goes to a folder of the test, and nothing is downloaded.
        "pip": 'shift; exec "{python}" -m pip install -q --no-deps --no-build-isolation --target "{installed}" "$@"',
    }
    for name, program in programs.items():
        (commands / name).write_text(f"#!/bin/sh\n{program.format(python=sys.executable, installed=installed)}\n")
        (commands / name).chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CITEWELL_")} | {
        "HOME": str(tmp_path),
        "PATH": f"{commands}:{os.environ['PATH']}",
        "PYTHONPATH": f"{ROOT}:{installed}",
        "CITEWELL_LIBRARY": str(tmp_path / "papers"),
        "CITEWELL_CACHE": str(tmp_path_factory.getbasetemp() / "cache"),  # the pages evaluate on the same set
        "CITEWELL_BACKGROUND": "off",
        "COLUMNS": "120",
        **service_addresses,
    }
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    reader = Session(tmp_path, environment, port)
    yield reader
    reader.close()
