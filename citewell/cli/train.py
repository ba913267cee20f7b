"""``citewell train``: train a model with a recipe, on a library or on data sets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from citewell.cli.options import json_option, library_option, print_json
from citewell.errors import CitewellError
from citewell.library.library import Library

if TYPE_CHECKING:
    from citewell.train.recipe import (
        ClaimsRecipe,
        EvidenceRecipe,
        LibraryRecipe,
        LtrRecipe,
        PackRecipe,
        TransitionsRecipe,
        WordsRecipe,
    )

_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


@click.command("train")
@click.argument("recipe")
@library_option
@click.option("--set", "sets", multiple=True, type=_FOLDER, metavar="DIR", help="A data set to train on (repeatable).")
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), metavar="DIR", help="Output folder for a model of data sets."
)
@click.option(
    "--pack",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="File for the tokenised training data; reused if it exists.",
)
@click.option("--pack-only", is_flag=True, help="Stop after writing --pack and its sidecar files.")
@click.option(
    "--encoder",
    type=_FOLDER,
    metavar="DIR",
    help="The encoder that teaches a static encoder or retrieves for a cross-encoder; for an encoder, the initial weights.",
)
@click.option(
    "--judgements",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="For ltr: what people said about suggestions (repeatable); the trained model is corrected by it.",
)
@click.option("--feedback", is_flag=True, help="For ltr: the same, from the feedback recorded in the library.")
@click.option("--anyway", is_flag=True, help="With --judgements or --feedback: write the model even where it is not better.")
@click.option(
    "--annotations",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Documents annotated by PubTator (PubTator format or BioC-XML, plain or gzipped; repeatable): the graph of the recipe"
    " jpdrmm-graph or jpdrmm-walks links their concepts in place of key terms.",
)
@click.option(
    "--text",
    "texts",
    multiple=True,
    type=_FOLDER,
    metavar="DIR",
    help="A set from whose papers and citing contexts the word vectors of jpdrmm and semiser also learn (repeatable).",
)
@click.option("--device", type=click.Choice(["cpu", "cuda"]), help="Device to train on (default: a GPU if there is one).")
@json_option
def command(
    recipe: str,
    library: Library,
    sets: tuple[Path, ...],
    out: Path | None,
    pack: Path | None,
    pack_only: bool,
    encoder: Path | None,
    judgements: tuple[Path, ...],
    feedback: bool,
    anyway: bool,
    annotations: tuple[Path, ...],
    texts: tuple[Path, ...],
    device: str | None,
    as_json: bool,
) -> None:
    """Train a model with RECIPE: the name of one, or a TOML file of your own.

    A model of a library (lda, doc2vec, paper2vec, hyperdoc2vec and others) learns from its papers, citations and contexts. It
    is saved in the library's folder. Papers added later have no vector until you train again.

    A model of data sets (encoder, static, cross-encoder, jpdrmm, semiser, ltr, claims, transitions and others) learns from
    their train years, ltr from the queries of their dev years. It is written to --out and serves any library; put the folder
    into $CITEWELL_MODELS.

    With --judgements or --feedback, ltr learns from what people said about suggestions from --library: it goes on from the
    trained model, and writes the new one only if that ranks held-out judged queries better.

    To resume an interrupted training, run the same command again. An unknown RECIPE lists all recipes. All recipes except
    hyperdoc2vec need: pip install 'citewell[train,dense]'

    \b
        citewell train hyperdoc2vec --library my-papers
        citewell train encoder --set data/cs --set data/elife --out models/mine
        citewell train static --encoder models/mine --set data/cs --set data/elife --out models/mine-static
        citewell train ltr --set my-set --out models/ltr
        citewell train ltr --feedback --judgements study.jsonl --library my-papers --out models/ltr
    """
    from citewell.train.recipe import (
        ClaimsRecipe,
        EvidenceRecipe,
        LibraryRecipe,
        LtrRecipe,
        TransitionsRecipe,
        WordsRecipe,
        load_recipe,
    )

    chosen = load_recipe(recipe)
    options = {"--set": sets, "--out": out, "--pack": pack, "--pack-only": pack_only, "--encoder": encoder, "--device": device}
    learning = {"--judgements": judgements, "--feedback": feedback, "--anyway": anyway}
    if not isinstance(chosen, LtrRecipe):
        _refuse(learning, f"the recipe {recipe!r} does not learn from judgements")
    if not isinstance(chosen, EvidenceRecipe):
        _refuse({"--annotations": annotations, "--text": texts}, f"the recipe {recipe!r} learns no word vectors of its own")
    if isinstance(chosen, LibraryRecipe):
        _refuse(options, f"the recipe {recipe!r} learns from a library")
        _train_on_library(chosen, library, as_json)
    elif isinstance(chosen, LtrRecipe | ClaimsRecipe | TransitionsRecipe | WordsRecipe):
        _refuse(
            {name: options[name] for name in options if name not in ("--set", "--out")}, f"the recipe {recipe!r} needs no pack"
        )
        if isinstance(chosen, LtrRecipe) and (judgements or feedback):
            _train_on_judgements(chosen, judgements, feedback, library, sets, _required(out), anyway, as_json)
        elif isinstance(chosen, LtrRecipe):
            _refuse({"--anyway": anyway}, "--anyway is for --judgements and --feedback")
            _train_ltr(chosen, sets, _required(out), as_json)
        elif isinstance(chosen, WordsRecipe):
            _train_words(chosen, sets, _required(out), as_json)
        elif isinstance(chosen, TransitionsRecipe):
            _train_transitions(chosen, sets, _required(out), as_json)
        else:
            _train_claims(chosen, sets, _required(out), as_json)
    elif isinstance(chosen, EvidenceRecipe):
        _refuse(
            {name: options[name] for name in ("--pack-only", "--encoder")}, f"the recipe {recipe!r} reads words, not tokens"
        )
        _train_on_evidence(chosen, sets, _required(out), pack, annotations, texts, device or "", as_json)
    elif pack_only:
        _write_pack(chosen, sets, pack, encoder, as_json)
    else:
        _train_on_sets(chosen, sets, _required(out), pack, encoder, device or "", as_json)


def _refuse(options: dict[str, Any], why: str) -> None:
    if used := [name for name, value in options.items() if value]:
        raise CitewellError(f"{why}; leave {used[0]} out")


def _required(out: Path | None) -> Path:
    if out is None:
        raise CitewellError("name the output folder: --out DIR")
    return out


def _train_on_library(recipe: LibraryRecipe, library: Library, as_json: bool) -> None:
    from citewell.cli.progress import TerminalProgress
    from citewell.train.training import train

    with library, TerminalProgress() as bar:
        about = train(library, recipe, bar)
    if as_json:
        print_json(about)
    else:
        print(
            f"{recipe.name}: {about['papers']:,} papers, {about['words']:,} words and {about['contexts']:,} contexts"
            f" in {about['seconds']:,.0f} seconds"
        )


def _write_pack(recipe: PackRecipe, sets: tuple[Path, ...], pack: Path | None, encoder: Path | None, as_json: bool) -> None:
    from citewell.cli.progress import TerminalProgress
    from citewell.train.from_sets import describe_pack, load_or_pack
    from citewell.train.sidecars import make_sidecars

    if pack is None:
        raise CitewellError("name the file for the training data: --pack FILE")
    with TerminalProgress() as bar:
        packed = load_or_pack(pack, recipe, sets, encoder, bar)
        sidecars = make_sidecars(packed, sets, msgspec.to_builtins(recipe), bar) if sets else []
        about = {**describe_pack(packed), "sidecars": list(map(str, sidecars))}
    if as_json:
        print_json(about)
    else:
        pairs = sum(count for tasks in about["pairs"].values() for count in tasks.values())
        print(f"{pack}: {pairs:,} pairs, {about['papers']:,} papers, {about['tokens']:,} tokens, {about['bytes']:,} bytes")
        for path in about["sidecars"]:
            print(f"{path} (sidecar)")


def _train_on_sets(
    recipe: PackRecipe,
    sets: tuple[Path, ...],
    out: Path,
    pack: Path | None,
    encoder: Path | None,
    device: str,
    as_json: bool,
) -> None:
    from citewell.cli.progress import TerminalProgress
    from citewell.train.from_sets import train

    with TerminalProgress() as bar:
        about = train(recipe, sets, out, pack, encoder, device, bar)
    _print_dev(about, as_json)


def _train_on_evidence(
    recipe: EvidenceRecipe,
    sets: tuple[Path, ...],
    out: Path,
    pack: Path | None,
    annotations: tuple[Path, ...],
    texts: tuple[Path, ...],
    device: str,
    as_json: bool,
) -> None:
    from citewell.cli.progress import TerminalProgress
    from citewell.train.from_evidence import train

    with TerminalProgress() as bar:
        about = train(recipe, sets, out, pack, device, bar, annotations, texts)
    _print_dev(about, as_json)


def _print_dev(about: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(about)
    else:
        print(f"{about['recipe']}: {about['out']}, in {about['seconds']:,.0f} seconds; on dev:")
        for name, measured in about["dev"].items():
            print(f"  {name}: {_measures(measured)}")


def _train_ltr(recipe: LtrRecipe, sets: tuple[Path, ...], out: Path, as_json: bool) -> None:
    from citewell.cli.progress import TerminalProgress
    from citewell.train.ltr_data import figures, train

    with TerminalProgress() as bar:
        about = train(recipe, sets, out, bar)
    if as_json:
        print_json(about)
    else:
        print(f"{recipe.name}: {out}, in {about['seconds']:,.0f} seconds; on held-out queries:")
        for task, summary in about["tasks"].items():
            print(f"  {task}: {_measures(figures(summary))}, {summary['queries']:,} queries, {summary['rounds']} rounds")


def _train_on_judgements(
    recipe: LtrRecipe,
    files: tuple[Path, ...],
    feedback: bool,
    library: Library,
    sets: tuple[Path, ...],
    out: Path,
    anyway: bool,
    as_json: bool,
) -> None:
    from citewell.cli.options import tell
    from citewell.cli.progress import TerminalProgress
    from citewell.feedback import Feedback
    from citewell.judgements import read_judgements
    from citewell.train.ltr_judgements import train_on_judgements

    judgements = [*read_judgements(files), *(Feedback(library.folder).records() if feedback else [])]
    with library, TerminalProgress() as bar:
        about = train_on_judgements(recipe, judgements, library, sets, out, anyway, bar)
    if as_json:
        print_json(about)
        return
    tell(about["left_out"])
    tell(f"{task}: {count} judged queries are too few and were left out" for task, count in about["too_few"].items())
    for task, trial in about["tasks"].items():
        print(
            f"{task}: {trial['judged']:,} judged papers ({trial['relevant']:,} relevant) of {trial['queries']:,} queries"
            f" of {trial['drafts']:,} drafts; on held-out queries:"
        )
        print(f"  trained model:   {_measures(trial['before'])}")
        print(f"  corrected model: {_measures(trial['after'])}")
        print(f"  gain in nDCG@10: {trial['gain']:+.3f}, p = {trial['p']:.4f}: {_verdict(trial, task, about['written'])}")
    if about["written"]:
        print(f"{out}, in {about['seconds']:,.0f} seconds; to use it: export CITEWELL_MODELS={out.resolve().parent}")
    else:
        print("Nothing was written: the trained model stays in use. Judge more suggestions, or write it with --anyway.")


def _verdict(trial: dict[str, Any], task: str, written: list[str]) -> str:
    if trial["better"]:
        return "better, written"
    return "not significantly better, written because of --anyway" if task in written else "not significantly better"


def _train_words(recipe: WordsRecipe, sets: tuple[Path, ...], out: Path, as_json: bool) -> None:
    from citewell.cli.progress import TerminalProgress
    from citewell.train.words import train

    with TerminalProgress() as bar:
        about = train(recipe, sets, out, bar)
    if as_json:
        print_json(about)
    else:
        print(
            f"{recipe.name}: {out}, {about['words']:,} words from {about['texts']:,} texts in {about['seconds']:,.0f} seconds"
        )


def _train_claims(recipe: ClaimsRecipe, sets: tuple[Path, ...], out: Path, as_json: bool) -> None:
    from citewell.cli.progress import TerminalProgress
    from citewell.train.claims import train

    with TerminalProgress() as bar:
        about = train(recipe, sets, out, bar)
    _print_dev(about, as_json)


def _train_transitions(recipe: TransitionsRecipe, sets: tuple[Path, ...], out: Path, as_json: bool) -> None:
    from citewell.cli.progress import TerminalProgress
    from citewell.train.transitions import train

    with TerminalProgress() as bar:
        about = train(recipe, sets, out, bar)
    _print_dev(about, as_json)


def _measures(values: dict[str, float]) -> str:
    return ", ".join(f"{measure} {value:.3f}" for measure, value in values.items())
