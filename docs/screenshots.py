"""Takes the screenshots of the web page for the docs, with the demo's library and draft: ``make pictures``.

Needs Debian's Chromium. The pictures have a small palette, which keeps the files small without a visible difference, and a
digest of the page's files, so that a test can tell whether they are current.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
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
_DESKTOP = (1280, 820)
_PHONE = (390, 844)
_COMMENTS = re.compile(rb"/\*.*?\*/|^\s*//[^\n]*", re.DOTALL | re.MULTILINE)
_QUERY = "does co-citation predict relevance?"


def digest() -> str:
    """A digest of the files that determine what the page looks like, without their comments."""
    digest = hashlib.sha256()
    for path in sorted(SOURCES.iterdir()):
        content = _COMMENTS.sub(b"", path.read_bytes()) if path.suffix in (".css", ".js") else path.read_bytes()
        digest.update(path.name.encode() + b"\0" + content + b"\0")
    return digest.hexdigest()


@contextmanager
def _serving(folder: Path) -> Iterator[str]:
    """The URL of a server with the library of `citewell demo`."""
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


def _page(browser: Browser, url: str, size: tuple[int, int], scheme: str = "light") -> Page:
    page = browser.new_page(
        viewport={"width": size[0], "height": size[1]},
        color_scheme="dark" if scheme == "dark" else "light",
        device_scale_factor=1,
    )
    page.goto(url)
    return page


def _show_editor(page: Page) -> None:
    """Open the demo's draft, move the cursor to a gap, and cite a paper there."""
    with page.expect_response("**/api/check"):  # then the claims are marked
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


def _show_library(page: Page) -> None:
    """Search in the library view."""
    page.fill("#question", _QUERY)
    page.locator("#result-count", has_text="The best").wait_for()
    page.locator("#search-title").evaluate("title => document.activeElement.blur()")


def _save(page: Page, name: str) -> None:
    picture = Image.open(io.BytesIO(page.screenshot(animations="disabled", caret="hide"))).convert("RGB")
    notes = PngInfo()
    notes.add_text("page", digest())
    picture.quantize(_COLOURS, dither=Image.Dither.NONE).save(FOLDER / f"{name}.png", optimize=True, pnginfo=notes)


def main() -> None:
    """Take all screenshots."""
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium")
    if path is None:
        raise CitewellError("the screenshots need Chromium; install it with: apt-get install chromium")
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, _serving(Path(folder)) as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for name, size, scheme in (
            ("editor", _DESKTOP, "light"),
            ("editor-dark", _DESKTOP, "dark"),
            ("phone", _PHONE, "light"),
        ):
            page = _page(browser, url, size, scheme)
            _show_editor(page)
            _save(page, name)
        page = _page(browser, f"{url}#library", _DESKTOP)
        _show_library(page)
        _save(page, "library")
        browser.close()


if __name__ == "__main__":
    main()
