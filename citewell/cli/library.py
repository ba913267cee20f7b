"""``citewell library``: show, check, rebuild and prune a library."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from citewell.cli.options import json_option, library_option, print_json, tell
from citewell.library.library import Library

if TYPE_CHECKING:
    from citewell.library.trained_models import TrainedModel
    from citewell.library.vectors.status import VectorStatus

_TEXTS = ("own", "cited", "citing", "own+cited", "own+citing", "sentences")


@click.group("library")
def command() -> None:
    """Show, check, rebuild or prune a library."""


@command.command("info")
@library_option
@json_option
def info(library: Library, as_json: bool) -> None:
    """Show counts, size on disk, and the status of vectors and trained models."""
    from citewell import serialize

    summary = serialize.library(library)
    if as_json:
        print_json(summary)
        return
    postings = ", ".join(f"{name} {count:,}" for name, count in summary["postings"].items())
    for label, value in (
        ("folder", summary["folder"]),
        ("papers", f"{summary['papers']:,} ({summary['with_abstract']:,} with an abstract)"),
        ("citations", f"{summary['citations']:,} resolved, {summary['waiting']:,} unresolved"),
        ("contexts", f"{summary['contexts']:,} ({summary['waiting_contexts']:,} more of papers that are not in the library)"),
        ("sentences", f"{summary['sentences']:,}"),
        ("index", f"{summary['segments']:,} segments; texts: {postings}; {summary['to_index']:,} papers to index"),
        *(("vectors", _of_vectors(each)) for each in summary["vectors"]),
        ("models", "; ".join(map(_of_model, summary["models"]))),
        ("on disk", f"{summary['bytes'] / 1e6:,.1f} MB"),
    ):
        if value:
            click.echo(f"{label:>10}  {value}")


def _of_vectors(status: VectorStatus) -> str:
    """The status of the vectors of one encoder and text."""
    from citewell.collection.interface import TEXT_LABELS

    which = f"{status.encoder} ({TEXT_LABELS.get(status.text, status.text)})"
    if status.damage:
        return f"{which}: {status.damage}"
    if status.at_work:
        left = "" if status.seconds_left is None else f", {_rough(status.seconds_left)} left"
        return f"{which}: {status.papers:,} of {status.of:,} papers; computing now{left}"
    if status.complete:
        return f"{which}: {status.papers:,} papers"
    from citewell.library.vectors.status import command_for

    command = command_for(status.encoder, status.text)
    if status.papers == status.of:
        return f"{which}: {status.papers:,} papers, some of which may have changed; run '{command}'"
    return f"{which}: {status.papers:,} of {status.of:,} papers; run '{command}'"


def _rough(seconds: float) -> str:
    """A time in round numbers."""
    if seconds < 60:
        return "less than a minute"
    count, unit = (seconds / 3600, "hour") if seconds >= 90 * 60 else (seconds / 60, "minute")
    return f"about {count:.0f} {unit}{'' if round(count) == 1 else 's'}"


def _of_model(model: TrainedModel) -> str:
    if model.damage:
        return model.damage
    later = f"; {model.later:,} added later" if model.later else ""
    return f"{model.name} ({model.papers:,} papers{later})"


@command.command("check")
@library_option
@json_option
def check(library: Library, as_json: bool) -> None:
    """Verify the store, the index, and that they agree.

    Exits with status 1 if something is damaged, and says whether 'citewell library rebuild' repairs it. Lists papers that were
    merged from records which may describe different works.
    """
    verdict = library.check()
    if as_json:
        print_json({"sound": verdict.sound, **asdict(verdict)})
    else:
        for note in verdict.notes:
            click.echo(f"note: {note}")
        for doubt in verdict.doubtful:
            click.echo(f"doubtful merge: {doubt}")
        for damage in verdict.store:
            click.echo(f"store damaged: {damage}")
        for damage in verdict.index:
            click.echo(f"index damaged: {damage}")
        if verdict.sound:
            click.echo("The library is sound.")
        if verdict.index:
            click.echo("Run 'citewell library rebuild' to build the index again from the store.")
        if verdict.store:
            click.echo("The store cannot be repaired: restore it from a backup, or add its sources to a new library.")
    sys.exit(0 if verdict.sound else 1)


@command.command("rebuild")
@library_option
@json_option
def rebuild(library: Library, as_json: bool) -> None:
    """Build the index again from the store."""
    from citewell.cli.progress import TerminalProgress

    with TerminalProgress() as progress:
        library.rebuild(progress)
    if as_json:
        print_json(library.info())
    else:
        click.echo(f"indexed {len(library):,} papers")


@command.command("remove")
@click.argument("names", nargs=-1, required=True, metavar="ID...")
@library_option
@json_option
def remove(names: tuple[str, ...], library: Library, as_json: bool) -> None:
    """Remove papers. Citations of them resolve again if they are added again."""
    count = library.remove(names)
    if as_json:
        print_json({"removed": count})
    else:
        click.echo(f"removed {count:,} {'paper' if count == 1 else 'papers'}")


@command.command("merge")
@click.argument("names", nargs=-1, required=True, metavar="ID ID...")
@library_option
@json_option
def merge(names: tuple[str, ...], library: Library, as_json: bool) -> None:
    """Make one paper of several that are the same work.

    Every key and identifier still finds the paper, and every key is exported. The decision stays when the files are added
    again.
    """
    library.merge(names)
    if as_json:
        print_json({"merged": list(names), "id": library.paper(names[0]).id})
    else:
        click.echo(f"{', '.join(names)} are one paper now")


@command.command("split")
@click.argument("key")
@library_option
@json_option
def split(key: str, library: Library, as_json: bool) -> None:
    """Make a paper of its own of a record that was merged with others.

    KEY is the key of the record in its file; 'citewell show' lists the records of a paper. The decision stays when the files
    are added again.
    """
    library.split(key)
    if as_json:
        print_json({"split": key, "id": library.paper(key).id})
    else:
        click.echo(f"{key} is a paper of its own now")


@command.command("encode")
@click.option("--encoder", "name", help="Only this encoder (default: the ones that suggestions use).")
@click.option("--text", type=click.Choice(_TEXTS), default="own", show_default=True, help="The text to encode, with --encoder.")
@click.option("--pipeline", "of_pipeline", help="Compute what this pipeline needs instead.")
@library_option
@json_option
def encode(name: str | None, text: str, of_pipeline: str | None, library: Library, as_json: bool) -> None:
    """Compute the vectors of new and changed papers, which dense retrieval needs.

    If it is interrupted, the next run resumes where it stopped. While another process computes the vectors ('citewell add'
    starts one), it waits for that process and shows its progress.
    """
    from citewell.cli.progress import TerminalProgress
    from citewell.collection.interface import TEXT_LABELS
    from citewell.library.vectors.status import at_work, default_vectors, encode_with_progress, follow
    from citewell.library.vectors.store import VectorStore

    if of_pipeline:
        _encode_for(library, of_pipeline, bool(name), as_json)
        return
    vector_sets = [(name, text)] if name else default_vectors()
    if any(at_work(library, *pair) for pair in vector_sets):
        tell(["another process is already computing these vectors; waiting for it"])
    done = []
    with library, TerminalProgress() as progress:
        for encoder, of in vector_sets:
            follow(library, encoder, of, progress)
            made = encode_with_progress(library, encoder, of, progress)
            count = VectorStore(library.folder, encoder, of).count()
            done.append({"encoder": encoder, "text": of, "encoded": made, "vectors": count})
    if as_json:
        print_json(done)
        return
    for each in done:
        vectors = f"{each['encoder']} vectors ({TEXT_LABELS[str(each['text'])]})"
        click.echo(f"{each['encoded']:,} papers encoded; {each['vectors']:,} have {vectors}")


def _encode_for(library: Library, name: str, of_encoder: bool, as_json: bool) -> None:
    """Compute what a pipeline needs."""
    from citewell.cli.progress import TerminalProgress
    from citewell.pipeline.registry import pipeline

    if of_encoder:
        raise click.UsageError("give --encoder or --pipeline, not both")
    with library, TerminalProgress() as progress:
        pipeline(name).prepare(library, progress=progress)
    if as_json:
        print_json({"pipeline": name, "papers": len(library)})
    else:
        click.echo(f"The {len(library):,} papers have what {name} needs.")
