"""Helpers for the tests of the page."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_DROP = """([where, files]) => {
  const data = new DataTransfer();
  for (const [name, text] of files) data.items.add(new File([text], name));
  const target = document.querySelector(where);
  const how = { dataTransfer: data, bubbles: true, cancelable: true };
  for (const kind of ["dragover", "drop"]) target.dispatchEvent(new DragEvent(kind, how));
}"""


@contextmanager
def serving(library: Path, *options: str) -> Iterator[str]:
    """Run a server for a library in its own process; yields its URL."""
    command = [sys.executable, "-m", "citewell", "serve", "--no-open", "--port", "0", "--json", "--library", str(library)]
    process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["url"]
    finally:
        process.terminate()
        process.wait(20)


def drop(page: Any, where: str, *files: Path) -> None:
    """Drop files on an element of the page."""
    page.evaluate(_DROP, [where, [[path.name, path.read_text("utf-8")] for path in files]])


def until(page: Any, expression: str, argument: object = None, seconds: float = 15) -> None:
    """Wait until a JavaScript expression is true. Playwright's own waiting needs eval, which the page's policy forbids."""
    end = time.monotonic() + seconds
    while not page.evaluate(expression, argument):
        assert time.monotonic() < end, f"never came true: {expression}\n{page.inner_text('body')[:1500]}"
        page.wait_for_timeout(20)


def says(page: Any, name: str, text: str) -> None:
    """Wait until an element contains a text."""
    until(page, "([name, text]) => document.getElementById(name).textContent.includes(text)", [name, text])


def settled(page: Any) -> None:
    """Wait until the suggestions are refined and the draft is parsed."""
    until(page, "stage.dataset.stage === 'refined' && (!draft.value.trim() || counts.textContent !== '')")


def titles(page: Any) -> list[str]:
    """The titles of the suggestions."""
    return page.locator("#suggestions h3").all_inner_texts()  # type: ignore[no-any-return]
