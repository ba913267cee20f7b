"""``citewell library``: what is in it, whether it is sound, and mending it."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from citewell.cli.options import json_option, library_option, print_json, tell
from citewell.library.library import Library

if TYPE_CHECKING:
    from citewell.library.trained_models import TrainedModel
    from citewell.library.vectors.status import Standing

_TEXTS = ("own", "cited", "citing", "own+cited", "own+citing", "sentences")


@click.group("library")
def command() -> None:
    """Look at, check, rebuild or thin out a library."""


@command.command("info")
@library_option
@json_option
def info(library: Library, as_json: bool) -> None:
    """Count papers, citations, contexts, sentences, segments and bytes; say how vectors and trained models stand."""
    from citewell import serialize

    found = serialize.library(library)
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
        *(("vectors", _of_vectors(each)) for each in found["vectors"]),
        ("models", "; ".join(map(_of_model, found["models"]))),
        ("on disk", f"{found['bytes'] / 1e6:,.1f} MB"),
    ):
        if value:
            click.echo(f"{label:>10}  {value}")


def _of_vectors(standing: Standing) -> str:
    """How the vectors of one encoder and text stand."""
    which = f"{standing.encoder} of {standing.text} text"
    if standing.damage:
        return f"{which}: {standing.damage}"
    if standing.at_work:
        left = "" if standing.seconds_left is None else f", {_rough(standing.seconds_left)} to go"
        return f"{which}: {standing.papers:,} of {standing.of:,} papers; being encoded now{left}"
    if standing.complete:
        return f"{which}: {standing.papers:,} papers"
    from citewell.library.vectors.status import command_for

    command = command_for(standing.encoder, standing.text)
    if standing.papers == standing.of:
        return f"{which}: {standing.papers:,} papers, some of which may have changed; '{command}' looks"
    return f"{which}: {standing.papers:,} of {standing.of:,} papers; '{command}' goes on"


def _rough(seconds: float) -> str:
    """A time as one would say it."""
    if seconds < 60:
        return "less than a minute"
    count, unit = (seconds / 3600, "hour") if seconds >= 90 * 60 else (seconds / 60, "minute")
    return f"about {count:.0f} {unit}{'' if round(count) == 1 else 's'}"


def _of_model(model: TrainedModel) -> str:
    if model.damage:
        return model.damage
    later = f"; {model.later:,} came later" if model.later else ""
    return f"{model.name} ({model.papers:,} papers{later})"


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
@click.option("--encoder", "name", help="This encoder alone; default: those that suggestions use.")
@click.option(
    "--text", type=click.Choice(_TEXTS), default="own", show_default=True, help="Which text, of an encoder that is named."
)
@click.option("--pipeline", "of_pipeline", help="What this pipeline needs, instead.")
@library_option
@json_option
def encode(name: str | None, text: str, of_pipeline: str | None, library: Library, as_json: bool) -> None:
    """Give papers the vectors that suggestions by meaning need, where they are new or have changed.

    Killed or interrupted, it goes on where it was the next time. While another process makes them ('citewell add' starts one),
    it waits for that one and shows how far it is.
    """
    from citewell.cli.progress import Bar
    from citewell.library.vectors.status import at_work, encode_openly, follow, kept
    from citewell.library.vectors.store import Shelf

    if of_pipeline:
        _encode_for(library, of_pipeline, bool(name), as_json)
        return
    wanted = [(name, text)] if name else kept()
    if any(at_work(library, *pair) for pair in wanted):
        tell(["another process is making these vectors already; waiting for it"])
    done = []
    with library, Bar() as bar:
        for encoder, of in wanted:
            follow(library, encoder, of, bar.indexing, bar.indexed)
            made = encode_openly(library, encoder, of, bar.indexing, bar.indexed)
            count = Shelf(library.folder, encoder, of).count()
            done.append({"encoder": encoder, "text": of, "encoded": made, "vectors": count})
    if as_json:
        print_json(done)
        return
    for each in done:
        of_sentences = each["text"] == "sentences"
        whose = f"{each['encoder']} vectors of their" if of_sentences else f"a {each['encoder']} vector of their"
        vectors = f"{each['vectors']:,} have {whose} {each['text']}{'' if of_sentences else ' text'}"
        click.echo(f"{each['encoded']:,} papers encoded; {vectors}")


def _encode_for(library: Library, name: str, of_encoder: bool, as_json: bool) -> None:
    """Make what a pipeline needs."""
    from citewell.pipeline.registry import pipeline

    if of_encoder:
        raise click.UsageError("give --encoder or --pipeline, not both")
    with library:
        pipeline(name).prepare(library)
    if as_json:
        print_json({"pipeline": name, "papers": len(library)})
    else:
        click.echo(f"the {len(library):,} papers have what {name} needs")
