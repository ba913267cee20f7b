"""The library view: what is in it, files added with progress, questions answered by sentences."""

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
    """The address of a server whose library is empty at first."""
    with serving(tmp_path_factory.mktemp("empty") / "library") as address:
        yield address


def test_files_are_added_with_progress(new_page: Callable[..., Any], empty: str, tmp_path: Path) -> None:
    many = tmp_path / "many.jsonl"
    lines = [json.dumps({"id": f"p{at}", "title": f"On harbour number {at}", "year": 1950 + at % 60}) for at in range(4000)]
    many.write_text("\n".join(lines) + "\n", encoding="utf-8")
    page = new_page(f"{empty}#library")
    says(page, "found-count", "empty")
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
    assert seen, "a bar was there"
    assert seen == sorted(seen), "and never went back"
    says(page, "holdings", "4,000")
    says(page, "server", "4,000 papers")
    assert page.locator("#years .bar").count() > 10


def test_a_file_that_cannot_be_read_is_told(new_page: Callable[..., Any], empty: str, tmp_path: Path) -> None:
    odd = tmp_path / "odd.bin"
    odd.write_text("neither fish nor fowl", encoding="utf-8")
    page = new_page(f"{empty}#library")
    drop(page, "#add-area", odd)
    page.wait_for_selector(".job.done, .job.failed")
    assert "odd.bin" in page.inner_text("#jobs")
    assert page.inner_text("#jobs .said") not in ("", "Done")


def test_questions_are_answered_by_sentences(page: Any) -> None:
    page.get_by_role("link", name="Library").click()
    page.wait_for_selector("#found li")
    page.keyboard.press("/")
    page.keyboard.type("documents are mixtures of latent topics")
    until(page, "document.getElementById('found-count').textContent.startsWith('The best')")
    quotes = page.locator("#found li").filter(has_text="Latent Dirichlet Allocation").locator("blockquote mark")
    assert {"latent", "topics"} <= {each.lower() for each in quotes.all_inner_texts()}


def test_a_sentence_is_shown_where_it_stands(new_page: Callable[..., Any], empty: str, tmp_path: Path) -> None:
    one = tmp_path / "gulls.jsonl"
    abstract = "We stood on a quay. Gulls disturb the counting of trawlers. The quay was wet."
    one.write_text(json.dumps({"id": "gulls", "title": "On gulls", "abstract": abstract}) + "\n", encoding="utf-8")
    page = new_page(f"{empty}#library")
    drop(page, "#add-area", one)
    page.wait_for_selector(".job.done", timeout=30_000)
    page.keyboard.press("/")
    page.keyboard.type("do gulls disturb the counting of trawlers?")
    page.wait_for_selector("#found blockquote mark")
    quote = page.locator("#found li").filter(has_text="On gulls").locator("blockquote").first
    assert quote.inner_text() == abstract
    assert quote.locator(".beside").all_inner_texts() == ["We stood on a quay. ", " The quay was wet."]


def test_the_plot_counts_every_paper_and_leads_to_its_years(page: Any) -> None:
    years = [json.loads(line).get("year") for line in demo.path("library.jsonl").read_text("utf-8").splitlines()]
    page.get_by_role("link", name="Library").click()
    page.wait_for_selector("#years .bar")
    names = page.eval_on_selector_all("#years .bar", "bars => bars.map((bar) => bar.getAttribute('aria-label'))")
    assert sum(int(name.rpartition(": ")[2].split()[0]) for name in names) == sum(map(bool, years)) + 1  # and the hostile one
    page.locator("#years .bar").first.focus()
    for _ in range(len(names) - 1):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    until(page, f"document.getElementById('found-count').textContent.startsWith('{names[-1].rpartition(': ')[2].split()[0]} ')")


def test_papers_are_listed_page_by_page_and_opened(page: Any) -> None:
    page.get_by_role("link", name="Library").click()
    page.wait_for_selector("#found li")
    first = page.locator("#found li").count()
    page.click("#more")
    until(page, "count => document.querySelectorAll('#found li').length > count", first)
    page.locator("#found h3 button").first.click()
    page.wait_for_selector("#paper[open] .abstract")
    page.click("#paper-cite")
    page.keyboard.press("Escape")
    page.get_by_role("link", name="AppState").click()
    assert page.locator("#chosen-list li").count() == 1


def test_a_page_of_papers_is_listed_once_however_often_more_is_pressed(page: Any) -> None:
    page.get_by_role("link", name="Library").click()
    page.wait_for_selector("#found li")
    first = page.locator("#found li").count()
    page.evaluate("() => { more.click(); more.click(); }")
    until(page, "count => document.querySelectorAll('#found li').length > count", first)
    page.wait_for_timeout(300)
    names = page.locator("#found h3").all_inner_texts()
    assert len(names) == len(set(names)) == 2 * first


def test_an_import_goes_on_when_the_server_is_back(new_page: Callable[..., Any], empty: str, tmp_path: Path) -> None:
    late = tmp_path / "late.jsonl"
    late.write_text(json.dumps({"id": "late", "title": "On late arrivals", "year": 1999}) + "\n", encoding="utf-8")
    page = new_page(f"{empty}#library")
    page.route("**/api/jobs/*", lambda route: route.abort())
    drop(page, "#add-area", late)
    says(page, "jobs", "Waiting for the server")
    page.unroute("**/api/jobs/*")
    page.wait_for_selector(".job.done", timeout=30_000)


def test_a_paper_opened_from_a_paper_is_read_from_its_top_and_keeps_the_focus(page: Any) -> None:
    page.get_by_role("link", name="Library").click()
    page.fill("#question", "enhancing the context of a local citation recommendation model")
    says(page, "found-count", "The best")
    page.locator("#found h3 button").first.click()
    page.locator("#paper-body button.link").first.click()
    assert page.evaluate("document.activeElement.closest('dialog') !== null")
    assert page.evaluate("document.getElementById('paper').scrollTop") == 0
    assert page.inner_text("#paper-where") == "for the bibliography, at no place of the text"
