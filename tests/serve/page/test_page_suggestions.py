"""Suggestions while typing: fast, then refined, never outdated, and never changing while the list is in use."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from browsing import serving, settled, titles, until

SENTENCE = "Citation recommendation\n\nDocuments are mixtures of topics that a generative model infers from their words"


def _intercept(page: Any, pipeline: str) -> list[Any]:
    """Hold back the requests to a pipeline until the test continues them."""
    routes: list[Any] = []

    def hold(route: Any) -> None:
        if json.loads(route.request.post_data)["pipeline"] == pipeline:
            routes.append(route)
        else:
            route.continue_()

    page.route("**/api/suggest", hold)
    return routes


def _release(page: Any, routes: list[Any]) -> None:
    """Continue the paused requests and pause no more: parsing the draft may cause another one."""
    for route in routes:
        route.continue_()
    page.unroute("**/api/suggest")


def _until(test: Callable[[], object], page: Any) -> None:
    end = time.monotonic() + 10
    while not test():
        assert time.monotonic() < end
        page.wait_for_timeout(20)


def test_fast_results_come_first_and_refined_ones_follow(page: Any) -> None:
    routes = _intercept(page, "best")
    page.fill("#draft", SENTENCE)
    page.wait_for_selector("#stage[data-stage=fast]")
    assert "Latent Dirichlet Allocation" in titles(page)
    _until(lambda: routes, page)
    _release(page, routes)
    settled(page)
    assert "Latent Dirichlet Allocation" in titles(page)


def test_the_list_does_not_change_under_the_pointer(page: Any) -> None:
    routes = _intercept(page, "best")
    page.fill("#draft", SENTENCE)
    page.wait_for_selector("#stage[data-stage=fast]")
    _until(lambda: routes, page)
    page.wait_for_timeout(600)  # parsing the draft may cause another request
    before = titles(page)
    page.locator("#suggestions .card").first.hover()
    for route in routes:
        _respond(route, ["Refined one", "Refined two"])
    page.wait_for_selector("#show-refined:not([hidden])")
    assert titles(page) == before
    page.mouse.move(5, 5)
    until(page, "document.querySelector('#suggestions h3').textContent === 'Refined one'")


def test_the_list_does_not_change_while_it_has_the_focus(page: Any) -> None:
    routes = _intercept(page, "best")
    page.fill("#draft", SENTENCE)
    page.wait_for_selector("#stage[data-stage=fast]")
    _until(lambda: routes, page)
    page.wait_for_timeout(600)
    page.keyboard.press("Control+Enter")
    before = titles(page)
    first = page.locator("#suggestions .card").first.get_attribute("data-id")
    for route in routes:
        _respond(route, ["Refined one", before[0]], ["refined", first])
    page.wait_for_selector("#show-refined:not([hidden])")
    assert titles(page) == before
    page.keyboard.press("u")
    assert titles(page) == ["Refined one", before[0]]
    assert page.evaluate("document.activeElement.querySelector('h3').textContent") == before[0], (
        "the focus stays with its paper"
    )


def _respond(route: Any, titles: list[str], ids: list[str] | None = None) -> None:
    route.fulfill(json=_results(titles, ids))


def _results(titles: list[str], ids: list[str] | None = None) -> dict[str, Any]:
    known = {"authors": [], "year": 2000, "venue": "", "score": 1.0, "reasons": [], "sentences": []}
    papers = [
        {"rank": at, "id": name, "title": title, **known}
        for at, (title, name) in enumerate(zip(titles, ids or titles, strict=True), 1)
    ]
    return {"task": "local", "query": {}, "notes": [], "suggestions": papers}


def test_late_results_for_an_earlier_text_are_not_shown(page: Any) -> None:
    routes = _intercept(page, "fast")
    page.fill("#draft", SENTENCE)
    _until(lambda: routes, page)
    page.unroute("**/api/suggest")
    page.fill("#draft", "Boats\n\nApproximate nearest neighbour search in navigable small world graphs is fast")
    settled(page)
    shown = titles(page)
    for route in routes:
        try:
            _respond(route, ["A late result"])
        except Exception as error:  # the page has cancelled it
            assert "handled" in str(error) or "closed" in str(error) or "Invalid" in str(error)
    page.wait_for_timeout(200)
    assert titles(page) == shown


def test_a_lost_connection_is_shown_and_restored(page: Any) -> None:
    page.context.set_offline(True)
    page.fill("#draft", SENTENCE)
    page.wait_for_selector("#offline:not([hidden])")
    assert "citewell serve" in page.inner_text("#offline")
    page.context.set_offline(False)
    page.wait_for_selector("#offline", state="hidden")
    settled(page)
    assert titles(page)


def test_server_errors_are_shown_as_they_are(page: Any) -> None:
    page.route("**/api/suggest", lambda route: route.fulfill(status=422, json={"detail": "the flux is low; refill it"}))
    page.fill("#draft", SENTENCE)
    page.wait_for_selector(".notice.wrong")
    assert "the flux is low; refill it" in page.inner_text(".notice.wrong")


def test_a_failed_request_clears_the_list_of_another_place(page: Any) -> None:
    page.fill("#draft", SENTENCE)
    settled(page)
    page.route("**/api/suggest", lambda route: route.fulfill(status=422, json={"detail": "the flux is low; refill it"}))
    page.fill("#draft", "Boats\n\nApproximate nearest neighbour search in navigable small world graphs is fast")
    page.wait_for_selector("#stage[data-stage=failed]")
    assert titles(page) == []
    page.unroute("**/api/suggest")
    page.get_by_role("button", name="Try again").click()
    settled(page)
    assert titles(page)


def test_the_list_of_another_place_is_cleared_while_refining(page: Any) -> None:
    page.fill("#draft", SENTENCE)
    settled(page)
    routes = _intercept(page, "best")
    page.locator("#filters summary").click()
    page.fill("#venue", "no venue is called so")
    _until(lambda: routes, page)
    assert titles(page) == []
    _release(page, routes)
    page.get_by_role("button", name="Clear the filters").wait_for()


def test_refining_continues_after_related_papers(page: Any) -> None:
    routes = _intercept(page, "best")
    page.fill("#draft", SENTENCE)
    page.wait_for_selector("#stage[data-stage=fast]")
    _until(lambda: routes, page)
    page.wait_for_timeout(600)
    page.locator("#suggestions [data-act=related]").first.click()
    page.wait_for_selector("#suggestions .card")
    before = len(routes)
    page.click("#back")
    assert page.get_attribute("#stage", "data-stage") != "refined"
    _until(lambda: len(routes) > before, page)


def test_notes_on_the_library_are_shown(page: Any) -> None:
    notes = ["Vectors for 7 papers are still being computed (about 30 s left); results will improve."]
    page.route("**/api/suggest", lambda route: route.fulfill(json={**_results(["One"]), "notes": notes}))
    page.fill("#draft", SENTENCE)
    settled(page)
    assert page.locator("#library-notes").inner_text() == notes[0]
    page.unroute("**/api/suggest")
    both = [*notes, "2 papers came after the model was trained."]
    page.route("**/api/suggest", lambda route: route.fulfill(json={**_results(["One"]), "notes": both}))
    page.fill("#draft", f"{SENTENCE} more")
    until(page, "document.getElementById('library-notes').textContent.includes('(1 more note)')")
    assert page.get_by_text(both[1]).is_hidden(), "several notes take one line until they are opened"
    page.locator("#library-notes summary").click()
    assert page.get_by_text(both[1]).is_visible()
    page.unroute("**/api/suggest")
    page.fill("#draft", "")
    page.wait_for_selector("#library-notes", state="hidden")


def test_scores_and_features_are_hidden_until_details_are_opened(page: Any) -> None:
    page.fill("#draft", SENTENCE)
    settled(page)
    card = page.locator("#suggestions .card").first
    assert card.locator(".reasons li").count() > 0
    score = card.locator("details li").last
    assert score.text_content().startswith("Score: ")
    assert score.is_hidden()
    card.get_by_text("Details").click()
    assert score.is_visible()


def test_a_new_list_starts_at_the_top(page: Any) -> None:
    page.fill("#draft", SENTENCE)
    settled(page)
    page.locator("#suggestions .card").last.scroll_into_view_if_needed()
    assert page.evaluate("document.getElementById('suggestions').scrollTop") > 0
    page.fill("#draft", "Boats\n\nApproximate nearest neighbour search in navigable small world graphs is fast")
    until(page, "document.getElementById('suggestions').scrollTop === 0")


def test_the_page_asks_for_a_token_once(new_page: Callable[..., Any], tmp_path: Path) -> None:
    token = "a-token-of-the-tests-1234"
    with serving(tmp_path / "library", "--token", token) as address:
        page = new_page(address)
        page.wait_for_selector("#token[open]")
        assert "this browser stores it until you delete the data of this site" in " ".join(page.inner_text("#token").split())
        assert not page.is_visible("#token-wrong")
        assert not page.is_visible("#token-readable"), "nobody else can read a connection to this machine"
        page.fill("#token-value", "wrong")
        page.keyboard.press("Enter")
        page.wait_for_selector("#token[open] #token-wrong:not([hidden])")
        page.fill("#token-value", token)
        page.keyboard.press("Enter")
        until(page, "document.getElementById('server').textContent.includes('papers')")
        assert page.evaluate("JSON.parse(localStorage['citewell.token'])") == token
        page.reload()
        until(page, "document.getElementById('server').textContent.includes('papers')")
        assert not page.locator("#token[open]").count()
        other = new_page(f"{address}#token={token}")
        until(other, "document.getElementById('server').textContent.includes('papers')")
        assert token not in other.url
