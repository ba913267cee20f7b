"""``citewell models``: trained models outside the package: which are installed, and archives of them."""

from __future__ import annotations

from pathlib import Path

import click

from citewell.cli.options import json_option, print_json
from citewell.evaluate import studies
from citewell.models import archives
from citewell.models.weights import model_folders

_ARCHIVE = click.Path(exists=True, dir_okay=False, path_type=Path)
_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


@click.group("models")
def command() -> None:
    """List, install and pack trained models.

    Models are folders with a card, in one of the folders of $CITEWELL_MODELS or in your data folder. The models that ship with
    citewell are not listed.
    """


def _what(folder: Path) -> str:
    """What the card of a model says that it is."""
    return str((archives.card_of(folder) or {}).get("what", "no card"))


@command.command("list")
@json_option
def list_models(as_json: bool) -> None:
    """List the installed models and what they are."""
    found: dict[str, dict[str, str]] = {}
    for folder in model_folders():
        for model in archives.models_in(folder) if folder.is_dir() else []:
            found.setdefault(model.name, {"folder": str(model), "what": _what(model)})
    if as_json:
        print_json(found)
        return
    for name, about in found.items():
        click.echo(f"{name}  {about['what']}  ({about['folder']})")
    if not found:
        click.echo(f"No models are installed. They go into {model_folders()[0]}.")


@command.command("install")
@click.argument("archive", type=_ARCHIVE)
@click.option(
    "--into",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="The folder for the models (default: the first of $CITEWELL_MODELS, else your data folder).",
)
@click.option("--replace", is_flag=True, help="Replace models of the same name.")
@json_option
def install(archive: Path, into: Path | None, replace: bool, as_json: bool) -> None:
    """Install the models of ARCHIVE, after verifying their checksums. Models that you have are kept.

    \b
        citewell models install weights/medic2023.tar.gz
    """
    target = into or model_folders()[0]
    folders = archives.unpack(archive, target, replace)
    kept = sorted(set(archives.read_manifest(archive).models) - {folder.name for folder in folders})
    if as_json:
        print_json({"installed": list(map(str, folders)), "kept": kept})
        return
    for folder in folders:
        click.echo(f"{folder}  {_what(folder)}")
    if kept:
        click.echo(f"Kept as they are: {', '.join(kept)}. Use --replace to install these too.", err=True)
    if target not in model_folders():
        click.echo(f"Set CITEWELL_MODELS={target} to use them.", err=True)


@command.command("pack")
@click.argument("folder", type=_FOLDER)
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), required=True, metavar="FILE", help="The archive.")
@click.option("--only", multiple=True, metavar="NAME", help="Only the model of this name (repeatable).")
@click.option("--study", type=click.Choice(studies.names()), help="Only the models that rows of this study need.")
@json_option
def pack(folder: Path, out: Path, only: tuple[str, ...], study: str | None, as_json: bool) -> None:
    """Pack the models in FOLDER, one folder for each, into an archive. Every model must have a card.

    \b
        citewell models pack models --study medic2023 --out medic2023.tar.gz
    """
    folders = [path for path in archives.models_in(folder) if not only or path.name in only]
    if unknown := sorted(set(only) - {path.name for path in folders}):
        raise click.UsageError(f"{folder} has no model {unknown[0]!r}")
    if study:
        from citewell.train.study_models import weights_of

        needed = weights_of(studies.load(study))
        folders = [path for path in folders if path.name in needed]
        if not folders:
            raise click.UsageError(f"{folder} has no model that rows of {study} need")
    manifest = archives.pack(folders, out)
    if as_json:
        print_json({"archive": str(out), "bytes": out.stat().st_size, "models": list(manifest.models)})
    else:
        click.echo(f"{out}: {out.stat().st_size:,} bytes, {', '.join(manifest.models)}")
