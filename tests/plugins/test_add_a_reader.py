"""docs/guides/add-a-reader.md, followed literally: all its code runs, in a copy of the checkout and as a package."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "guides" / "add-a-reader.md").read_text("utf-8")
SNIPPETS = dict(re.findall(r'```\w+ title="([^"]+)"\n(.*?)```', GUIDE, re.DOTALL))
READER = "citewell/sources/title_table.py"


def run(command: list[str], folder: Path, *path: Path) -> str:
    settings = {
        "PYTHONPATH": os.pathsep.join(map(str, path)),
        "PATH": os.pathsep.join((str(folder / "bin"), os.environ["PATH"])),
        "CITEWELL_LIBRARY": str(folder / "library"),
        "CITEWELL_BACKGROUND": "off",
    }
    done = subprocess.run(command, cwd=folder, env=os.environ | settings, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def commands(tmp_path: Path) -> str:
    """The shell snippet, and a `citewell` for it to call."""
    program = tmp_path / "bin" / "citewell"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m citewell "$@"\n')
    program.chmod(0o755)
    (snippet,) = re.findall(r"```sh\n(.*?)```", GUIDE, re.DOTALL)
    return f"set -e\n{snippet}"


def checkout(folder: Path) -> Path:
    """A copy of the checkout in which files can be added; the other files are links."""
    package = folder / "checkout" / "citewell"
    package.mkdir(parents=True)
    for path in (ROOT / "citewell").iterdir():
        if path.name == "sources":
            shutil.copytree(path, package / path.name, ignore=shutil.ignore_patterns("__pycache__"))
        elif path.name != "__pycache__":
            (package / path.name).symlink_to(path)
    shutil.copy(ROOT / "pyproject.toml", package.parent)
    return package.parent


def test_a_reader_in_citewell(tmp_path: Path, commands: str) -> None:
    root = checkout(tmp_path)
    (root / READER).write_text(SNIPPETS[READER])
    header, line = SNIPPETS["pyproject.toml"].strip().split("\n")
    project = root / "pyproject.toml"
    assert project.read_text().count(f"\n{header}\n") == 1
    project.write_text(project.read_text().replace(header, f"{header}\n{line}"))
    printed = run(["sh", "-c", commands], tmp_path, root)
    assert "Counting boats in the harbour" in printed and "Tides move the boats" in printed
    test = tmp_path / "test_title_table.py"
    test.write_text(SNIPPETS[f"tests/sources/{test.name}"])
    assert "1 passed" in run([sys.executable, "-P", "-m", "pytest", "-q", "-n0", str(test)], tmp_path, root)


def test_a_reader_in_a_package_of_its_own(tmp_path: Path, commands: str) -> None:
    pytest.importorskip("setuptools", reason="building a package without a network needs setuptools")
    package = tmp_path / "citewell-title-table"
    package.mkdir()
    (package / "citewell_title_table.py").write_text(SNIPPETS[READER])
    (package / "pyproject.toml").write_text(SNIPPETS["citewell-title-table/pyproject.toml"])
    site = tmp_path / "site"
    offline = ["--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check"]
    run([sys.executable, "-m", "pip", "install", *offline, "--target", str(site), str(package)], tmp_path)
    printed = run(["sh", "-c", commands], tmp_path, ROOT, site)
    assert "Counting boats in the harbour" in printed and "Tides move the boats" in printed
