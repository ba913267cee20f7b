"""Takes the pictures of the page that the docs show, from the page itself with the demo's library and draft: ``make pictures``.

Needs Debian's Chromium. The pictures are stored with few colours, which keeps them small and changes nothing that one sees, and
with a digest of the page's files, by which a test knows whether they are current.
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image
from PIL.PngImagePlugin import PngInfo

from citewell import demo
from citewell.errors import CitewellError
from citewell.library import Library
from citewell.pipeline.registry import pipeline

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

FOLDER = Path(__file__).with_name("page")
SOURCES = Path(__file__).parents[1] / "citewell" / "serve" / "page"
_COLOURS = 128
_WIDE = (1280, 820)
_PHONE = (390, 844)
_QUESTION = "does co-citation predict relevance?"


def digest() -> str:
    """What the page looks like follows from these files."""
    whole = hashlib.sha256()
    for path in sorted(SOURCES.iterdir()):
        whole.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return whole.hexdigest()


@contextmanager
def _serving(folder: Path) -> Iterator[str]:
    """The address of a server of the demo's library, as `citewell demo` makes it."""
    with Library(folder) as library:
        library.add([demo.path("library.jsonl")])
        pipeline().prepare(library)
    command = [sys.executable, "-m", "citewell", "serve", "--no-open", "--port", "0", "--json", "--library", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["url"]
    finally:
        process.terminate()
        process.wait(20)


def _page(browser: Browser, address: str, size: tuple[int, int], scheme: str = "light") -> Page:
    page = browser.new_page(
        viewport={"width": size[0], "height": size[1]},
        color_scheme="dark" if scheme == "dark" else "light",
        device_scale_factor=1,
    )
    page.goto(address)
    return page


def _desk(page: Page) -> None:
    """The demo's draft is open, the cursor stands in one of its gaps, and a paper is cited there."""
    with page.expect_response("**/api/check"):  # after which the claims are marked
        page.set_input_files("#file", [demo.path("draft.tex"), demo.path("refs.bib")])
    text = page.input_value("#draft")
    gap = text.index(r"\cite{}", text.index("Citeomatic"))
    while page.evaluate("draft.selectionStart") != gap:
        page.keyboard.press("F8")
    page.wait_for_selector("#stage:not([data-stage=refined])")
    page.wait_for_selector("#stage[data-stage=refined]")
    page.locator("#suggestions [data-act=cite]").first.click()
    page.mouse.move(2, 2)
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_timeout(400)


def _library(page: Page) -> None:
    page.fill("#question", _QUESTION)
    page.locator("#found-count", has_text="The best").wait_for()
    page.locator("#search-title").evaluate("title => document.activeElement.blur()")


def _save(page: Page, name: str) -> None:
    picture = Image.open(io.BytesIO(page.screenshot(animations="disabled", caret="hide"))).convert("RGB")
    notes = PngInfo()
    notes.add_text("page", digest())
    picture.quantize(_COLOURS, dither=Image.Dither.NONE).save(FOLDER / f"{name}.png", optimize=True, pnginfo=notes)


def main() -> None:
    """Take them all."""
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium")
    if path is None:
        raise CitewellError("the pictures of the page are taken in Chromium; install it: apt-get install chromium")
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, _serving(Path(folder)) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for name, size, scheme in (("desk", _WIDE, "light"), ("desk-dark", _WIDE, "dark"), ("phone", _PHONE, "light")):
            page = _page(browser, address, size, scheme)
            _desk(page)
            _save(page, name)
        page = _page(browser, f"{address}#library", _WIDE)
        _library(page)
        _save(page, "library")
        browser.close()


if __name__ == "__main__":
    main()
