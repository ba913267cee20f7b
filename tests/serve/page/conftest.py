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


def _missing(what: str) -> None:
    """Skip with the command that installs it; fail in CI, where the page must be tested."""
    message = f"the tests of the page need {what}: {HOW}"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """The system's Chromium."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _missing("Playwright")
    path = shutil.which("chromium")
    if path is None:
        _missing("Debian's chromium")
    with sync_playwright() as playwright:
        # Chromium has no sandbox for root, which CI runs as.
        options = ["--no-sandbox"] if os.geteuid() == 0 else []
        chromium = playwright.chromium.launch(executable_path=path, args=options)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def demo_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's library and a paper whose title contains a script."""
    folder = tmp_path_factory.mktemp("demo")
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
    """The URL of a server with the demo's library."""
    with serving(demo_library) as address:
        yield address


@pytest.fixture
def new_page(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens pages, each like a first visit; any script error fails the test."""
    contexts, errors = [], []

    def make(address: str, **options: Any) -> Any:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        context.set_default_timeout(15_000)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(f"{error}\n{error.stack}"))
        page.on("console", lambda line: errors.append(line.text) if "Content Security Policy" in line.text else None)
        page.goto(address)
        return page

    yield make
    for context in contexts:
        context.close()
    assert not errors, errors


@pytest.fixture
def page(new_page: Callable[..., Any], server: str) -> Any:
    """The page at a first visit, on a wide screen."""
    return new_page(server)
