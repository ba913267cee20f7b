"""The campaign: its cases can be made again, and what a reader does not survive is found."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from benchmarks import campaign, fuzz
from benchmarks.fuzz_seeds import targets
from benchmarks.kills import KilledLibrary, _FailedError
from citewell.library import Library
from citewell.sources import bibtex

BIBTEX = next(number for number, target in enumerate(targets()) if target.name == "source:bibtex")


def test_every_reader_has_a_file_and_a_case_is_the_same_each_time() -> None:
    for number, target in enumerate(targets()):
        assert fuzz.make_case("s", number).target == target.name
        assert fuzz.make_case("s", number) == fuzz.make_case("s", number) != fuzz.make_case("t", number)


def test_an_exception_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = fuzz.make_case("s", BIBTEX)
    assert fuzz.failure_of(case, tmp_path) == ""
    monkeypatch.setattr(bibtex, "read", lambda source: [][1])
    assert fuzz.failure_of(case, tmp_path).startswith("IndexError: list index out of range (test_campaign.py:")


def test_cases_run_in_workers(tmp_path: Path) -> None:
    result = fuzz.run_cases("s", 2 * len(targets()), 2, time.monotonic() + 100, tmp_path)
    assert result.failures == [] and set(result.cases.values()) == {2} and result.megabytes > 10


def test_a_worker_that_is_ended_goes_on_with_the_next_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import os\nfrom benchmarks import fuzz\nread = fuzz.read_case\n"
        f"def dies(case, folder):\n    os.abort() if case.target == {targets()[BIBTEX].name!r} else read(case, folder)\n"
        "fuzz.read_case = dies\n"
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    result = fuzz.run_cases("s", len(targets()), 1, time.monotonic() + 100, tmp_path / "failures")
    assert result.cases.total() == len(targets())
    (failure,) = result.failures
    assert failure.case == BIBTEX and Path(failure.file).read_bytes() == fuzz.make_case("s", BIBTEX).data


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for processes in /proc")
@pytest.mark.slow
def test_commands_are_killed_and_run_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        campaign.main(["--kills", "4", "--cases", "0", "--seed", "1", "--workers", "1", "--failures", str(tmp_path)])
    assert (stop.value.code, "| all kills | 4 | 0 |" in capsys.readouterr().out) == (0, True)
    assert list(tmp_path.iterdir()) == []


def test_a_paper_that_no_file_has_is_a_difference(tmp_path: Path) -> None:
    killed = KilledLibrary(tmp_path / "round", "1")
    with Library(killed.folder) as library:
        library.add(killed.files)
    killed.require_as_built_afresh()
    extra = tmp_path / "extra.bib"
    extra.write_text("@article{extra, title = {Ropes}, author = {Holt, Mira}, year = {2001}}")
    with Library(killed.folder) as library:
        library.add([extra])
    with pytest.raises(_FailedError, match="1 papers only in the library"):
        killed.require_as_built_afresh()
