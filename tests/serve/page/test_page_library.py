"""The library view: statistics, imports with progress, search with sentences."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import drop, says, serving, until

from citewell import demo


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a server with an empty library."""
    with serving(tmp_path_factory.mktemp("empty") / "library") as address:
        yield address


def test_imports_show_progress(new_page: Callable[..., Any], empty: str, tmp_path: Path) -> None:
    many = tmp_path / "many.jsonl"
    lines = [json.dumps({"id": f"p{at}", "title": f"On harbour number {at}", "year": 1950 + at % 60}) for at in range(4000)]
    many.write_text("\n".join(lines) + "\n", encoding="utf-8")
    page = new_page(f"{empty}#library")
    says(page, "result-count", "empty")
    page.evaluate(
        """() => {
          window.seen = [];
          new MutationObserver(() => {
            const bar = document.querySelector("#jobs progress");
            if (bar) window.seen.push(bar.hasAttribute("value") ? bar.value / bar.max : 0);
          }).observe(document.getElementById("jobs"), { subtree: true, childList: true, attributes: true });
        }"""
    )
    drop(page, "#add-area", many)
    page.wait_for_selector(".job.done", timeout=30_000)
    seen = page.evaluate("window.seen")
    assert seen, "there was a progress bar"
    assert seen == sorted(seen), "it never went back"
    says(page, "library-stats", "4,000")
    says(page, "server", "4,000 papers")
    assert page.locator("#years .bar").count() > 10


def test_an_unreadable_file_is_reported(new_page: Callable[..., Any], empty: str, tmp_path: Path) -> None:
    odd = tmp_path / "odd.bin"
    odd.write_text("neither fish nor fowl", encoding="utf-8")
    page = new_page(f"{empty}#library")
    drop(page, "#add-area", odd)
    page.wait_for_selector(".job.done, .job.failed")
    assert "odd.bin" in page.inner_text("#jobs")
    assert page.inner_text("#jobs .status") not in ("", "Done")


def test_search_shows_sentences(page: Any) -> None:
    page.get_by_role("link", name="Library").click()
    page.wait_for_selector("#results li")
    page.keyboard.press("/")
    page.keyboard.type("documents are mixtures of latent topics")
    until(page, "document.getElementById('result-count').textContent.startsWith('The best')")
    quotes = page.locator("#results li").filter(has_text="Latent Dirichlet Allocation").locator("blockquote mark")
    assert {"latent", "topics"} <= {each.lower() for each in quotes.all_inner_texts()}


def test_a_sentence_is_shown_with_its_neighbours(new_page: Callable[..., Any], empty: str, tmp_path: Path) -> None:
    one = tmp_path / "gulls.jsonl"
    abstract = "We stood on a quay. Gulls disturb the counting of trawlers. The quay was wet."
    one.write_text(json.dumps({"id": "gulls", "title": "On gulls", "abstract": abstract}) + "\n", encoding="utf-8")
    page = new_page(f"{empty}#library")
    drop(page, "#add-area", one)
    page.wait_for_selector(".job.done", timeout=30_000)
    page.keyboard.press("/")
    page.keyboard.type("do gulls disturb the counting of trawlers?")
    page.wait_for_selector("#results blockquote mark")
    quote = page.locator("#results li").filter(has_text="On gulls").locator("blockquote").first
    assert quote.inner_text() == abstract
    assert quote.locator(".neighbour").all_inner_texts() == ["We stood on a quay. ", " The quay was wet."]


def test_the_chart_counts_every_paper_and_filters_by_year(page: Any) -> None:
    years = [json.loads(line).get("year") for line in demo.path("library.jsonl").read_text("utf-8").splitlines()]
    page.get_by_role("link", name="Library").click()
    page.wait_for_selector("#years .bar")
    names = page.eval_on_selector_all("#years .bar", "bars => bars.map((bar) => bar.getAttribute('aria-label'))")
    assert sum(int(name.rpartition(": ")[2].split()[0]) for name in names) == sum(map(bool, years)) + 1  # and the hostile paper
    page.locator("#years .bar").first.focus()
    for _ in range(len(names) - 1):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    until(
        page, f"document.getElementById('result-count').textContent.startsWith('{names[-1].rpartition(': ')[2].split()[0]} ')"
    )


def test_papers_are_listed_by_page_and_opened(page: Any) -> None:
    page.get_by_role("link", name="Library").click()
    page.wait_for_selector("#results li")
    first = page.locator("#results li").count()
    page.click("#more")
    until(page, "count => document.querySelectorAll('#results li').length > count", first)
    page.locator("#results h3 button").first.click()
    page.wait_for_selector("#paper[open] .abstract")
    page.click("#paper-cite")
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Editor").click()
    assert page.locator("#chosen-list li").count() == 1


def test_a_page_is_listed_once_however_often_more_is_clicked(page: Any) -> None:
    page.get_by_role("link", name="Library").click()
    page.wait_for_selector("#results li")
    first = page.locator("#results li").count()
    page.evaluate("() => { more.click(); more.click(); }")
    until(page, "count => document.querySelectorAll('#results li').length > count", first)
    page.wait_for_timeout(300)
    names = page.locator("#results h3").all_inner_texts()
    assert len(names) == len(set(names)) == 2 * first


def test_an_import_continues_when_the_server_is_back(new_page: Callable[..., Any], empty: str, tmp_path: Path) -> None:
    late = tmp_path / "late.jsonl"
    late.write_text(json.dumps({"id": "late", "title": "On late arrivals", "year": 1999}) + "\n", encoding="utf-8")
    page = new_page(f"{empty}#library")
    page.route("**/api/jobs/*", lambda route: route.abort())
    drop(page, "#add-area", late)
    says(page, "jobs", "Waiting for the server")
    page.unroute("**/api/jobs/*")
    page.wait_for_selector(".job.done", timeout=30_000)


def test_a_paper_opened_from_a_paper_starts_at_the_top_and_keeps_the_focus(page: Any) -> None:
    page.get_by_role("link", name="Library").click()
    page.fill("#question", "enhancing the context of a local citation recommendation model")
    says(page, "result-count", "The best")
    page.locator("#results h3 button").first.click()
    page.locator("#paper-body button.link").first.click()
    assert page.evaluate("document.activeElement.closest('dialog') !== null")
    assert page.evaluate("document.getElementById('paper').scrollTop") == 0
    assert page.inner_text("#paper-where") == "for the bibliography only"
