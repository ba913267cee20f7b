"""``citewell study``: a user study on a set, from sampling its contexts to the report."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

import click

from citewell import extras
from citewell.cli.options import json_option, print_json

_DIR = click.Path(file_okay=False, path_type=Path)
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.group("study")
def command() -> None:
    """Let people judge the suggestions of several systems, blind and side by side."""


@command.command("make")
@click.argument("folder", metavar="DIR", type=_DIR)
@click.option("--set", "set_folder", type=click.Path(exists=True, file_okay=False, path_type=Path), help="The data set.")
@click.option("--library", type=click.Path(exists=True, file_okay=False, path_type=Path), help="A library, instead of a set.")
@click.option("--from", "file", type=_FILE, metavar="FILE", help='With --library: contexts, a line each: {"context": TEXT}.')
@click.option(
    "--task",
    type=click.Choice(["global", "local", "paragraph", "evidence"]),
    default="local",
    show_default=True,
    help="The task of the queries.",
)
@click.option(
    "--split", type=click.Choice(["dev", "test"]), default="test", show_default=True, help="The years of the contexts."
)
@click.option("--pipeline", "names", multiple=True, required=True, help="A system to judge (one to six times).")
@click.option("--component", "components", multiple=True, help="Recall counts the relevant papers of this system (repeatable).")
@click.option("--contexts", default=100, show_default=True, type=click.IntRange(1), help="How many contexts to sample.")
@click.option("-k", "k", default=10, show_default=True, type=click.IntRange(1, 50), help="Papers of each system.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Seed of the sample and of all orders.")
@click.option("--judge", "judges", multiple=True, metavar="NAME", help="Only this person may judge (repeatable).")
@click.option(
    "--field", "fields", multiple=True, metavar="TEXT", help="Only papers that name this field of study (repeatable)."
)
@click.option("--language", default="en", show_default=True, metavar="CODE", help="Language of the contexts; '' for any.")
@click.option("--min-words", default=9, show_default=True, type=click.IntRange(0), help="Fewest words that are no stop words.")
@click.option("--keep-duplicates", is_flag=True, help="Ask the same text of the same paper as many times as it occurs.")
@click.option("--context-only", is_flag=True, help="Hide the citing title and abstract from systems and judges.")
@click.option("--distractors", is_flag=True, help="Add the set's distractors: papers that nobody cites.")
@json_option
def make(
    folder: Path,
    set_folder: Path | None,
    library: Path | None,
    file: Path | None,
    task: str,
    split: str,
    names: tuple[str, ...],
    components: tuple[str, ...],
    contexts: int,
    k: int,
    seed: int,
    judges: tuple[str, ...],
    fields: tuple[str, ...],
    language: str,
    min_words: int,
    keep_duplicates: bool,
    context_only: bool,
    distractors: bool,
    as_json: bool,
) -> None:
    """Make a study: sample contexts, and let every system rank for them.

    The folder DIR has everything that judges need. Contexts are chosen as in HybridCite's study. A system sees what it sees in
    'citewell evaluate': nothing from after the date of the context. Missing models of a set's library are trained.

    \b
        citewell study make my-study --set data/cs --pipeline bm25-citing --pipeline hyperdoc2vec --pipeline hybrid
        citewell study make my-study --library my-papers --from contexts.jsonl --pipeline fast --pipeline best
    """
    from citewell.cli.progress import TerminalProgress
    from citewell.evaluate.evaluation import Evaluation
    from citewell.evaluate.user_study.contexts import Filters
    from citewell.evaluate.user_study.make import make_from_library, make_from_set
    from citewell.library import Library
    from citewell.pipeline.registry import pipeline
    from citewell.train.training import train_missing

    if (set_folder is None) == (library is None) or (library is None) != (file is None):
        raise click.UsageError("give --set, or --library together with --from")
    pipelines = [pipeline(name) for name in names]
    filters = Filters(language, list(fields), min_words, not keep_duplicates)
    with TerminalProgress() as progress:
        if set_folder is not None:
            evaluation = Evaluation(
                set_folder, task, split, seed=seed, distractors=distractors, progress=progress, train=train_missing
            )
            study = make_from_set(
                folder, evaluation, pipelines, contexts, k, filters, judges, components, context_only, progress
            )
        else:
            assert library is not None
            assert file is not None
            if unused := [name for name, value in (("--field", fields), ("--context-only", context_only)) if value]:
                raise click.UsageError(f"{unused[0]} works with --set only")
            with Library(library) as opened:
                study = make_from_library(
                    folder, opened, file, pipelines, contexts, k, seed, filters, judges, components, progress
                )
    if as_json:
        print_json(
            {"folder": str(folder), "contexts": len(study.contexts), "papers": len(study.papers), **_settings(study.settings)}
        )
        return
    for step in study.settings.steps:
        click.echo(f"{step.left:>9,}  {step.step}")
    click.echo(
        f"{len(study.papers):,} papers of {len(pipelines)} systems to judge; show them with: citewell study serve {folder}"
    )


def _settings(settings: object) -> dict[str, object]:
    import msgspec

    built: dict[str, object] = msgspec.to_builtins(settings)
    return built


@command.command("serve")
@click.argument("folder", metavar="DIR", type=_DIR)
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Address to listen on.")
@click.option("--port", default=8766, show_default=True, type=click.IntRange(0, 65535), help="Port; 0 chooses a free one.")
@click.option(
    "--token",
    envvar="CITEWELL_TOKEN",
    default="",
    metavar="TEXT",
    help="Token that judges must send; required unless only this machine can reach the address. "
    "Set $CITEWELL_TOKEN instead to keep it out of process lists.",
)
@click.option("--open/--no-open", "opens", default=True, show_default=True, help="Open the page in the browser.")
@json_option
def serve(folder: Path, host: str, port: int, token: str, opens: bool, as_json: bool) -> None:
    """Serve the page on which people judge, until interrupted.

    Several people can judge at the same time. Every mark is on the disk before the page shows it as stored.

    \b
        citewell study serve my-study
        CITEWELL_TOKEN=... citewell study serve my-study --host 0.0.0.0 --no-open
    """
    from citewell.serve import server
    from citewell.serve.user_study.app import create_app
    from citewell.user_study.log import Log
    from citewell.user_study.study import Study

    study = Study.open(folder)
    Log(study.judgements).records()  # a file that cannot be read is an error now, not at the first request
    listener, loopback = server.listen(host, port)
    with listener:
        server.check_token(token, loopback)
        url = server.url_of(listener)

        def ready() -> None:
            if as_json:
                print_json({"url": url, "study": str(folder)})
            else:
                click.echo(f"Serving the study in {folder} at {url} (press Ctrl-C to stop)")
            sys.stdout.flush()
            if opens:
                server.open_browser(url, token)

        async def stop() -> None:
            pass

        server.run_app(create_app(study, token, loopback), stop, listener, ready)


@command.command("report")
@click.argument("folder", metavar="DIR", type=_DIR)
@click.option(
    "--unclear",
    type=click.Choice(["irrelevant", "relevant"]),
    default="irrelevant",
    show_default=True,
    help="What papers marked as unclear count as.",
)
@click.option("--component", "components", multiple=True, help="Recall counts the relevant papers of this system (repeatable).")
@json_option
def report(folder: Path, unclear: Literal["irrelevant", "relevant"], components: tuple[str, ...], as_json: bool) -> None:
    """Measure every system by the judges' marks, compare the systems, and tell how far the judges agree.

    MAP, MRR and recall are those of HybridCite's study: recall is a share of the relevant papers of the component systems.
    Needs: pip install 'citewell[evaluate]'
    """
    extras.require("scipy")
    from rich.console import Console

    from citewell.evaluate.user_study.report import report as report_of
    from citewell.evaluate.user_study.tables import print_report
    from citewell.user_study.log import Log
    from citewell.user_study.study import Study

    study = Study.open(folder)
    made = report_of(study, Log(study.judgements).records(), unclear, components)
    if as_json:
        print_json(made.as_json())
    else:
        print_report(made, Console(width=None if sys.stdout.isatty() else 200))


@command.command("export")
@click.argument("folder", metavar="DIR", type=_DIR)
@click.option("--judge", default="", metavar="NAME", help="Only the marks of this judge.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write to this file.")
def export(folder: Path, judge: str, out: Path | None) -> None:
    """Print all judgements as JSON lines, for 'citewell study import' and 'citewell train fusion --judgements'."""
    from citewell.errors import CitewellError
    from citewell.files import write_atomically
    from citewell.judgements import encode
    from citewell.user_study.log import Log, judges_of
    from citewell.user_study.state import same_judge
    from citewell.user_study.study import Study

    records = dict.fromkeys(Log(Study.open(folder).judgements).records())
    if judge:
        judges = judges_of(records)
        name = same_judge(judge, judges)
        if name not in judges:
            raise CitewellError(f"{judge} has marked nothing in {folder}; there are marks of {', '.join(judges) or 'nobody'}")
        records = {record: None for record in records if record.judge == name}
    data = b"".join(map(encode, records))
    if out:
        write_atomically(out, data)
    else:
        sys.stdout.buffer.write(data)


@command.command("import")
@click.argument("folder", metavar="DIR", type=_DIR)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=_FILE)
@json_option
def import_(folder: Path, files: tuple[Path, ...], as_json: bool) -> None:
    """Add the judgements of copies of the study: files of 'citewell study export', or that judges have downloaded.

    Judgements that the study has already are left out. Of two marks of one judge for one paper the later one counts.
    """
    from citewell.user_study.importing import import_files
    from citewell.user_study.study import Study

    study = Study.open(folder)
    added, known = import_files(study, files)
    if as_json:
        print_json({"folder": str(folder), "added": added, "known": known})
    else:
        click.echo(f"{added:,} judgements added, {known:,} were there already")
