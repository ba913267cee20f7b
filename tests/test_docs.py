"""Pages that are generated are what their generator writes."""

from __future__ import annotations

import json
import re
from pathlib import Path

from PIL import Image

from docs import results, results_pages, screenshots

ROOT = Path(__file__).parents[1]


def test_the_pages_of_results_are_made_from_the_stored_figures() -> None:
    pages = results_pages.pages(json.loads(results.DATA.read_text("utf-8")))
    assert set(results_pages.FOLDER.glob("*.md")) == set(pages) - {results_pages.PAGE}
    for path, text in pages.items():
        assert path.read_text("utf-8") == text, "run 'python -m docs.results --write-only'"


def test_links_between_pages_lead_somewhere() -> None:
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"(?:\]\(|<img src=\")([^)#:\"]+)[)\"]", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_pictures_of_the_page_show_it_as_it_is() -> None:
    pictures = list(screenshots.FOLDER.glob("*.png"))
    assert pictures
    for path in pictures:
        assert path.stat().st_size < 200_000, f"{path.name} is large"
        with Image.open(path) as picture:
            assert picture.info["page"] == screenshots.digest(), "run 'python -m docs.screenshots'"
