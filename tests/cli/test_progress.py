"""Progress on standard error: a bar on a terminal, lines elsewhere."""

from __future__ import annotations

import sys

import pytest

from citewell.cli import progress as shown
from citewell.cli.progress import TerminalProgress, amount, duration


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time in seconds, which the test sets."""
    now = [100.0]
    monkeypatch.setattr(shown.time, "monotonic", lambda: now[0])
    return now


def test_without_a_terminal_a_line_every_ten_seconds_shows_count_rate_and_time_left(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with TerminalProgress() as progress:
        progress.start("indexing", 30_000, "papers")
        for _ in range(25):
            clock[0] += 1
            progress.advance(1000)
    assert capsys.readouterr().err.splitlines() == [
        "citewell: indexing 10,000 of 30,000 papers (33%), 1,000 papers/s, 20 s left",
        "citewell: indexing 20,000 of 30,000 papers (67%), 1,000 papers/s, 10 s left",
    ]


def test_a_step_without_a_total_shows_count_and_rate(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    progress = TerminalProgress()
    progress.start("fetching from Crossref", None, "papers")
    clock[0] += 10
    progress.update(40)
    clock[0] += 10
    progress.update(90, 180)
    assert capsys.readouterr().err.splitlines() == [
        "citewell: fetching from Crossref 40 papers, 4 papers/s",
        "citewell: fetching from Crossref 90 of 180 papers (50%), 4.5 papers/s, 20 s left",
    ]


def test_short_steps_print_nothing(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with TerminalProgress() as progress:
        for step in ("reading", "indexing"):
            progress.start(step, 100, "papers")
            clock[0] += 6
            progress.update(100)
            progress.finish()
    assert capsys.readouterr().err == ""


def test_on_a_terminal_there_is_a_bar(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    with TerminalProgress() as progress:
        progress.start("indexing", 10, "papers")
        progress.advance(5)
        progress.start("encoding", 4, "papers")
        progress.message("a line for the user")
    err = capsys.readouterr().err
    assert "encoding" in err and "citewell: a line for the user" in err


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0 s"), (59.6, "1 min 0 s"), (125, "2 min 5 s"), (11_400, "3 h 10 min")])
def test_durations_have_two_units(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("count", "unit", "text"),
    [(12_000, "papers", "12,000 papers"), (2.25, "steps", "2.2 steps"), (2_500_000, "bytes", "2.5 MB"), (3, "", "3")],
)
def test_amounts_have_units(count: float, unit: str, text: str) -> None:
    assert amount(count, unit) == text
