"""A real server, a real library and Debian's Chromium for the tests of the page."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import serving

from citewell import demo
from citewell.library import Library

HOW = "apt-get install chromium, and pip install -e '.[dev]'"


def _lacking(what: str) -> None:
    """Skip with the command that mends it; in CI, where the page must be tested, fail."""
    message = f"the page is tested in Chromium, and {what} is missing: {HOW}"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium, as the system has it."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _lacking("Playwright")
    path = shutil.which("chromium")
    if path is None:
        _lacking("Debian's chromium")
    with sync_playwright() as playwright:
        # Root, as CI is, has no sandbox.
        options = ["--no-sandbox"] if os.geteuid() == 0 else []
        found = playwright.chromium.launch(executable_path=path, args=options)
        yield found
        found.close()


@pytest.fixture(scope="session")
def demo_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's library, and one paper whose title tries to be a script."""
    folder = tmp_path_factory.mktemp("desk")
    hostile = folder / "hostile.jsonl"
    hostile.write_text(json.dumps(HOSTILE) + "\n", encoding="utf-8")
    with Library(folder / "library") as library:
        library.add([demo.path("library.jsonl"), hostile])
    return folder / "library"


HOSTILE = {
    "id": "hostile",
    "title": "<script>window.pwned = 1</script><img src=x onerror='window.pwned = 1'> zeppelin moorings",
    "abstract": "Zeppelin moorings hold <b onclick='window.pwned = 1'>airships</b>. &lt;script&gt;pwned = 1&lt;/script&gt;",
    "authors": ["<svg onload='window.pwned = 1'>"],
    "year": 1931,
    "venue": "</style><script>window.pwned = 1</script>",
}


@pytest.fixture(scope="session")
def server(demo_library: Path) -> Iterator[str]:
    """The address of a server of the demo's library."""
    with serving(demo_library) as address:
        yield address


@pytest.fixture
def new_page(browser: Any) -> Iterator[Callable[..., Any]]:
    """Makes pages, each like a first visit; whatever breaks in one of them fails the test."""
    contexts, broken = [], []

    def make(address: str, **options: Any) -> Any:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        context.set_default_timeout(15_000)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: broken.append(f"{error}\n{error.stack}"))
        page.on("console", lambda line: broken.append(line.text) if "Content Security Policy" in line.text else None)
        page.goto(address)
        return page

    yield make
    for context in contexts:
        context.close()
    assert not broken, broken


@pytest.fixture
def page(new_page: Callable[..., Any], server: str) -> Any:
    """The page of a first visit, on a wide screen."""
    return new_page(server)
