"""The page of a user study in Chromium: a whole study with three judges, and what a judge needs from a page."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from browsing import until
from click.testing import CliRunner

from citewell.cli.main import cli
from citewell.user_study.study import Study
from tests.serve.user_study.studies import RANKINGS, SYSTEMS, Served, make_study, serving

OPINIONS: dict[str, list[str | None]] = {
    "Ana Lim": ["a d", "g", "", None],
    "Ben": ["a", "g i", "b", "e"],
    "Cyd": ["d e", "g", "b m", None],
}
"""What each judge finds relevant in each text; None where the judge leaves the text out."""
UNCLEAR = {("Cyd", 1): "a", ("Ben", 3): "k"}


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return make_study(tmp_path / "study")


@pytest.fixture
def served(study: Study) -> Iterator[Served]:
    with serving(study.folder) as server:
        yield server


def _begin(page: Any, judge: str) -> None:
    page.fill("#judge", judge)
    page.keyboard.press("Enter")
    page.wait_for_selector("#judging:not([hidden]) .paper")


def _shows(page: Any, number: int) -> None:
    until(page, "([n]) => document.getElementById('number').textContent === `Text ${n} of 4`", [number])


def _judge_text(page: Any, judge: str, number: int) -> None:
    """Mark all papers of one text: the relevant and unclear ones by mouse, the rest with one button."""
    relevant = OPINIONS[judge][number - 1]
    if relevant is None:
        page.click("#skip" if judge == "Ana Lim" else "#insufficient")
        return
    for value, papers in (("relevant", relevant), ("unclear", UNCLEAR.get((judge, number), ""))):
        for paper in papers.split():
            page.locator(f".paper[data-id={paper}]").last.locator(f"[data-value={value}]").click()
    page.click("#rest")
    until(page, "document.getElementById('status').textContent === 'all marked'")


def _by_hand() -> dict[str, Any]:
    """The report computed here, from the opinions alone and with other code."""
    sets = {
        (judge, number): set(papers.split())
        for judge, texts in OPINIONS.items()
        for number, papers in enumerate(texts, 1)
        if papers is not None
    }
    mean: dict[str, dict[str, float]] = {}
    for at, system in enumerate(SYSTEMS):
        columns: dict[str, list[float]] = {"MAP@3": [], "recall@3": [], "MRR@3": [], "P@3": [], "coverage": []}
        for number, rankings in enumerate(RANKINGS, 1):
            each: dict[str, list[float]] = {name: [] for name in columns}
            for judge in OPINIONS:
                if (judge, number) not in sets:
                    continue
                relevant = sets[judge, number]
                hits = [paper in relevant for paper in rankings[at]]
                precisions = [sum(hits[: rank + 1]) / (rank + 1) for rank in range(3) if hits[rank]]
                of_components = sum(paper in relevant for ranking in rankings[:2] for paper in ranking)
                each["MAP@3"].append(sum(precisions) / len(precisions) if precisions else 0)
                each["recall@3"].append(sum(hits) / of_components if of_components else 0)
                each["MRR@3"].append(1 / (hits.index(True) + 1) if any(hits) else 0)
                each["P@3"].append(sum(hits) / 3)
                each["coverage"].append(any(hits))
            if each["P@3"]:
                for name, values in each.items():
                    columns[name].append(sum(values) / len(values))
        mean[system] = {name: sum(values) / len(values) for name, values in columns.items()}

    marks: dict[str, dict[tuple[int, str], str]] = {}
    for judge, number in sets:
        for paper in {paper for ranking in RANKINGS[number - 1] for paper in ranking}:
            unclear = paper in UNCLEAR.get((judge, number), "")
            mark = "relevant" if paper in sets[judge, number] else "unclear" if unclear else "irrelevant"
            marks.setdefault(judge, {})[number, paper] = mark
    kappas = {}
    for one, other in combinations(OPINIONS, 2):
        pairs = [(marks[one][item], marks[other][item]) for item in marks[one].keys() & marks[other].keys()]
        agree = sum(a == b for a, b in pairs) / len(pairs)
        chance = sum(
            sum(a == c for a, _ in pairs) * sum(b == c for _, b in pairs) / len(pairs) ** 2
            for c in ("relevant", "irrelevant", "unclear")
        )
        kappas[one, other] = (agree - chance) / (1 - chance)
    return {"mean": mean, "kappas": kappas}


def test_a_whole_study_of_three_judges(new_page: Callable[..., Any], study: Study, served: Served) -> None:
    pages = {judge: new_page(served.url) for judge in OPINIONS}  # three browsers, at the same time
    for judge, page in pages.items():
        _begin(page, judge)
    for number in range(1, 5):
        for judge, page in pages.items():
            _shows(page, number)
            _judge_text(page, judge, number)
            if number < 4 and OPINIONS[judge][number - 1] is not None:
                page.click("#next")
    for judge, page in pages.items():
        until(page, "document.getElementById('progress-text').textContent === '4 of 4 texts'")
        assert not any(system in page.content() for system in SYSTEMS), judge

    result = CliRunner().invoke(cli, ["study", "report", str(study.folder), "--json"])
    assert result.exit_code == 0, result.output
    report, expected = json.loads(result.output), _by_hand()
    assert (report["judged"], report["judged_by_all"], report["contexts"]) == (4, 3, 4)
    for system in SYSTEMS:
        for name, value in expected["mean"][system].items():
            assert report["mean"]["means"][system][name] == pytest.approx(value), (system, name)
    kappas = {tuple(each["judges"]): each["kappa"] for each in report["agreement"]["marks"]["kappas"]}
    assert kappas == pytest.approx(expected["kappas"])
    statuses = {each["name"]: each["contexts"] for each in report["judges"]}
    assert statuses["Ana Lim"] == {"done": 3, "begun": 0, "skipped": 1, "insufficient": 0, "open": 0}
    assert statuses["Ben"]["done"] == 4
    assert statuses["Cyd"]["insufficient"] == 1
    printed = CliRunner().invoke(cli, ["study", "report", str(study.folder)])
    assert "4 of 4 contexts judged (3 by all) · 3 judges" in printed.output
    assert f"{expected['mean']['secret-hybrid']['recall@3']:.3f}" in printed.output


def test_keyboard_only_and_coming_back(new_page: Callable[..., Any], served: Served) -> None:
    page = new_page(served.url)
    until(page, "document.activeElement.id === 'judge'")
    _begin(page, "Ana")
    focused = "document.activeElement.closest('.paper')?.getAttribute('aria-labelledby') ?? document.activeElement.id"
    assert page.evaluate(focused) == "number"
    page.keyboard.press("j")
    assert page.evaluate(focused) == "paper-A-1"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    assert page.evaluate(focused) == "paper-B-2"
    page.keyboard.press("o")
    assert page.locator("#columns details[open]").count() == 1
    marked = page.evaluate("document.activeElement.dataset.id")
    page.keyboard.press("1")
    assert page.evaluate(focused) != "paper-B-2"
    copies = page.locator(f".paper[data-id={marked}]")
    assert all(copies.nth(at).get_attribute("data-mark") == "relevant" for at in range(copies.count()))
    for _ in range(4):
        page.keyboard.press("3")
    until(page, "document.getElementById('marked').textContent === 'all 5 papers marked'")
    assert page.evaluate(focused) == "next"
    page.keyboard.press("n")
    _shows(page, 2)
    page.keyboard.press("i")
    _shows(page, 3)
    page.keyboard.press("b")
    _shows(page, 2)
    assert "text does not suffice" in page.inner_text("#status")
    page.locator(".paper [data-value=relevant]").first.click()
    assert page.locator("#status").is_hidden()
    page.keyboard.press("n")
    _shows(page, 3)
    page.reload()  # the same browser: no name to type, and on at the first text that is not finished
    _shows(page, 2)
    assert page.locator(".paper[data-mark=relevant]").count() >= 1
    other = new_page(served.url)
    _begin(other, " ana ")
    _shows(other, 2)
    assert other.inner_text("#who") == "Ana"


def test_a_mark_that_is_not_stored_is_taken_back(new_page: Callable[..., Any], study: Study, served: Served) -> None:
    page = new_page(served.url)
    _begin(page, "Ana")
    first = page.locator(".paper").first
    first.locator("[data-value=relevant]").click()
    until(page, "document.getElementById('marked').textContent.startsWith('1 of')")
    page.wait_for_timeout(200)
    served.process.kill()
    first.locator("[data-value=irrelevant]").click()
    page.wait_for_selector("#offline:not([hidden])")
    until(page, "document.querySelector('.paper').dataset.mark === 'relevant'")
    assert "was not stored" in page.inner_text("#notices")
    assert study.judgements.read_bytes().count(b"\n") == 1


def test_a_judge_downloads_marks_and_hostile_titles_stay_text(
    new_page: Callable[..., Any], served: Served, tmp_path: Path
) -> None:
    page = new_page(served.url)
    _begin(page, "Ana <b>")
    assert "<i>on</i>" in page.locator(".paper h4").first.inner_text()
    assert page.locator("main i, main b > b, #text b").count() == 0
    assert page.locator("#text mark").inner_text() == "citation here"
    page.locator("[data-value=unclear]").first.click()
    page.click("#overview-open")
    with page.expect_download() as download:
        page.click("#download")
    line = json.loads(Path(download.value.path()).read_text("utf-8"))
    assert (line["judge"], line["mark"]) == ("Ana <b>", "unclear")


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 320)])
def test_axe_finds_nothing_and_phones_do_not_scroll_sideways(
    new_page: Callable[..., Any], served: Served, scheme: str, width: int
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page = new_page(
        served.url,
        color_scheme=scheme,
        reduced_motion="reduce",
        viewport={"width": width, "height": 760},
        has_touch=width < 500,
    )

    def check(where: str) -> None:
        violations = Axe().run(page).response["violations"]
        assert not violations, (
            where,
            [(each["id"], each["nodes"][0]["html"], each["nodes"][0]["failureSummary"]) for each in violations],
        )
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), where

    page.wait_for_selector("#start:not([hidden])")
    check("the start")
    _begin(page, "Ana")
    for at, value in enumerate(("relevant", "irrelevant", "unclear")):
        page.locator(".paper").nth(at).locator(f"[data-value={value}]").click()
    page.locator(".paper summary").first.click()
    check("a text")
    page.click("#skip")
    _shows(page, 2)
    page.click("#overview-open")
    check("all texts")
    page.keyboard.press("Escape")
    page.click("#help")
    check("help")
