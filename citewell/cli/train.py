"""``citewell train``: make a model by a recipe, of the library's papers or of data sets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from citewell.cli.options import json_option, library_option, print_json
from citewell.errors import CitewellError
from citewell.library.library import Library

if TYPE_CHECKING:
    from citewell.train.recipe import ClaimsRecipe, EvidenceRecipe, FusionRecipe, LibraryRecipe, PackRecipe

_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


@click.command("train")
@click.argument("recipe")
@library_option
@click.option("--set", "sets", multiple=True, type=_FOLDER, metavar="DIR", help="A data set to train on (repeatable).")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), metavar="DIR", help="Where a model of sets goes.")
@click.option(
    "--pack",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Keep the tokenised pairs here; used as they are where the file exists.",
)
@click.option("--pack-only", is_flag=True, help="Stop once the pairs are in --pack, and beside it what the recipe needs more.")
@click.option(
    "--encoder",
    type=_FOLDER,
    metavar="DIR",
    help="The encoder that a static encoder or a cross-encoder learns from; for an encoder, what it starts from.",
)
@click.option("--device", type=click.Choice(["cpu", "cuda"]), help="Where to train; default: a GPU where there is one.")
@json_option
def command(
    recipe: str,
    library: Library,
    sets: tuple[Path, ...],
    out: Path | None,
    pack: Path | None,
    pack_only: bool,
    encoder: Path | None,
    device: str | None,
    as_json: bool,
) -> None:
    """Train a model by RECIPE: the name of one, or a TOML file of your own.

    A model of a library (lda, doc2vec, paper2vec, hyperdoc2vec and others) learns from its papers, citations and contexts, is
    kept in its folder, and serves the pipelines that need it. Papers that are added later have no vector until it is run again.

    A model of data sets (encoder, static, cross-encoder, jpdrmm, semiser, ltr, claims and others) learns from their train
    years, ltr from the questions of their dev years. It goes to --out, a folder that $CITEWELL_MODELS may hold, and serves
    any library.

    Killed, the same command goes on where it was. An unknown RECIPE lists those that there are. All but HyperDoc2Vec need:
    pip install 'citewell[train,dense]'

    \b
        citewell train hyperdoc2vec --library my-papers
        citewell train encoder --set data/cs --set data/elife --out models/mine
        citewell train static --encoder models/mine --set data/cs --set data/elife --out models/mine-static
        citewell train ltr --set my-set --out models/ltr
    """
    from citewell.train.recipe import ClaimsRecipe, EvidenceRecipe, FusionRecipe, LibraryRecipe, load_recipe

    chosen = load_recipe(recipe)
    given = {"--set": sets, "--out": out, "--pack": pack, "--pack-only": pack_only, "--encoder": encoder, "--device": device}
    if isinstance(chosen, LibraryRecipe):
        _refuse(given, f"the recipe {recipe!r} learns from a library")
        _of_library(chosen, library, as_json)
    elif isinstance(chosen, FusionRecipe | ClaimsRecipe):
        _refuse({name: given[name] for name in given if name not in ("--set", "--out")}, f"the recipe {recipe!r} needs no pack")
        if isinstance(chosen, FusionRecipe):
            _fusion(chosen, sets, _required(out), as_json)
        else:
            _claims(chosen, sets, _required(out), as_json)
    elif isinstance(chosen, EvidenceRecipe):
        _refuse({name: given[name] for name in ("--pack-only", "--encoder")}, f"the recipe {recipe!r} learns words, not tokens")
        _of_evidence(chosen, sets, _required(out), pack, device or "", as_json)
    elif pack_only:
        _pack_only(chosen, sets, pack, encoder, as_json)
    else:
        _of_sets(chosen, sets, _required(out), pack, encoder, device or "", as_json)


def _refuse(given: dict[str, Any], why: str) -> None:
    if used := [name for name, value in given.items() if value]:
        raise CitewellError(f"{why}; leave {used[0]} out")


def _required(out: Path | None) -> Path:
    if out is None:
        raise CitewellError("say where the model shall go: --out DIR")
    return out


def _of_library(recipe: LibraryRecipe, library: Library, as_json: bool) -> None:
    from citewell.cli.progress import Bar
    from citewell.train.training import train

    with library, Bar() as bar:
        about = train(library, recipe, bar)
    if as_json:
        print_json(about)
    else:
        print(
            f"{recipe.name}: {about['papers']:,} papers, {about['words']:,} words and {about['contexts']:,} contexts"
            f" in {about['seconds']:,.0f} seconds"
        )


def _pack_only(recipe: PackRecipe, sets: tuple[Path, ...], pack: Path | None, encoder: Path | None, as_json: bool) -> None:
    from citewell.cli.progress import Bar
    from citewell.train import sidecars as companions
    from citewell.train.from_sets import pack_figures, packed_at

    if pack is None:
        raise CitewellError("say where the pairs shall go: --pack FILE")
    with Bar() as bar:
        packed = packed_at(pack, recipe, sets, encoder, bar)
        beside = companions.make(packed, sets, msgspec.to_builtins(recipe), bar, bar) if sets else []
        about = {**pack_figures(packed), "beside": list(map(str, beside))}
    if as_json:
        print_json(about)
    else:
        pairs = sum(count for tasks in about["pairs"].values() for count in tasks.values())
        print(f"{pack}: {pairs:,} pairs, {about['papers']:,} papers, {about['tokens']:,} tokens, {about['bytes']:,} bytes")
        for path in about["beside"]:
            print(f"{path}, which belongs to it")


def _of_sets(
    recipe: PackRecipe,
    sets: tuple[Path, ...],
    out: Path,
    pack: Path | None,
    encoder: Path | None,
    device: str,
    as_json: bool,
) -> None:
    from citewell.cli.progress import Bar
    from citewell.train.from_sets import train

    with Bar() as bar:
        about = train(recipe, sets, out, pack, encoder, device, bar)
    _print_dev(about, as_json)


def _of_evidence(
    recipe: EvidenceRecipe, sets: tuple[Path, ...], out: Path, pack: Path | None, device: str, as_json: bool
) -> None:
    from citewell.cli.progress import Bar
    from citewell.train.from_evidence import train

    with Bar() as bar:
        about = train(recipe, sets, out, pack, device, bar, bar, bar)
    _print_dev(about, as_json)


def _print_dev(about: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(about)
    else:
        print(f"{about['recipe']}: {about['out']}, in {about['seconds']:,.0f} seconds; on dev:")
        for name, measured in about["dev"].items():
            print(f"  {name}: {_said(measured)}")


def _fusion(recipe: FusionRecipe, sets: tuple[Path, ...], out: Path, as_json: bool) -> None:
    from citewell.cli.progress import Bar
    from citewell.train.ltr_data import figures, train

    with Bar() as bar:
        about = train(recipe, sets, out, bar, bar)
    if as_json:
        print_json(about)
    else:
        print(f"{recipe.name}: {out}, in {about['seconds']:,.0f} seconds; on questions that were held back:")
        for task, found in about["tasks"].items():
            print(f"  {task}: {_said(figures(found))}, of {found['questions']:,} questions, {found['rounds']} rounds")


def _claims(recipe: ClaimsRecipe, sets: tuple[Path, ...], out: Path, as_json: bool) -> None:
    from citewell.cli.progress import Bar
    from citewell.train.claims import train

    with Bar() as bar:
        about = train(recipe, sets, out, bar)
    _print_dev(about, as_json)


def _said(measured: dict[str, float]) -> str:
    return ", ".join(f"{measure} {value:.3f}" for measure, value in measured.items())
