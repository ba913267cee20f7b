"""``citewell library``: what is in it, whether it is sound, and mending it."""

from __future__ import annotations

import sys
from dataclasses import asdict

import click

from citewell.cli.options import json_option, library_option, print_json
from citewell.library.library import Library


@click.group("library")
def command() -> None:
    """Look at, check, rebuild or thin out a library."""


@command.command("info")
@library_option
@json_option
def info(library: Library, as_json: bool) -> None:
    """Count papers, citations, contexts, sentences, segments and bytes."""
    found = library.info()
    if as_json:
        print_json(found)
        return
    postings = ", ".join(f"{name} {count:,}" for name, count in found["postings"].items())
    for label, value in (
        ("folder", found["folder"]),
        ("papers", f"{found['papers']:,} ({found['with_abstract']:,} with an abstract)"),
        ("citations", f"{found['citations']:,} resolved, {found['waiting']:,} waiting for their paper"),
        ("contexts", f"{found['contexts']:,} ({found['waiting_contexts']:,} more wait for their citing paper)"),
        ("sentences", f"{found['sentences']:,}"),
        ("index", f"{found['segments']:,} segments; texts: {postings}; {found['to_index']:,} papers to index"),
        ("on disk", f"{found['bytes'] / 1e6:,.1f} MB"),
    ):
        click.echo(f"{label:>10}  {value}")


@command.command("check")
@library_option
@json_option
def check(library: Library, as_json: bool) -> None:
    """Verify the store, the index, and the one against the other.

    Exits with 1 where something is damaged, and says what 'citewell library rebuild' would mend.
    """
    verdict = library.check()
    if as_json:
        print_json({"sound": verdict.sound, **asdict(verdict)})
    else:
        for note in verdict.notes:
            click.echo(f"note: {note}")
        for damage in verdict.store:
            click.echo(f"store damaged: {damage}")
        for damage in verdict.index:
            click.echo(f"index damaged: {damage}")
        if verdict.sound:
            click.echo("the library is sound")
        if verdict.index:
            click.echo("'citewell library rebuild' makes the index anew from the store")
        if verdict.store:
            click.echo("the store is the only truth: restore it from a backup, or add its sources to a new library")
    sys.exit(0 if verdict.sound else 1)


@command.command("rebuild")
@library_option
@json_option
def rebuild(library: Library, as_json: bool) -> None:
    """Make the index anew from the store."""
    from citewell.cli.progress import Bar

    with Bar() as bar:
        library.rebuild(bar)
    if as_json:
        print_json(library.info())
    else:
        click.echo(f"indexed {len(library):,} papers")


@command.command("remove")
@click.argument("names", nargs=-1, required=True, metavar="ID...")
@library_option
@json_option
def remove(names: tuple[str, ...], library: Library, as_json: bool) -> None:
    """Take papers out. Citations to them wait, and resolve when they are added again."""
    count = library.remove(names)
    if as_json:
        print_json({"removed": count})
    else:
        click.echo(f"removed {count:,} {'paper' if count == 1 else 'papers'}")


@command.command("encode")
@click.option("--encoder", "name", default="minilm", show_default=True, help="Which encoder; see docs/how-it-works.md.")
@click.option("--text", type=click.Choice(["own", "cited", "citing"]), default="own", show_default=True, help="Which text.")
@library_option
@json_option
def encode(name: str, text: str, library: Library, as_json: bool) -> None:
    """Give papers the vectors that dense retrieval needs, where they are new or have changed.

    Killed or interrupted, it goes on where it was the next time.
    """
    from citewell.cli.progress import Bar
    from citewell.library.encoding import encode
    from citewell.library.vectors import Shelf
    from citewell.models.encoder import load

    with library, Bar() as bar:
        made = encode(library, load(name), text, start=bar.indexing, report=bar.indexed)
    count = Shelf(library.folder, name, text).count()
    if as_json:
        print_json({"encoder": name, "text": text, "encoded": made, "vectors": count})
    else:
        click.echo(f"{made:,} papers encoded; {count:,} have a {name} vector of their {text} text")
