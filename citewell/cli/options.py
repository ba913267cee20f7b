"""Options and output that the commands share."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec

from citewell.library.library import Library
from citewell.papers import OTHERS, Paper

Command = TypeVar("Command", bound=Callable[..., Any])


def default_library() -> Path:
    """``$CITEWELL_LIBRARY``, or the user's data folder."""
    from platformdirs import user_data_path

    folder = os.environ.get("CITEWELL_LIBRARY")
    return Path(folder) if folder else user_data_path("citewell", appauthor=False) / "library"


def library_option(command: Command) -> Command:
    return click.option(
        "--library",
        "-l",
        type=click.Path(file_okay=False, path_type=Path),
        default=default_library,
        callback=lambda context, option, folder: Library(folder),
        show_default="$CITEWELL_LIBRARY, else your data folder",
        metavar="DIR",
        help="The folder of the library.",
    )(command)


def json_option(command: Command) -> Command:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")(command)


def filter_options(command: Command) -> Command:
    """``--since``, ``--before``, ``--venue`` and ``--exclude``, as `Query` has them."""
    for option in (
        click.option("--exclude", multiple=True, metavar="ID", help="Leave this paper out (repeatable)."),
        click.option("--venue", default="", metavar="TEXT", help="Only papers whose venue contains TEXT."),
        click.option("--before", type=int, metavar="YEAR", help="Only papers from before YEAR."),
        click.option("--since", type=int, metavar="YEAR", help="Only papers of YEAR or later."),
    ):
        command = option(command)
    return command


def print_json(value: object) -> None:
    """Print one JSON document to standard output, indented if that is a terminal."""
    text = msgspec.json.encode(value)
    sys.stdout.write((msgspec.json.format(text, indent=2) if sys.stdout.isatty() else text).decode() + "\n")


def warn(library: Library) -> None:
    """Print on standard error what is damaged in the index."""
    tell(library.index.warnings)


def tell(notes: Iterable[str]) -> None:
    """Print notes for the user on standard error, one line each."""
    for line in notes:
        print(f"citewell: {line}", file=sys.stderr)


def byline(paper: Paper, authors: int = 3) -> str:
    """Authors, year and venue on one line."""
    known = [str(author) for author in paper.authors if author != OTHERS]
    names = ", ".join(known[:authors]) + (" et al." if len(known) > authors or OTHERS in paper.authors else "")
    return " · ".join(part for part in (names, str(paper.year or ""), paper.venue) if part)
