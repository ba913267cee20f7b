"""``citewell check`` for a person, a hook and a CI job."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from citewell.cli.main import cli
from citewell.library import Library

TEX = r"""\documentclass{article}
\begin{document}
\title{Counting boats}
\section{Introduction}
\input{chapters/one, with comma}
We count boats~\cite{harbour,nobody}.
\bibliography{refs}
\end{document}
"""
CLAIM = "Previous studies have shown that gulls are often mistaken for boats, and can be told apart by their wings."
BIB = """@article{harbour, title = {Counting boats in the harbour}, author = {Holt, Mira}, year = {2015}}
@article{unused, title = {100% of piers}, author = {Nobody, N.}, year = {2001}}
"""


@pytest.fixture
def paper(tmp_path: Path) -> Path:
    (tmp_path / "chapters").mkdir()
    (tmp_path / "chapters" / "one, with comma.tex").write_text(f"We begin.\n{CLAIM}\nWe go on.\n\n")
    (tmp_path / "refs.bib").write_text(BIB)
    (tmp_path / "paper.tex").write_text(TEX)
    return tmp_path / "paper.tex"


def check(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["check", *map(str, arguments)])


def test_people_read_where_what_and_what_to_cite(paper: Path, tiny: Library) -> None:
    done = check(paper, "--library", tiny.folder)
    assert done.exit_code == 1
    lines = done.stdout.splitlines()
    assert lines[0] == str(paper) and lines[1].startswith("  Title: ") and "bibliography entr" in lines[4]
    assert lines[5].startswith(
        f"{paper.parent / 'chapters' / 'one, with comma.tex'}:2: warning: this sentence needs a citation"
    )
    assert any("1. Gulls as a source of error" in line for line in lines)
    assert any("'nobody'" in line and "[missing-key]" in line for line in lines)
    assert lines[-1] == "1 error, 1 warning, 1 note"


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ([], 1),
        (["--fail-on", "error"], 1),
        (["--only", "never-cited"], 0),
        (["--only", "never-cited", "--fail-on", "note"], 1),
        (["--only", "uncited-claim", "--fail-on", "error"], 0),
        (["--only", "duplicate-entry"], 0),
        (["--fail-on", "never"], 0),
        (["--only", "uncited-claim", "--threshold", "1"], 0),
        (["--threshold", "2"], 2),
        (["--only", "nonsense"], 2),
        (["--library", "nowhere"], 2),
        (["--pipeline", "nonsense"], 2),
    ],
)
def test_the_exit_status(paper: Path, tiny: Library, given: list[str], status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CITEWELL_LIBRARY", str(tiny.folder))
    assert check(paper, *given).exit_code == status


def test_a_file_that_is_not_a_draft_is_an_error_not_a_finding(tmp_path: Path, tiny: Library) -> None:
    (tmp_path / "empty.tex").write_text("")
    done = check(tmp_path / "empty.tex", "--library", tiny.folder)
    assert done.exit_code == 2
    assert "is empty" in done.stderr
    assert check(tmp_path / "absent.tex").exit_code == 2


def test_without_a_library_the_rest_is_checked_with_a_warning(paper: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CITEWELL_LIBRARY", str(paper.parent / "no-library"))
    done = check(paper, "--json")
    assert "no papers are suggested" in done.stderr
    assert json.loads(done.stdout)["counts"] == {
        "uncited-claim": 1, "missing-key": 1, "duplicate-entry": 0, "disagrees": 0, "never-cited": 1,
    }  # fmt: skip


def test_json(paper: Path, tiny: Library) -> None:
    done = check(paper, "--library", tiny.folder, "--json", "-k", "1")
    claim, missing, unused = json.loads(done.stdout)["findings"]
    text = Path(claim["file"]).read_text()
    assert text[claim["begin"] : claim["end"]] == CLAIM
    assert [each["title"] for each in claim["suggestions"]] == ["Gulls as a source of error"]
    assert {"rank", "id", "authors", "year", "score", "reasons"} <= set(claim["suggestions"][0])
    assert (missing["key"], missing["line"], missing["level"]) == ("nobody", 6, "error")
    assert (unused["key"], unused["line"], Path(unused["file"]).name) == ("unused", 2, "refs.bib")
    several = json.loads(check(paper, paper, "--library", tiny.folder, "--json", "--no-suggestions").stdout)
    assert [len(each["findings"]) for each in several] == [3, 3]
    assert several[0]["findings"][0]["suggestions"] == []


def test_github_shows_each_beside_its_line(paper: Path, tiny: Library) -> None:
    lines = check(paper, "--library", tiny.folder, "--format", "github", "-k", "1").stdout.splitlines()
    assert [line.split(" ")[0] for line in lines] == ["::warning", "::error", "::notice"]
    assert "one%2C with comma.tex,line=2,endLine=2,title=citewell%3A uncited-claim::" in lines[0]
    assert "%0A- Gulls as a source of error (2017)" in lines[0]
    assert "100%25 of piers" in lines[2]


def test_the_hook_for_pre_commit(paper: Path, tiny: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    (hook,) = yaml.safe_load((Path(__file__).parents[2] / ".pre-commit-hooks.yaml").read_text("utf-8"))
    assert all(re.search(hook["files"], f"folder/{name}") for name in ("a.tex", "b.md", "c.qmd", "d.docx"))
    assert not re.search(hook["files"], "refs.bib")
    monkeypatch.setenv("CITEWELL_LIBRARY", str(tiny.folder))
    program, *entry = hook["entry"].split()
    assert (program, CliRunner().invoke(cli, [*entry, *hook["args"], str(paper)]).exit_code) == ("citewell", 1)
    paper.write_text(TEX.replace(",nobody", ""))
    assert CliRunner().invoke(cli, [*entry, *hook["args"], str(paper)]).exit_code == 0


_OBJECTS: dict[str, tuple[set[str], set[str]]] = {
    "log": ({"version", "runs"}, {"$schema"}),
    "run": ({"tool"}, {"columnKind", "results"}),
    "driver": ({"name"}, {"semanticVersion", "rules"}),
    "rule": ({"id"}, {"shortDescription", "defaultConfiguration"}),
    "result": ({"message"}, {"ruleId", "ruleIndex", "level", "locations"}),
    "region": (set(), {"startLine", "startColumn", "endLine", "endColumn"}),
}
"""The required and the optional properties of the SARIF 2.1.0 objects that we write."""


def _fits(kind: str, value: dict[str, Any]) -> dict[str, Any]:
    required, optional = _OBJECTS[kind]
    assert required <= set(value) <= required | optional, kind
    return value


def test_sarif(paper: Path, tiny: Library) -> None:
    done = check(paper, "--library", tiny.folder, "--format", "sarif")
    log = _fits("log", json.loads(done.stdout))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    rules = [_fits("rule", rule) for rule in _fits("driver", _fits("run", run)["tool"]["driver"])["rules"]]
    texts = []
    for result in run["results"]:
        _fits("result", result)
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("none", "note", "warning", "error")
        assert result["message"]["text"]
        (location,) = result["locations"]
        region = _fits("region", location["physicalLocation"]["region"])
        assert all(isinstance(value, int) and value >= 1 for value in region.values())
        uri = location["physicalLocation"]["artifactLocation"]["uri"]
        assert uri.startswith("file:///") and " " not in uri
        texts.append((result["ruleId"], region["startLine"], region["startColumn"], region["endLine"], region["endColumn"]))
    assert texts[0] == ("uncited-claim", 2, 1, 2, len(CLAIM) + 1)


def test_sarif_names_files_as_they_were_given(paper: Path, monkeypatch: pytest.MonkeyPatch, tiny: Library) -> None:
    monkeypatch.chdir(paper.parent)
    results = json.loads(check("paper.tex", "--library", tiny.folder, "--format", "sarif").stdout)["runs"][0]["results"]
    uris = [each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for each in results]
    assert uris == ["chapters/one%2C%20with%20comma.tex", "paper.tex", "refs.bib"]


def test_as_a_process_it_is_quick_and_needs_no_encoder(paper: Path, tiny: Library) -> None:
    script = (
        "import sys\nfrom citewell.cli.main import main\n"
        f"sys.argv = ['citewell', 'check', {str(paper)!r}, '--no-suggestions', '--library', {str(tiny.folder)!r}]\n"
        "try:\n    main()\nexcept SystemExit as stop:\n    status = stop.code\n"
        "print(int(status), [name for name in ('onnxruntime', 'tokenizers', 'numba', 'lightgbm') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "1 []"
