"""``citewell set``: cut a data set from a library, look at the figures of one, clear the libraries that are kept of them."""

from __future__ import annotations

import shutil
import sys
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from citewell.cli.options import json_option, library_option, print_json
from citewell.library.library import Library

if TYPE_CHECKING:
    from citewell.evaluate.build_set import LeftOut
    from citewell.evaluate.statistics import Statistics

_SET = click.Path(exists=True, file_okay=False, path_type=Path)


@click.group("set")
def command() -> None:
    """Make data sets for evaluation, count what is in them, clear their cache."""


@command.command("make")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@library_option
@click.option("--name", required=True, help="What the set is called; its ids belong to this name.")
@click.option("--about", default="", metavar="TEXT", help="What it is, in a sentence.")
@click.option("--without", multiple=True, type=_SET, metavar="SET", help="Leave out the papers of this set (repeatable).")
@click.option("--citing-only", is_flag=True, help="Leave out every paper that cites nothing, cited or not.")
@json_option
def make(
    folder: Path, library: Library, name: str, about: str, without: tuple[Path, ...], citing_only: bool, as_json: bool
) -> None:
    """Cut a data set from a library that has citations.

    The oldest 80 percent of the citing papers are for training, the next 10 percent for tuning, the newest for the report, in
    whole years. Papers without a year or without any link, and citations of later papers, are left out. With --without, so are
    papers of which another set has the title, or nearly (0.7 of the words of the two titles are in both): what was trained on
    the one can then be tested on the other.

    \b
        citewell set make my-set --library my-papers --name my-set
        citewell set make train --library big --name train --without data/cs --without data/elife
    """
    from citewell.cli.progress import Bar
    from citewell.evaluate.build_set import make

    with library, Bar() as bar:
        made = make(library, folder, name, about, without, citing_only, bar)
    for path, count in made.problems.items():
        print(f"citewell: {count:,} lines of {path} could not be read; their papers may be in the set", file=sys.stderr)
    if as_json:
        print_json({"folder": str(made.folder), **asdict(made.statistics), "left_out": made.left_out})
        return
    _print_statistics(made.statistics)
    _print_left_out(made.left_out)
    click.echo(f"written to {made.folder}")


@command.command("stats")
@click.argument("folder", metavar="SET", type=_SET)
@json_option
def stats(folder: Path, as_json: bool) -> None:
    """Count documents, citations, words and contexts, and for each split the queries and the papers they want."""
    from citewell.evaluate.statistics import statistics

    found = statistics(folder)
    for file, count in found.problems.items():
        print(f"citewell: {count:,} lines of {file} could not be read and were left out", file=sys.stderr)
    if as_json:
        print_json(found)
    else:
        _print_statistics(found)


@command.command("cache")
@click.option("--clear", is_flag=True, help="Remove them all; the next evaluation makes anew what it needs.")
@json_option
def cache(clear: bool, as_json: bool) -> None:
    """List the libraries that evaluations have made of sets and kept (in $CITEWELL_CACHE).

    Do not clear them while an evaluation runs; those that are being made at the moment stay.
    """
    from citewell.evaluate.pools import cache_folder

    folder = cache_folder()
    found = {path.name: _size(path) for path in sorted(folder.glob("*")) if _is_library(path)}
    if clear:
        freed = _clear(folder)
        left = [name for name in found if (folder / name).exists()]
        if as_json:
            print_json({"folder": str(folder), "cleared": len(found) - len(left), "freed_bytes": freed})
        else:
            click.echo(f"removed {_counted(len(found) - len(left))}, {freed / 1e6:,.1f} MB freed")
    elif as_json:
        libraries = [{"name": name, "bytes": size} for name, size in found.items()]
        print_json({"folder": str(folder), "libraries": libraries, "bytes": sum(found.values())})
    else:
        for name, size in found.items():
            click.echo(f"{size / 1e6:>10,.1f} MB  {name}")
        click.echo(f"{sum(found.values()) / 1e6:>10,.1f} MB  in {_counted(len(found))} in {folder}")


def _print_statistics(found: Statistics) -> None:
    from rich.console import Console
    from rich.table import Table

    def span(years: tuple[int, ...]) -> str:
        return "–".join(map(str, dict.fromkeys(years))) or "none"

    later = f" ({found.later_citations:,} more point to later papers)" if found.later_citations else ""
    for label, value in (
        ("set", found.name),
        ("documents", f"{found.documents:,} ({found.with_abstract:,} with an abstract), years {span(found.years)}"),
        ("citations", f"{found.citations:,} by {found.citing:,} documents, {found.citations_per_citing:,.1f} each{later}"),
        ("words", f"title {found.title_words:,.1f}, abstract {found.abstract_words:,.1f}, both {found.document_words:,.1f}"),
        ("contexts", f"{found.contexts:,}" + (f", {found.context_words:,.1f} words each" if found.contexts else "")),
    ):
        click.echo(f"{label:>10}  {value}")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("split", "years"):
        table.add_column(heading)
    for heading in ("citing", *(f"{task} {kind}" for task in found.tasks for kind in ("queries", "pairs"))):
        table.add_column(heading, justify="right")
    for name, part in found.splits.items():
        counts = [count for task in found.tasks for count in (part.queries[task], part.pairs[task])]
        table.add_row(name, span(part.years), *(f"{count:,}" for count in (part.citing, *counts)))
    Console(width=None if sys.stdout.isatty() else 200, highlight=False).print(table)


def _print_left_out(left_out: LeftOut) -> None:
    listed = [f"{count:,} {kind.replace('_', ' ')}" for kind, count in asdict(left_out).items() if count]
    if listed:
        click.echo(f"left out: {', '.join(listed)}")


def _is_library(path: Path) -> bool:
    from citewell.library.store.schema import FILE

    return (path / FILE).is_file() and path.suffix != ".making"


def _clear(folder: Path) -> int:
    """Remove the libraries, their locks and what killed evaluations left; returns how many bytes that frees."""
    from filelock import FileLock, Timeout

    freed = 0
    for name in sorted({path.name.removesuffix(".lock").removesuffix(".making") for path in folder.glob("*")}):
        with suppress(Timeout), FileLock(folder / f"{name}.lock", timeout=0):
            for path in (folder / name, folder / f"{name}.making", folder / f"{name}.lock"):
                freed += _size(path)
                if path.is_dir():
                    shutil.rmtree(path)
                else:
                    path.unlink(missing_ok=True)
    return freed


def _size(path: Path) -> int:
    return sum(each.stat().st_size for each in (path, *path.rglob("*")) if each.is_file())


def _counted(libraries: int) -> str:
    return "1 library" if libraries == 1 else f"{libraries:,} libraries"
