"""Answers while typing: quick, then refined, never stale, and never under a hand that is about to click."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from browsing import serving, settled, titles, until

SENTENCE = "Citation recommendation\n\nDocuments are mixtures of topics that a generative model infers from their words"


def _held_back(page: Any, pipeline: str) -> list[Any]:
    """Hold back what is asked of a pipeline, until the test lets it go."""
    held: list[Any] = []

    def hold(route: Any) -> None:
        if json.loads(route.request.post_data)["pipeline"] == pipeline:
            held.append(route)
        else:
            route.continue_()

    page.route("**/api/suggest", hold)
    return held


def _until(test: Callable[[], object], page: Any) -> None:
    end = time.monotonic() + 10
    while not test():
        assert time.monotonic() < end
        page.wait_for_timeout(20)


def test_quick_answers_come_first_and_refined_ones_follow(page: Any) -> None:
    held = _held_back(page, "best")
    page.fill("#draft", SENTENCE)
    page.wait_for_selector("#stage[data-stage=quick]")
    assert "Latent Dirichlet Allocation" in titles(page)
    _until(lambda: held, page)
    for route in held:
        route.continue_()
    settled(page)
    assert "Latent Dirichlet Allocation" in titles(page)


def test_the_list_holds_still_under_the_pointer(page: Any) -> None:
    held = _held_back(page, "best")
    page.fill("#draft", SENTENCE)
    page.wait_for_selector("#stage[data-stage=quick]")
    _until(lambda: held, page)
    page.wait_for_timeout(600)  # the reading of the draft may ask once more
    before = titles(page)
    page.locator("#suggestions .card").first.hover()
    for route in held:
        _answer(route, ["Refined one", "Refined two"])
    page.wait_for_selector("#take:not([hidden])")
    assert titles(page) == before
    page.mouse.move(5, 5)
    until(page, "document.querySelector('#suggestions h3').textContent === 'Refined one'")


def test_the_list_holds_still_under_the_focus(page: Any) -> None:
    held = _held_back(page, "best")
    page.fill("#draft", SENTENCE)
    page.wait_for_selector("#stage[data-stage=quick]")
    _until(lambda: held, page)
    page.wait_for_timeout(600)
    page.keyboard.press("Control+Enter")
    before = titles(page)
    first = page.locator("#suggestions .card").first.get_attribute("data-id")
    for route in held:
        _answer(route, ["Refined one", before[0]], ["refined", first])
    page.wait_for_selector("#take:not([hidden])")
    assert titles(page) == before
    page.keyboard.press("u")
    assert titles(page) == ["Refined one", before[0]]
    assert page.evaluate("document.activeElement.querySelector('h3').textContent") == before[0], (
        "the focus stays with its paper"
    )


def _answer(route: Any, titles: list[str], ids: list[str] | None = None) -> None:
    known = {"authors": [], "year": 2000, "venue": "", "score": 1.0, "reasons": []}
    papers = [
        {"rank": at, "id": name, "title": title, **known}
        for at, (title, name) in enumerate(zip(titles, ids or titles, strict=True), 1)
    ]
    route.fulfill(json={"task": "local", "query": {}, "suggestions": papers})


def test_a_late_answer_to_an_earlier_text_is_not_shown(page: Any) -> None:
    held = _held_back(page, "fast")
    page.fill("#draft", SENTENCE)
    _until(lambda: held, page)
    page.unroute("**/api/suggest")
    page.fill("#draft", "Boats\n\nApproximate nearest neighbour search in navigable small world graphs is fast")
    settled(page)
    shown = titles(page)
    for route in held:
        try:
            _answer(route, ["An answer that nobody waits for"])
        except Exception as error:  # the page has called it off
            assert "handled" in str(error) or "closed" in str(error) or "Invalid" in str(error)
    page.wait_for_timeout(200)
    assert titles(page) == shown


def test_a_server_that_is_gone_is_noticed_and_found_again(page: Any) -> None:
    page.context.set_offline(True)
    page.fill("#draft", SENTENCE)
    page.wait_for_selector("#away:not([hidden])")
    assert "citewell serve" in page.inner_text("#away")
    page.context.set_offline(False)
    page.wait_for_selector("#away", state="hidden")
    settled(page)
    assert titles(page)


def test_errors_of_the_server_are_told_in_its_words(page: Any) -> None:
    page.route("**/api/suggest", lambda route: route.fulfill(status=422, json={"detail": "the flux is low; refill it"}))
    page.fill("#draft", SENTENCE)
    page.wait_for_selector(".notice.wrong")
    assert "the flux is low; refill it" in page.inner_text(".notice.wrong")


def test_no_list_of_another_place_stands_where_an_answer_failed(page: Any) -> None:
    page.fill("#draft", SENTENCE)
    settled(page)
    page.route("**/api/suggest", lambda route: route.fulfill(status=422, json={"detail": "the flux is low; refill it"}))
    page.fill("#draft", "Boats\n\nApproximate nearest neighbour search in navigable small world graphs is fast")
    page.wait_for_selector("#stage[data-stage=failed]")
    assert titles(page) == []
    page.unroute("**/api/suggest")
    page.get_by_role("button", name="Ask again").click()
    settled(page)
    assert titles(page)


def test_no_list_of_another_place_stands_while_a_closer_look_is_taken(page: Any) -> None:
    page.fill("#draft", SENTENCE)
    settled(page)
    held = _held_back(page, "best")
    page.locator("#filters summary").click()
    page.fill("#venue", "no venue is called so")
    _until(lambda: held, page)
    assert titles(page) == []
    for route in held:
        route.continue_()
    page.get_by_role("button", name="Take the filters away").wait_for()


def test_a_refinement_that_related_papers_called_off_is_taken_up_on_the_way_back(page: Any) -> None:
    held = _held_back(page, "best")
    page.fill("#draft", SENTENCE)
    page.wait_for_selector("#stage[data-stage=quick]")
    _until(lambda: held, page)
    page.wait_for_timeout(600)
    page.locator("#suggestions [data-act=related]").first.click()
    page.wait_for_selector("#suggestions .card")
    before = len(held)
    page.click("#back")
    assert page.get_attribute("#stage", "data-stage") != "refined"
    _until(lambda: len(held) > before, page)


def test_a_new_list_begins_at_its_top(page: Any) -> None:
    page.fill("#draft", SENTENCE)
    settled(page)
    page.locator("#suggestions .card").last.scroll_into_view_if_needed()
    assert page.evaluate("document.getElementById('suggestions').scrollTop") > 0
    page.fill("#draft", "Boats\n\nApproximate nearest neighbour search in navigable small world graphs is fast")
    until(page, "document.getElementById('suggestions').scrollTop === 0")


def test_a_token_is_asked_for_once(new_page: Callable[..., Any], tmp_path: Path) -> None:
    token = "a-token-of-the-tests-1234"
    with serving(tmp_path / "library", "--token", token) as address:
        page = new_page(address)
        page.wait_for_selector("#token[open]")
        page.fill("#token-value", "wrong")
        page.keyboard.press("Enter")
        page.wait_for_selector("#token[open] #token-wrong:not([hidden])")
        page.fill("#token-value", token)
        page.keyboard.press("Enter")
        until(page, "document.getElementById('server').textContent.includes('papers')")
        page.reload()
        until(page, "document.getElementById('server').textContent.includes('papers')")
        assert not page.locator("#token[open]").count()
        other = new_page(f"{address}#token={token}")
        until(other, "document.getElementById('server').textContent.includes('papers')")
        assert token not in other.url
