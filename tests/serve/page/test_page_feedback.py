"""Feedback on the page: nothing without consent; accepted and dismissed suggestions with it, and both can be taken back."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import serving, settled, until

from citewell.feedback import Feedback
from citewell.judgements import Judgement, read_judgements

DRAFT = "# Topics in boats\n\nDocuments are mixtures of topics that a generative model infers from words [@?]. So are boats.\n"


@pytest.fixture(scope="module")
def library(demo_library: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(demo_library, tmp_path_factory.mktemp("feedback") / "library"))


@pytest.fixture(scope="module")
def address(library: Path) -> Iterator[str]:
    """A server whose library no other module uses."""
    with serving(library) as url:
        yield url


@pytest.fixture
def feedback_page(library: Path, address: str, new_page: Callable[..., Any]) -> Any:
    """The page at a gap, with no feedback."""
    shutil.rmtree(Feedback(library).folder, ignore_errors=True)
    page = new_page(address)
    page.route("**/api/suggest", _with_fast_pipeline)
    page.fill("#draft", DRAFT)
    page.wait_for_selector("#mirror .gap")
    page.keyboard.press("Shift+F8")
    settled(page)
    page.wait_for_timeout(700)
    return page


def _with_fast_pipeline(route: Any) -> None:
    """What is refined does not matter here, and the models take long to load."""
    body = json.loads(route.request.post_data)
    route.continue_(post_data=json.dumps({**body, "pipeline": "fast"}))


def _press(page: Any, act: str, at: int) -> str:
    card = page.locator("#suggestions .card").nth(at)
    paper: str = card.get_attribute("data-id")
    card.locator(f"[data-act={act}]").click()
    return paper


def _recorded(page: Any, library: Path, count: int) -> list[Judgement]:
    """All lines of the file, when there are as many as this."""
    file = Feedback(library).file
    for _ in range(400):
        lines = list(read_judgements([file])) if file.is_file() else []
        if len(lines) >= count:
            break
        page.wait_for_timeout(25)
    assert len(lines) == count
    return lines


def test_consent_accept_dismiss_undo_and_delete(feedback_page: Any, library: Path) -> None:
    page, feedback = feedback_page, Feedback(library)
    until(page, "document.getElementById('feedback-open').textContent === 'Feedback off'")
    _press(page, "cite", 0)
    _press(page, "cite", 0)
    assert not feedback.folder.exists(), "nothing is recorded, and no file made, without consent"

    page.click("#feedback-open")
    assert not page.is_checked("#feedback-on")
    assert str(feedback.file) in page.inner_text("#feedback-notice")
    assert "nothing leaves this machine" in page.inner_text("#feedback-notice")
    page.check("#feedback-on")
    until(page, "document.getElementById('feedback-open').textContent === 'Feedback on'")
    page.keyboard.press("Escape")

    cited = _press(page, "cite", 0)
    dismissed = _press(page, "dismiss", 1)
    accepted, rejected = _recorded(page, library, 2)
    assert (accepted.paper, accepted.mark, accepted.source) == (cited, "relevant", "desk")
    assert (rejected.paper, rejected.mark) == (dismissed, "irrelevant")
    assert accepted.query == rejected.query, "both are for one gap"
    assert accepted.text.task == "local" and "TARGETCIT" in accepted.text.context and accepted.text.title == "Topics in boats"

    page.locator(".notice", has_text="Dismissed").get_by_role("button", name="Undo").click()
    page.wait_for_selector(f'#suggestions .card[data-id="{dismissed}"]')
    assert _recorded(page, library, 3)[-1].mark == "unclear"
    page.evaluate("draft.setRangeText('New words. ', 20, 20), draft.dispatchEvent(new Event('input'))")  # another text
    page.locator("#chosen-list .close").click()
    taken_back = _recorded(page, library, 4)[-1]
    assert (taken_back.paper, taken_back.query, taken_back.mark) == (cited, accepted.query, "unclear")
    assert feedback.records() == []
    page.locator(".notice", has_text="Removed").get_by_role("button", name="Undo").click()
    assert _recorded(page, library, 5)[-1].text == accepted.text
    assert [each.mark for each in feedback.records()] == ["relevant"]

    page.reload()
    page.click("#feedback-open")
    until(page, "document.getElementById('feedback-count').textContent === 'Recorded so far: 1 cited, 0 dismissed.'")
    page.on("dialog", lambda dialog: dialog.accept())
    page.click("#feedback-delete")
    until(page, "document.getElementById('feedback-delete').disabled")
    assert not feedback.file.exists()
    page.uncheck("#feedback-on")
    until(page, "document.getElementById('feedback-open').textContent === 'Feedback off'")
    assert not feedback.on


def test_a_mark_that_cannot_be_recorded_leaves_the_page_working(feedback_page: Any, library: Path) -> None:
    page = feedback_page
    page.click("#feedback-open")
    page.check("#feedback-on")
    until(page, "document.getElementById('feedback-open').textContent === 'Feedback on'")
    page.keyboard.press("Escape")
    page.route("**/api/feedback", lambda route: route.fulfill(status=507, json={"detail": "The disk is full."}))
    _press(page, "cite", 0)
    page.wait_for_selector(".notice:has-text('The disk is full. Suggestions are not affected.')")
    dismissed = _press(page, "dismiss", 1)
    settled(page)
    assert page.locator("#chosen-list li").count() == 1
    assert page.locator(f'#suggestions .card[data-id="{dismissed}"]').count() == 0
    assert page.locator(".notice", has_text="The disk is full").count() == 1, "it is said once"
