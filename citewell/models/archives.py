"""Archives of trained models, for release outside the wheel: a manifest with checksums, then the files of each model.

The same models give the same bytes: files are in order and have neither owner nor time. A file that several models have, such
as a tokeniser or a table of words, is in the archive once. `unpack` verifies every checksum before a model appears in its
folder, so a model is complete or absent.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import shutil
import tarfile
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from citewell import __version__
from citewell.errors import CitewellError
from citewell.files import replaced

CARD, MANIFEST = "card.json", "manifest.json"
ARCHIVES = "weights"
"""The folder of a checkout with the archives that are published."""
NEEDED = ("what", "recipe", "sets", "licence")
"""What a card must say."""
_LEFT_OUT = (".lock", ".part", ".pt", ".training")
"""Ends of files that only a training needs."""
_CHUNK = 1 << 20
_DAMAGE = (OSError, EOFError, tarfile.TarError, zlib.error, UnicodeDecodeError)
"""What reading a file raises that is no archive, or a damaged one."""


class PackedModel(msgspec.Struct):
    """One model of an archive."""

    card: dict[str, Any]
    files: dict[str, str]
    """File to its SHA-256 in hexadecimal digits."""


class Manifest(msgspec.Struct):
    """The content of an archive."""

    citewell: str
    """The version that packed it."""
    models: dict[str, PackedModel]


def pack(folders: Sequence[Path], archive: Path) -> Manifest:
    """Pack the models in these folders into an archive."""
    models = {folder.name: _described(folder) for folder in sorted(folders, key=lambda folder: folder.name)}
    if not models:
        raise CitewellError("there is no model to pack; name a folder with one folder for each model")
    if len(models) < len(folders):
        raise CitewellError("two models have the same name; pack them into different archives")
    manifest = Manifest(__version__, models)
    places = {folder.name: folder for folder in folders}
    archive.parent.mkdir(parents=True, exist_ok=True)
    with (
        replaced(archive) as temporary,
        temporary.open("wb") as raw,
        gzip.GzipFile("", "wb", 6, raw, mtime=0) as compressed,
        tarfile.open(fileobj=compressed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        _add(tar, MANIFEST, io.BytesIO(msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n"))
        for name, file in (paths[0] for paths in _paths_by_content(manifest).values()):
            with (places[name] / file).open("rb") as content:
                _add(tar, f"{name}/{file}", content)
    return manifest


def _paths_by_content(manifest: Manifest) -> dict[str, list[tuple[str, str]]]:
    """Checksum to the places with that content, as model and file."""
    paths: dict[str, list[tuple[str, str]]] = {}
    for name, model in manifest.models.items():
        for file, digest in model.files.items():
            paths.setdefault(digest, []).append((name, file))
    return paths


def models_in(folder: Path) -> list[Path]:
    """The folders of the models in a folder: those with a card, or with files that should have one."""
    return sorted(path for path in folder.iterdir() if path.is_dir() and _files(path))


def card_of(folder: Path) -> dict[str, Any] | None:
    """The card of a model; None if it has no readable one."""
    try:
        return msgspec.json.decode((folder / CARD).read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.DecodeError):
        return None


def read_manifest(archive: Path) -> Manifest:
    """The manifest of an archive, which is its first member."""
    try:
        with tarfile.open(archive, "r:gz") as tar:
            first = tar.next()
            content = tar.extractfile(first) if first and first.name == MANIFEST else None
            if content is None:
                raise CitewellError(f"{archive} is not an archive of models: it does not start with {MANIFEST}")
            return msgspec.json.decode(content.read(), type=Manifest)
    except (*_DAMAGE, msgspec.DecodeError) as error:
        raise CitewellError(f"{archive} is not an archive of models: {error}") from None


def published() -> list[Path]:
    """The archives of a checkout of citewell: in the folder ``weights`` of the working directory, or next to the package."""
    folders = dict.fromkeys(path.resolve() for path in (Path(ARCHIVES), Path(__file__).parents[2] / ARCHIVES))
    return [archive for folder in folders for archive in sorted(folder.glob("*.tar.gz"))]


def unpack(archive: Path, target: Path, replace: bool = False) -> list[Path]:
    """Install the models of an archive into `target`, one folder for each; returns the folders.

    Models of the same name that are there stay as they are, unless `replace` is true.
    """
    manifest = read_manifest(archive)
    _check_names(archive, manifest)
    new = [name for name in manifest.models if replace or not (target / name).exists()]
    if not new:
        raise CitewellError(f"{target} has all models of {archive} already; use --replace, or another folder with --into")
    target.mkdir(parents=True, exist_ok=True)
    unpacked = target / f".{archive.name}.part"
    shutil.rmtree(unpacked, ignore_errors=True)
    try:
        _extract(archive, manifest, unpacked)
        for name in new:
            shutil.rmtree(target / name, ignore_errors=True)
            (unpacked / name).rename(target / name)
    finally:
        shutil.rmtree(unpacked, ignore_errors=True)
    return [target / name for name in new]


def _extract(archive: Path, manifest: Manifest, folder: Path) -> None:
    """Write the files that the manifest lists, and compare their checksums."""
    left = {f"{paths[0][0]}/{paths[0][1]}": (digest, paths) for digest, paths in _paths_by_content(manifest).items()}
    try:
        with tarfile.open(archive, "r:gz") as tar:
            for member in tar:
                content = tar.extractfile(member) if member.name in left else None
                if content is None:
                    continue
                digest, paths = left.pop(member.name)
                first, *others = (folder / name / file for name, file in paths)
                first.parent.mkdir(parents=True, exist_ok=True)
                with first.open("wb") as file:
                    shutil.copyfileobj(content, file, _CHUNK)
                if _sha256(first) != digest:
                    raise CitewellError(f"{archive} is damaged: {member.name} has another checksum; download it again")
                for path in others:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    _link(first, path)
    except _DAMAGE as error:
        raise CitewellError(f"{archive} is damaged ({error}); download it again") from None
    if left:
        raise CitewellError(f"{archive} is damaged: {next(iter(left))} is missing; download it again")


def _link(source: Path, path: Path) -> None:
    """The same file under another name, or a copy where the file system has no links."""
    try:
        path.hardlink_to(source)
    except OSError:
        shutil.copyfile(source, path)


def _check_names(archive: Path, manifest: Manifest) -> None:
    """Raise if the manifest names a file outside the folder of its model."""
    for name, model in manifest.models.items():
        for file in (name, *model.files):
            path = PurePosixPath(file)
            if path.is_absolute() or ".." in path.parts or (file == name and len(path.parts) != 1) or not path.parts:
                raise CitewellError(f"{archive} names the file {file!r}, which is outside the folder of a model; do not use it")


def _described(folder: Path) -> PackedModel:
    """A model with its card and checksums."""
    card = card_of(folder)
    if card is None:
        raise CitewellError(f"{folder} has no {CARD}, which says what the model is, its recipe, data, figures and licence")
    if missing := [name for name in NEEDED if not card.get(name)]:
        raise CitewellError(f"{folder / CARD} does not say {', '.join(missing)}; train the model again, or add it to the card")
    return PackedModel(card, {file: _sha256(folder / file) for file in _files(folder)})


def _files(folder: Path) -> list[str]:
    """The files that serve a model: those of the folder itself and of ``1_Pooling``, without what only training needs."""
    found: Iterable[Path] = (*folder.iterdir(), *(folder / "1_Pooling").glob("*"))
    served = [path for path in found if path.is_file() and path.suffix not in _LEFT_OUT and not path.name.startswith(".")]
    return sorted(path.relative_to(folder).as_posix() for path in served)


def _add(tar: tarfile.TarFile, name: str, content: Any) -> None:
    """Add a file without owner and time."""
    info = tarfile.TarInfo(name)
    info.size = content.seek(0, io.SEEK_END)
    content.seek(0)
    info.mode = 0o644
    tar.addfile(info, content)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
