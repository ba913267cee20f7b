"""Another package adds to citewell by entry points; one that is broken costs one line and nothing else."""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from citewell import plugins
from citewell.errors import CitewellError
from citewell.sources import find_reader, reader, reader_names, readers
from citewell.sources.registry import priority

ROOT = Path(__file__).parents[2]
PACKAGE = Path(__file__).parent / "package"
TABLE = "#titles\nCounting boats in the harbour\t2015\n\t2016\nTides move the boats\t2019\n"
BIB = "@article{holt2015, title = {Counting boats}, author = {Holt, Mira}, year = 2015}\n"


def citewell(*arguments: object, path: Path, library: Path) -> subprocess.CompletedProcess[str]:
    """Run a command with the packages in the folder `path` installed."""
    settings = {
        "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), str(path), os.environ.get("PYTHONPATH")))),
        "CITEWELL_BACKGROUND": "off",
    }
    command = [sys.executable, "-m", "citewell", *map(str, arguments), "--library", str(library)]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | settings, timeout=120)


def install(folder: Path, name: str, module: str, entry_points: str) -> Path:
    """Put a package of one module and its entry points into `folder`."""
    metadata = folder / f"{name}-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(entry_points)
    (folder / f"{name}.py").write_text(module)
    return folder


def test_add_uses_the_reader_of_another_package(tmp_path: Path) -> None:
    table = tmp_path / "papers.txt"
    table.write_text(TABLE)
    added = citewell("add", table, "--json", path=PACKAGE, library=tmp_path / "library")
    assert added.returncode == 0, added.stderr
    assert '"papers":2,"new_papers":2' in added.stdout
    assert '"line":3,"reason":"no title"' in added.stdout
    without = citewell("add", table, path=tmp_path, library=tmp_path / "library")
    assert without.returncode == 1
    assert "no format that citewell reads" in without.stderr


def test_suggest_uses_the_stage_and_the_pipeline_of_another_package(tmp_path: Path) -> None:
    table, library = tmp_path / "papers.txt", tmp_path / "library"
    table.write_text(TABLE)
    citewell("add", table, path=PACKAGE, library=library)

    def titles(*options: object) -> list[str]:
        command = ("suggest", "--title", "anything", "--pipeline", "newest", "--json", *options)
        suggested = citewell(*command, path=PACKAGE, library=library)
        assert suggested.returncode == 0, suggested.stderr
        return [each["title"] for each in json.loads(suggested.stdout)["suggestions"]]

    assert titles() == ["Tides move the boats", "Counting boats in the harbour"]
    assert titles("--before", 2018) == ["Counting boats in the harbour"], "the stage knows nothing of filters"


@pytest.mark.parametrize("value", ["not_there_at_all", "frail:PIPELINES"])
def test_broken_pipelines_of_a_package_cost_one_line(value: str, tmp_path: Path) -> None:
    folder = install(tmp_path / "site", "frail", "PIPELINES = {'x': 3}\n", f"[citewell.pipelines]\nfrail = {value}\n")
    (tmp_path / "refs.bib").write_text(BIB)
    citewell("add", tmp_path / "refs.bib", path=folder, library=tmp_path / "library")
    suggested = citewell("suggest", "--title", "boats", "--pipeline", "bm25", path=folder, library=tmp_path / "library")
    assert suggested.returncode == 0 and "Counting boats" in suggested.stdout
    (line,) = suggested.stderr.splitlines()
    assert "frail" in line


BROKEN = {
    "missing module": ("", "[citewell.readers]\nbroken = not_there_at_all\n", "No module named 'not_there_at_all'"),
    "error on import": ("1 / 0\n", "[citewell.readers]\nbroken = frail\n", "ZeroDivisionError"),
    "no reader": ("NAME = 'x'\n", "[citewell.readers]\nbroken = frail\n", "no function matches or read"),
    "no such object": ("", "[citewell.readers]\nbroken = frail:Reader\n", "has no attribute 'Reader'"),
    "odd priority": (
        "PRIORITY = 'high'\ndef matches(head): return True\ndef read(source): return iter(())\n",
        "[citewell.readers]\nbroken = frail\n",
        "PRIORITY of frail is not an integer",
    ),
    "fails to match": (
        "PRIORITY = 999\ndef matches(head): raise KeyError('head')\ndef read(source): return iter(())\n",
        "[citewell.readers]\nbroken = frail\n",
        "KeyError: 'head'",
    ),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_reader_costs_one_line_that_names_it(kind: str, tmp_path: Path) -> None:
    module, entry_points, reason = BROKEN[kind]
    folder = install(tmp_path / "site", "frail", module, entry_points)
    (tmp_path / "refs.bib").write_text(BIB)
    added = citewell("add", tmp_path / "refs.bib", path=folder, library=tmp_path / "library")
    assert added.returncode == 0, added.stderr
    assert "1 papers read" in added.stdout
    (line,) = added.stderr.splitlines()
    assert line.startswith("citewell: the reader 'broken' of the package frail does not work (")
    assert reason in line
    assert line.endswith("update or uninstall frail")


def test_a_reader_that_fails_in_a_file_skips_the_file(tmp_path: Path) -> None:
    module = "PRIORITY = 999\ndef matches(head): return head.startswith(b'#frail')\ndef read(source):\n    yield 1 / 0\n"
    folder = install(tmp_path / "site", "frail", module, "[citewell.readers]\nbroken = frail\n")
    (tmp_path / "a.txt").write_text("#frail\n")
    (tmp_path / "refs.bib").write_text(BIB)
    added = citewell("add", tmp_path / "a.txt", tmp_path / "refs.bib", path=folder, library=tmp_path / "library")
    assert added.returncode == 0, added.stderr
    assert "1 papers read" in added.stdout
    (line,) = added.stderr.splitlines()
    assert "skipped" in line and "the reader 'broken' of the package frail does not work (ZeroDivisionError" in line


def test_a_higher_priority_takes_a_file_from_another_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = "PRIORITY = {}\nNAME = 'mine'\ndef matches(head): return True\ndef read(source): return iter(())\n"
    for package, number in (("eager", 999), ("modest", 0)):
        install(tmp_path, package, module.format(number), f"[citewell.readers]\n{package} = {package}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    names = reader_names()
    assert names[0] == "eager" and names[-2:] == ["modest", "table"]
    chosen = find_reader(BIB.encode())
    assert chosen is not None and chosen.NAME == "mine" and priority(chosen) == 999


def test_a_package_cannot_replace_a_reader_of_citewell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "impostor", "", "[citewell.readers]\nbibtex = impostor\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert plugins.plugins("citewell.readers")["bibtex"].own
    assert find_reader(BIB.encode()) is reader("bibtex")


def test_readers_have_a_fixed_order() -> None:
    names = [name for name in reader_names() if plugins.plugins("citewell.readers")[name].own]
    assert names == [
        *("zotero", "jats", "acl_anthology", "arxiv_atom", "arxiv_oai", "dblp", "endnote_xml", "mods", "pubmed", "zotero_rdf"),
        *("openalex", "semantic_scholar", "arxiv_snapshot", "citewell_jsonl", "csl_json"),
        *("citation_cff", "endnote_tagged", "scopus", "web_of_science", "zotero_csv", "ris", "bibtex", "table"),
    ]
    own = [each for each in readers() if each.__class__.__name__ == "module"]
    assert all(priority(each) > 0 for each in own[:-1]), "only the reader of tables comes after those of other packages"


def test_entry_points_are_those_that_importlib_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "# a comment\n[console_scripts]\nx = y:z\n\n[citewell.readers]\none = a.b:c.d\ntwo=a.b [extra]\n"
    text += "[citewell.stages]\nthree = q\n"
    install(tmp_path / "1", "many_things", "", text)
    install(tmp_path / "2", "many_things", "", "[citewell.readers]\nolder = a\n")
    install(tmp_path / "2", "other.Thing", "", "[citewell.readers]\nfour = a:b\n")
    for folder in ("2", "1"):
        monkeypatch.syspath_prepend(str(tmp_path / folder))
    for group in ("citewell.readers", "citewell.stages"):
        expected = {
            (each.name, each.value, each.dist.name.replace("_", "-").replace(".", "-").lower())
            for each in importlib.metadata.entry_points(group=group)
            if each.dist is not None and each.dist.name != "citewell"
        }
        assert {(each.name, each.value, each.package) for each in plugins.plugins(group).values() if not each.own} == expected


def test_an_error_of_ours_is_not_called_a_plugin_error() -> None:
    with pytest.raises(ModuleNotFoundError):
        plugins.Plugin("citewell.readers", "gone", "citewell.sources.gone", "citewell").load()
    with pytest.raises(CitewellError, match="the stage 'gone' of the package elsewhere does not work"):
        plugins.Plugin("citewell.stages", "gone", "elsewhere.gone", "elsewhere").load()


def test_help_imports_no_reader() -> None:
    program = "import sys; from citewell.cli.main import cli; cli(['--help'], standalone_mode=False); print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, timeout=60, check=True)
    modules = set(run.stdout.split())
    assert not modules & {plugin.value for plugin in plugins.plugins("citewell.readers").values()}
    assert not modules & {"lxml", "importlib.metadata"}
