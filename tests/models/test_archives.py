"""Archives of models: the same models give the same bytes, checksums are verified, and a model without a card is refused."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from citewell.cli.models import command
from citewell.errors import CitewellError
from citewell.models import archives
from citewell.models.weights import folder

ROOT = Path(__file__).parents[2]
CARD = {"what": "a tiny model", "recipe": {"name": "tiny"}, "sets": ["small"], "dev": {}, "licence": "Apache-2.0"}


@pytest.fixture
def models(tmp_path: Path) -> Path:
    for name in ("tiny", "other"):
        (tmp_path / "models" / name / "weights").mkdir(parents=True)
        (tmp_path / "models" / name / "card.json").write_text(json.dumps({**CARD, "what": name}))
        (tmp_path / "models" / name / "model.onnx").write_bytes(name.encode() * 1000)
        (tmp_path / "models" / name / "training.lock").touch()
        (tmp_path / "models" / name / "weights" / "checkpoint.pt").write_bytes(b"large")
    return tmp_path / "models"


def pack(models: Path, archive: Path) -> bytes:
    archives.pack(archives.models_in(models), archive)
    return archive.read_bytes()


def test_an_archive_is_the_same_whenever_it_is_made(models: Path, tmp_path: Path) -> None:
    first = pack(models, tmp_path / "first.tar.gz")
    os.utime(models / "tiny" / "model.onnx", (0, 0))
    assert pack(models, tmp_path / "second.tar.gz") == first


def test_installed_models_are_found_by_name(models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = tmp_path / "weights.tar.gz"
    runner = CliRunner()
    assert runner.invoke(command, ["pack", str(models), "--out", str(archive)]).exit_code == 0
    monkeypatch.setenv("CITEWELL_MODELS", os.pathsep.join([str(tmp_path / "here"), str(tmp_path / "there")]))
    assert runner.invoke(command, ["install", str(archive)], catch_exceptions=False).exit_code == 0
    assert folder("tiny") == tmp_path / "here" / "tiny"
    assert sorted(path.name for path in folder("tiny").iterdir()) == ["card.json", "model.onnx"]
    assert (folder("tiny") / "model.onnx").read_bytes() == b"tiny" * 1000
    again = runner.invoke(command, ["install", str(archive)])
    assert again.exit_code == 1 and "--replace" in str(again.exception)
    (folder("tiny") / "model.onnx").write_bytes(b"my own")
    shutil.rmtree(folder("other"))
    some = runner.invoke(command, ["install", str(archive), "--json"], catch_exceptions=False)
    assert json.loads(some.stdout) == {"installed": [str(tmp_path / "here" / "other")], "kept": ["tiny"]}
    assert (folder("tiny") / "model.onnx").read_bytes() == b"my own"
    assert runner.invoke(command, ["install", str(archive), "--replace"]).exit_code == 0
    assert json.loads(runner.invoke(command, ["list", "--json"]).stdout)["other"]["what"] == "other"


def test_what_models_share_is_in_the_archive_once(models: Path, tmp_path: Path) -> None:
    shared = os.urandom(100_000)
    for name in ("tiny", "other"):
        (models / name / "words.data").write_bytes(shared)
        (models / name / "1_Pooling").mkdir()
        (models / name / "1_Pooling" / "config.json").write_text("{}")
    assert len(pack(models, tmp_path / "weights.tar.gz")) < 150_000
    for model in archives.unpack(tmp_path / "weights.tar.gz", tmp_path / "here"):
        assert (model / "words.data").read_bytes() == shared
        assert (model / "1_Pooling" / "config.json").read_text() == "{}"
        assert (model / "model.onnx").read_bytes() == model.name.encode() * 1000


def test_a_model_without_a_full_card_is_refused(models: Path, tmp_path: Path) -> None:
    (models / "tiny" / "card.json").write_text(json.dumps({**CARD, "licence": ""}))
    with pytest.raises(CitewellError, match="does not say licence"):
        pack(models, tmp_path / "weights.tar.gz")
    (models / "tiny" / "card.json").unlink()
    with pytest.raises(CitewellError, match=r"tiny has no card\.json"):
        pack(models, tmp_path / "weights.tar.gz")
    assert not (tmp_path / "weights.tar.gz").exists()


def test_a_changed_file_is_found_and_nothing_is_installed(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    described = archives._described

    def wrong(folder: Path) -> archives.PackedModel:
        model = described(folder)
        return archives.PackedModel(model.card, dict.fromkeys(model.files, "0" * 64))

    monkeypatch.setattr(archives, "_described", wrong)
    pack(models, tmp_path / "weights.tar.gz")
    with pytest.raises(CitewellError, match="another checksum"):
        archives.unpack(tmp_path / "weights.tar.gz", tmp_path / "here")
    assert list((tmp_path / "here").iterdir()) == []


@pytest.mark.parametrize("name", ["../evil", "/evil", "below/../../evil"])
def test_a_file_outside_the_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    manifest = archives.Manifest("1", {"tiny": archives.PackedModel(CARD, {name: "0" * 64})})
    monkeypatch.setattr(archives, "read_manifest", lambda archive: manifest)
    with pytest.raises(CitewellError, match="outside the folder of a model"):
        archives.unpack(tmp_path / "weights.tar.gz", tmp_path / "here")


def test_a_damaged_archive_is_one_line(models: Path, tmp_path: Path) -> None:
    whole = pack(models, tmp_path / "weights.tar.gz")
    (tmp_path / "weights.tar.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(CitewellError, match=r"is damaged|is not an archive"):
        archives.unpack(tmp_path / "weights.tar.gz", tmp_path / "here")


def test_every_byte_may_be_damaged(models: Path, tmp_path: Path) -> None:
    archive = tmp_path / "weights.tar.gz"
    whole = pack(models, archive)
    for at in range(len(whole)):
        archive.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        with contextlib.suppress(CitewellError):
            for model in archives.unpack(archive, tmp_path / "here", replace=True):
                assert (model / "model.onnx").read_bytes() == model.name.encode() * 1000


def test_an_archive_for_a_study_has_the_models_of_its_rows(models: Path, tmp_path: Path) -> None:
    (models / "tiny").rename(models / "jpdrmm")
    archive = tmp_path / "aueb2020.tar.gz"
    ran = CliRunner().invoke(
        command, ["pack", str(models), "--study", "aueb2020", "--out", str(archive)], catch_exceptions=False
    )
    assert ran.exit_code == 0 and list(archives.read_manifest(archive).models) == ["jpdrmm"]


def test_archives_of_a_checkout_are_found(models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pack(models, tmp_path / archives.ARCHIVES / "small.tar.gz")
    assert tmp_path / archives.ARCHIVES / "small.tar.gz" in archives.published()


@pytest.mark.parametrize("archive", sorted((ROOT / archives.ARCHIVES).glob("*.tar.gz")), ids=lambda path: path.name)
def test_published_archives_are_those_that_were_packed(archive: Path) -> None:
    from citewell.evaluate import studies
    from citewell.train.study_models import weights_of

    sums = dict(reversed(line.split()) for line in (archive.parent / "SHA256SUMS").read_text().splitlines())
    assert hashlib.sha256(archive.read_bytes()).hexdigest() == sums[archive.name]
    models = archives.read_manifest(archive).models
    assert set(models) <= set(weights_of(studies.load(archive.name.removesuffix(".tar.gz"))))
    assert all(model.card["dev"] for model in models.values())
