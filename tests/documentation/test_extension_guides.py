"""The extension guides work as they are written: their files are written, their commands run, and filters are honoured.

The guide to readers has a test of its own in tests/plugins.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from snippets import Session, blocks, merge_toml

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
GUIDES = ROOT / "docs" / "guides"
CONTEXT = "documents are mixtures of topics, as in latent Dirichlet allocation [?]"


def _clone(session: Session) -> None:
    """What a reader has after `git clone`: the package and its pyproject.toml. Links keep the copy small and fast."""
    shutil.copytree(ROOT / "citewell", session.folder / "citewell", copy_function=_link)
    shutil.copy(ROOT / "pyproject.toml", session.folder)
    session.environment["PYTHONPATH"] = str(session.folder)


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def _suggested_years(session: Session, pipeline: str) -> list[int]:
    command = ["citewell", "suggest", "--context", CONTEXT, "--pipeline", pipeline, "--before", "2000", "--json"]
    done = subprocess.run(
        command, cwd=session.folder, env=session.environment, capture_output=True, text=True, timeout=120, check=True
    )
    return [suggestion["year"] for suggestion in json.loads(done.stdout)["suggestions"]]


@pytest.mark.parametrize(
    ("guide", "pipeline"), [("add-a-method.md", "rare-words"), ("add-a-reranker.md", "recent"), ("add-a-plugin.md", "titles")]
)
def test_a_guide_works_as_it_is_written(guide: str, pipeline: str, session: Session) -> None:
    written = list(blocks(GUIDES / guide, guide))
    if guide != "add-a-plugin.md":
        _clone(session)
    for block in written:
        session.run(block)
    touched = {block.title for block in written if block.title and block.title not in ("pipelines.toml", "notes.org")}
    assert len(touched) == 2, "an extension is two files: a module and its registration"
    assert (years := _suggested_years(session, pipeline)), "no suggestion from before 2000: the test shows nothing"
    assert max(years) < 2000


def test_a_stage_that_forgets_the_filters_returns_no_filtered_paper(session: Session) -> None:
    """The method of the guide without the filters: the pipeline applies them."""
    _clone(session)
    for block in blocks(GUIDES / "add-a-method.md", "add-a-method.md"):
        if block.title:
            session.run(block)
    module = session.folder / "citewell" / "retrieve" / "rare_words.py"
    code = module.read_text("utf-8")
    module.write_text(
        code.replace("request.filters", "Filters()").replace("import BM25Query", "import BM25Query, Filters"), "utf-8"
    )
    assert "Filters()" in module.read_text("utf-8")
    assert (years := _suggested_years(session, "rare-words"))
    assert max(years) < 2000


def test_lines_are_added_below_the_headings_of_a_toml_file() -> None:
    merged = merge_toml('[a]\nx = 1\n\n["b.c"]\ny = 2\n', '["b.c"]\nz = 3\n\n[d]\nw = 4\n')
    assert merged == '[a]\nx = 1\n\n["b.c"]\nz = 3\ny = 2\n\n[d]\nw = 4\n'
