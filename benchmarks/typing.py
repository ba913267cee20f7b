"""How long a writer waits from a key press to the fast results on the page, in a real browser with a real server.

    python -m benchmarks.typing [LIBRARY]

Words are typed into a manuscript at the pace of a person, with a pause after every few words. The time from the last key to
the new list is measured, including the page's own delay before it sends a request. LIBRARY defaults to that of the demo. Needs
Debian's Chromium.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from citewell import demo
from citewell.errors import CitewellError
from citewell.library import Library

_WORDS = """documents are mixtures of topics that a generative model infers from their words while approximate nearest neighbour
search over navigable small world graphs finds vectors quickly and reciprocal rank fusion merges rankings from several sources
so that citation recommendation for a whole manuscript becomes a question of candidates and of how they are ordered""".split()
_AT_A_TIME = 3
_COPIES = (1, 20)
_WATCH = """() => {
  window.shown = 0;
  const look = () => { if (["fast", "refined"].includes(stage.dataset.stage)) window.shown ||= performance.now(); };
  new MutationObserver(look).observe(stage, { attributes: true, attributeFilter: ["data-stage"] });
  draft.addEventListener("input", () => { window.typed = performance.now(); window.shown = 0; });
}"""


def waits(page: Page, text: str) -> list[float]:
    """Milliseconds from the last key of each few words to their fast results."""
    page.fill("#draft", text)
    page.wait_for_selector("#stage[data-stage=refined]", timeout=60_000)
    page.evaluate(_WATCH)
    page.focus("#draft")
    page.keyboard.press("Control+End")
    page.keyboard.type("\n\n")
    milliseconds = []
    for start in range(0, len(_WORDS), _AT_A_TIME):
        page.keyboard.type(" " + " ".join(_WORDS[start : start + _AT_A_TIME]), delay=30)
        while not page.evaluate("window.shown"):
            page.wait_for_timeout(10)
        milliseconds.append(page.evaluate("window.shown - window.typed"))
        page.wait_for_timeout(300)
    return milliseconds


def main() -> None:
    path = shutil.which("chromium")
    if path is None:
        raise CitewellError("the page is timed in Chromium; install it: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder:
        library = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder) / "library"
        if len(sys.argv) < 2:
            with Library(library) as opened:
                opened.add([demo.path("library.jsonl")])
        command = [sys.executable, "-m", "citewell", "serve", "--no-open", "--port", "0", "--json", "--library", str(library)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server, sync_playwright() as playwright:
            assert server.stdout is not None
            address = json.loads(server.stdout.readline())["url"]
            browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
            print(f"{'characters':>10} {'answers':>8} {'median ms':>10} {'90% ms':>8} {'worst ms':>9}")
            for copies in _COPIES:
                page = browser.new_page()
                page.goto(address)
                text = demo.path("draft.md").read_text("utf-8") * copies
                waited = sorted(waits(page, text))
                ninth = waited[int(0.9 * (len(waited) - 1))]
                print(
                    f"{len(text):>10,} {len(waited):>8} {statistics.median(waited):>10.0f} {ninth:>8.0f} {waited[-1]:>9.0f}",
                    flush=True,
                )
                page.close()
            browser.close()
            server.terminate()


if __name__ == "__main__":
    main()
