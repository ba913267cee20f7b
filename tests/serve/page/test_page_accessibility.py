"""Accessibility and security: keyboard only, phones, screen readers, and hostile papers."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from browsing import settled, titles, until

from citewell import demo

DRAFT = demo.path("draft.md").read_text("utf-8")


def _focused(page: Any) -> str:
    return page.evaluate("document.activeElement.id || document.activeElement.className")  # type: ignore[no-any-return]


def test_keyboard_only(page: Any) -> None:
    keys = page.keyboard
    keys.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the manuscript"
    keys.press("Enter")
    assert _focused(page) == "draft"
    keys.insert_text(DRAFT)
    page.wait_for_selector("#mirror .gap")
    keys.press("F8")
    until(page, "document.getElementById('place').textContent === 'For this gap'")
    settled(page)
    keys.press("Control+Enter")
    assert _focused(page).startswith("card")
    shown = titles(page)
    keys.press("ArrowDown")
    assert page.evaluate("document.activeElement.querySelector('h3').textContent") == shown[1]
    keys.press("x")
    keys.press("Home")
    assert titles(page) == [shown[0], *shown[2:]]
    keys.press("c")
    assert page.locator("#chosen-list li").count() == 1
    keys.press("o")
    page.wait_for_selector("#paper[open]")
    keys.press("Escape")
    page.wait_for_selector("#paper", state="hidden")
    assert _focused(page).startswith("card") or page.evaluate("Boolean(document.activeElement.closest('.card'))")
    keys.press("r")
    until(page, "document.getElementById('place').textContent.startsWith('Related')")
    until(page, "document.activeElement.classList.contains('card')")
    keys.press("Escape")
    assert page.locator("#suggestions h3").first.inner_text() == shown[0]
    keys.press("Escape")
    assert _focused(page) == "draft"
    for _ in range(60):
        keys.press("Tab")
        if _focused(page) == "save-bibtex":
            break
    with page.expect_download() as download:
        keys.press("Enter")
    assert Path(download.value.path()).read_text("utf-8").startswith("@")


def test_no_card_is_under_the_heading_and_the_page_does_not_scroll(page: Any) -> None:
    page.fill("#draft", DRAFT)
    page.wait_for_selector("#mirror .gap")
    settled(page)
    page.locator("#filters summary").click()
    page.keyboard.press("Escape")
    page.keyboard.press("Control+Enter")
    page.keyboard.press("End")
    for _ in range(9):
        page.keyboard.press("k")
        card, heading = page.evaluate(
            """() => [document.activeElement, document.querySelector("#panel > header")]
              .map((each) => each.getBoundingClientRect()).map(({ top, bottom }) => [top, bottom])"""
        )
        assert card[0] >= heading[1]
    assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")


@pytest.mark.parametrize("width", [320, 1280])
def test_the_mirror_wraps_like_the_text(new_page: Callable[..., Any], server: str, width: int) -> None:
    page = new_page(server, viewport={"width": width, "height": 800})
    page.fill("#draft", DRAFT + "\n\n\ttabs\tand 😀 𝒳𝒴 signs   with   spaces \n" + "aVeryLongWord" * 30 + "\n")
    # Each of the two alone must be as high as both together.
    alone = """(one, other) => {
      other.style.display = "none";
      one.style.height = one.tagName === "TEXTAREA" ? "0" : "auto";
      const height = one.scrollHeight;
      other.style.display = one.style.height = "";
      return height;
    }"""
    heights = page.evaluate(f"() => {{ const alone = {alone}; return [alone(mirror, draft), alone(draft, mirror)]; }}")
    assert heights[0] == heights[1] or heights[0] == page.evaluate("sheet.clientHeight") > heights[1]


def test_page_keys_move_by_the_visible_height(page: Any) -> None:
    page.fill("#draft", "".join(f"Line {at} 😀\n" for at in range(200)))
    page.evaluate("draft.setSelectionRange(0, 0)")
    line = "draft.value.slice(0, draft.selectionEnd).split('\\n').length - 1"
    page.keyboard.press("PageDown")
    once = page.evaluate(line)
    assert 5 < once < 40
    page.keyboard.press("Shift+PageDown")
    assert page.evaluate(line) == 2 * once
    assert page.evaluate("draft.selectionEnd - draft.selectionStart") > 0
    assert page.evaluate("sheet.scrollTop") > 0
    page.keyboard.press("PageUp")
    assert page.evaluate(line) == once
    for _ in range(30):
        page.keyboard.press("PageDown")
    assert page.evaluate("draft.selectionEnd === draft.value.length")


def test_the_focus_is_visible(page: Any) -> None:
    page.fill("#draft", DRAFT)
    settled(page)
    seen = 0
    page.evaluate("document.activeElement.blur()")
    for _ in range(40):
        page.keyboard.press("Tab")
        outline = page.evaluate(
            """() => {
              const it = document.activeElement;
              if (it === document.body || it.id === "draft") return null;  // its frame shows the focus
              const style = getComputedStyle(it);
              return style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
            }"""
        )
        if outline is not None:
            seen += 1
            assert outline, _focused(page)
    assert seen > 10


def test_no_horizontal_scrolling_on_a_phone(new_page: Callable[..., Any], server: str) -> None:
    page = new_page(server, viewport={"width": 320, "height": 700}, has_touch=True, is_mobile=True)
    sideways = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(sideways) == 0
    page.fill("#draft", DRAFT + "\n" + "aVeryLongWordWithoutAnyBreak" * 20)
    settled(page)
    page.locator("#filters summary").click()
    page.locator("[data-act=cite]").first.click()
    page.locator(".card summary").first.click()
    assert page.evaluate(sideways) == 0
    page.locator(".card .title").first.click()
    page.wait_for_selector("#paper[open] .abstract")
    assert page.evaluate(sideways) == 0
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Library").click()
    page.fill("#question", "latent topics")
    until(page, "document.getElementById('result-count').textContent.startsWith('The best')")
    assert page.evaluate(sideways) == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(new_page: Callable[..., Any], server: str, scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page = new_page(server, color_scheme=scheme, reduced_motion="reduce")

    def check(where: str) -> None:
        violations = Axe().run(page).response["violations"]
        assert not violations, (
            where,
            [(each["id"], each["nodes"][0]["html"], each["nodes"][0]["failureSummary"]) for each in violations],
        )

    check("an empty editor")
    page.fill("#draft", DRAFT)
    page.wait_for_selector("#mirror .gap")
    settled(page)
    page.locator("[data-act=cite]").first.click()
    page.locator("[data-act=dismiss]").nth(1).click()
    page.locator("#filters summary").click()
    page.locator(".card summary").first.click()
    check("the editor with suggestions")
    page.locator(".card .title").first.click()
    page.wait_for_selector("#paper[open] .abstract")
    check("a paper")
    page.keyboard.press("Escape")
    page.click("#help")
    check("the shortcuts")
    page.keyboard.press("Escape")
    page.click("#feedback-open")
    check("feedback")
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Library").click()
    page.fill("#question", "latent topics")
    until(page, "document.getElementById('result-count').textContent.startsWith('The best')")
    check("the library")


def test_the_switch_overrides_the_system_and_is_stored(new_page: Callable[..., Any], server: str) -> None:
    page = new_page(server, color_scheme="dark")
    background = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(background)
    page.click("#theme")
    light = page.evaluate(background)
    assert dark != light
    page.reload()
    assert page.evaluate(background) == light


def test_hostile_papers_and_drafts_stay_text(page: Any) -> None:
    script = "<script>window.pwned = 1</script><img src=x onerror='window.pwned = 1'>"
    page.fill("#draft", f"# {script}\n\nZeppelin moorings {script} hold airships in the wind [@?].\n")
    page.wait_for_selector("#mirror .gap")
    settled(page)
    page.wait_for_selector("#suggestions .card[data-id=hostile]")
    assert "<script>" in page.locator("#suggestions .card[data-id=hostile] h3").inner_text()
    page.locator(".card[data-id=hostile] [data-act=cite]").click()
    page.locator(".card[data-id=hostile] .title").click()
    page.wait_for_selector("#paper[open] .abstract")
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Library").click()
    page.fill("#question", "zeppelin moorings")
    until(page, "document.getElementById('result-count').textContent.startsWith('The best')")
    assert "onclick" in page.inner_text("#results")
    page.reload()
    page.wait_for_selector("#results li")
    assert page.evaluate("window.pwned") is None
    assert page.evaluate("document.querySelectorAll('main script, main img, main b, dialog script').length") == 0


def test_the_page_contacts_no_other_server(new_page: Callable[..., Any], server: str) -> None:
    urls: list[str] = []
    page = new_page("about:blank")
    page.on("request", lambda request: urls.append(request.url))
    page.goto(server)
    page.fill("#draft", DRAFT)
    settled(page)
    assert urls
    assert all(url.startswith(server) or re.match(r"(blob|data):", url) for url in urls)
