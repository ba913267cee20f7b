"""Optional dependencies: commands that lack one say in one line which extra to install."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import citewell
from citewell import extras

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
WITHOUT = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {absent!r}:
            raise ModuleNotFoundError("No module named " + repr(name), name=name)
sys.meta_path.insert(0, Absent())
from citewell import extras
extras.find_spec = lambda name: None if name in {absent!r} else object()
from citewell.cli.main import main
sys.argv = ["citewell", *sys.argv[1:]]
main()
"""
"""A process in which some packages are not installed."""


def run_without(absent: set[str], *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT.format(absent=absent), *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT)


def test_packages_of_extras_are_those_of_the_project() -> None:
    listed = PROJECT["project"]["optional-dependencies"]
    for package, extra in extras.PACKAGES.values():
        assert any(requirement.startswith(package) for requirement in listed[extra]), package
        assert not any(requirement.startswith(package + ">") for requirement in PROJECT["project"]["dependencies"])


@pytest.mark.parametrize(
    "command", [("evaluate", ".", "--task", "local"), ("tune", ".", "--pipeline", "bm25", "--grid", "k1=1", "b=1")]
)
def test_measures_without_their_extra_are_one_line(command: tuple[str, ...]) -> None:
    done = run_without({"ir_measures", "matplotlib", "scipy"}, *command)
    assert done.returncode == 1
    assert done.stderr == "citewell: this needs ir-measures, which is not installed; run: pip install 'citewell[evaluate]'\n"


def test_plots_without_matplotlib_are_one_line_before_any_work() -> None:
    done = run_without({"matplotlib"}, "evaluate", "no-such-set", "--task", "local", "--plots", "plots")
    assert done.returncode == 2 or "run: pip install 'citewell[evaluate]'" in done.stderr
    done = run_without({"matplotlib"}, "evaluate", str(ROOT), "--task", "local", "--plots", "plots")
    assert done.stderr == "citewell: this needs matplotlib, which is not installed; run: pip install 'citewell[evaluate]'\n"


def test_help_and_everything_a_writer_uses_work_without_extras(tiny_file: Path, tmp_path: Path) -> None:
    absent = set(extras.PACKAGES)
    assert "suggest" in run_without(absent, "--help").stdout
    assert "--measure" in run_without(absent, "evaluate", "--help").stdout
    added = run_without(absent, "add", str(tiny_file), "--library", str(tmp_path / "tiny"))
    assert added.returncode == 0, added.stderr
    suggested = run_without(
        absent, "suggest", "--context", "gulls spoil the count", "--library", str(tmp_path / "tiny"), "--json"
    )
    assert suggested.returncode == 0 and "gulls" in suggested.stdout, suggested.stderr


def test_there_is_one_version_number() -> None:
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert PROJECT["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "citewell.__version__"}
    holders = [
        path.relative_to(ROOT).as_posix()
        for path in [*ROOT.glob("*.toml"), *ROOT.glob("*.cff"), *ROOT.glob("citewell/**/*.py")]
        if re.search(rf"version(?:__)?\W+{re.escape(citewell.__version__)}", path.read_text("utf-8"))
    ]
    assert holders == ["citewell/__init__.py"]
