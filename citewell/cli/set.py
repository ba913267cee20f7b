"""``citewell set``: makes a data set from a library, counts what is in a set, clears the cache of set libraries."""

from __future__ import annotations

import shutil
import sys
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from citewell.cli import set_from_bioasq
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
@click.option("--name", required=True, help="The name of the set; its ids belong to this name.")
@click.option("--about", default="", metavar="TEXT", help="A sentence that describes the set.")
@click.option("--without", multiple=True, type=_SET, metavar="SET", help="Leave out the papers of this set (repeatable).")
@click.option("--citing-only", is_flag=True, help="Leave out every paper that cites nothing, even if it is cited.")
@click.option(
    "--min-citations",
    type=click.IntRange(1),
    metavar="N",
    help="Recommend only papers that are cited at least N times by papers of the training years.",
)
@click.option(
    "--paragraph-sections",
    type=click.Choice(["related-work", "all"]),
    default="related-work",
    show_default=True,
    help="Cut paragraph queries from these sections of full texts.",
)
@click.option(
    "--min-cited",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="N",
    help="A paragraph query cites at least N papers of the set.",
)
@click.option("--any-first-sentence", is_flag=True, help="Also cut paragraphs that do not begin with a transition sentence.")
@json_option
def make(
    folder: Path,
    library: Library,
    name: str,
    about: str,
    without: tuple[Path, ...],
    citing_only: bool,
    min_citations: int | None,
    paragraph_sections: str,
    min_cited: int,
    any_first_sentence: bool,
    as_json: bool,
) -> None:
    """Make a data set from a library that has citations.

    The oldest 80 percent of the citing papers are for training, the next 10 percent for dev, the newest for test, in whole
    years. Papers without a year or without any citation, and citations of later papers, are left out. --without also leaves
    out papers whose title is in another set or similar to one there (Jaccard similarity of the words at least 0.7), so that a
    model trained on one set can be tested on the other. --min-citations makes a set of often cited papers, such as MAG50 of
    HybridCite: papers below the minimum are left out with their contexts, and so are citations of them. Later papers that
    cite one above it stay, as queries.

    From papers with full text whose source has paragraphs (JATS, S2ORC) queries of the paragraph task are cut: paragraphs of
    related work whose first sentence introduces a topic (a classifier decides) and does not cite, with the papers that the
    rest cites.

    \b
        citewell set make my-set --library my-papers --name my-set
        citewell set make train --library big --name train --without data/cs --without data/elife
    """
    from citewell.cli.progress import TerminalProgress
    from citewell.evaluate.build_set import make
    from citewell.evaluate.paragraph_tasks import ParagraphRules

    rules = ParagraphRules(paragraph_sections, min_cited, not any_first_sentence)
    with library, TerminalProgress() as progress:
        made = make(library, folder, name, about, without, citing_only, progress, min_citations or 0, rules)
    for path, count in made.problems.items():
        print(f"citewell: {count:,} lines of {path} could not be read; papers on them may be in the new set", file=sys.stderr)
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
    """Count documents, citations, words and contexts, and for each split the queries and their relevant papers."""
    from citewell.evaluate.statistics import statistics

    figures = statistics(folder)
    for file, count in figures.problems.items():
        print(f"citewell: {count:,} lines of {file} could not be read and were skipped", file=sys.stderr)
    if as_json:
        print_json(figures)
    else:
        _print_statistics(figures)


@command.command("cache")
@click.option("--clear", is_flag=True, help="Remove all of them; the next evaluation builds what it needs again.")
@json_option
def cache(clear: bool, as_json: bool) -> None:
    """List the cached libraries that evaluations have built from sets (in $CITEWELL_CACHE).

    --clear also removes what 'citewell reproduce' keeps: results, and everything of quick runs. Do not clear them while an
    evaluation runs. Libraries that are being built stay.
    """
    import shutil

    from citewell.evaluate.quick import quick_folder
    from citewell.evaluate.results_cache import results_folder
    from citewell.evaluate.set_libraries import cache_folder

    folder = cache_folder()
    sizes = {path.name: _size(path) for path in sorted(folder.glob("*")) if _is_library(path)}
    if clear:
        freed = _clear(folder)
        for kept in (results_folder(), quick_folder()):
            shutil.rmtree(kept, ignore_errors=True)
        left = [name for name in sizes if (folder / name).exists()]
        if as_json:
            print_json({"folder": str(folder), "cleared": len(sizes) - len(left), "freed_bytes": freed})
        else:
            click.echo(f"removed {_counted(len(sizes) - len(left))}, {freed / 1e6:,.1f} MB freed")
    elif as_json:
        libraries = [{"name": name, "bytes": size} for name, size in sizes.items()]
        print_json({"folder": str(folder), "libraries": libraries, "bytes": sum(sizes.values())})
    else:
        for name, size in sizes.items():
            click.echo(f"{size / 1e6:>10,.1f} MB  {name}")
        click.echo(f"{sum(sizes.values()) / 1e6:>10,.1f} MB  in {_counted(len(sizes))} in {folder}")


command.add_command(set_from_bioasq.command)


def _print_statistics(figures: Statistics) -> None:
    from rich.console import Console
    from rich.table import Table

    def span(years: tuple[int, ...]) -> str:
        return "–".join(map(str, dict.fromkeys(years))) or "none"

    later = f" ({figures.later_citations:,} more point to later papers)" if figures.later_citations else ""
    for label, value in (
        ("set", figures.name),
        ("documents", f"{figures.documents:,} ({figures.with_abstract:,} with an abstract), years {span(figures.years)}"),
        (
            "citations",
            f"{figures.citations:,} by {figures.citing:,} documents, {figures.citations_per_citing:,.1f} each{later}",
        ),
        (
            "words",
            f"title {figures.title_words:,.1f}, abstract {figures.abstract_words:,.1f}, both {figures.document_words:,.1f}",
        ),
        ("contexts", f"{figures.contexts:,}" + (f", {figures.context_words:,.1f} words each" if figures.contexts else "")),
        ("paragraphs", f"{figures.paragraphs:,}"),
    ):
        click.echo(f"{label:>10}  {value}")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("split", "years"):
        table.add_column(heading)
    for heading in ("citing", *(f"{task} {kind}" for task in figures.tasks for kind in ("queries", "pairs"))):
        table.add_column(heading, justify="right")
    for name, part in figures.splits.items():
        counts = [count for task in figures.tasks for count in (part.queries[task], part.pairs[task])]
        table.add_row(name, span(part.years), *(f"{count:,}" for count in (part.citing, *counts)))
    Console(width=None if sys.stdout.isatty() else 200, highlight=False).print(table)


def _print_left_out(left_out: LeftOut) -> None:
    listed = [f"{count:,} {kind.replace('_', ' ')}" for kind, count in asdict(left_out).items() if count]
    if listed:
        click.echo(f"left out: {', '.join(listed)}")


def _is_library(path: Path) -> bool:
    from citewell.evaluate.set_libraries import BUILDING
    from citewell.library.store.schema import FILE

    return (path / FILE).is_file() and path.suffix != BUILDING


def _clear(folder: Path) -> int:
    """Remove the libraries, their locks and incomplete ones of killed evaluations; returns the number of bytes freed."""
    from filelock import FileLock, Timeout

    from citewell.evaluate.set_libraries import BUILDING

    freed = 0
    for name in sorted({path.name.removesuffix(".lock").removesuffix(BUILDING) for path in folder.glob("*")}):
        with suppress(Timeout), FileLock(folder / f"{name}.lock", timeout=0):
            for path in (folder / name, folder / f"{name}{BUILDING}", folder / f"{name}.lock"):
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
