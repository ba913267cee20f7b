"""What the README and the documentation show runs: every fenced block of every page, in order, in a folder of its own."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from snippets import SHELL, Block, Session, blocks

ROOT = Path(__file__).parents[2]
PAGES = {
    str(path.relative_to(ROOT)): path
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    # Generated pages are tested with their generators, extension guides in test_extension_guides.py.
    if path.name not in ("results.md", "commands.md") and path.parent.name != "results" and not path.name.startswith("add-a-")
}
BLOCKS = {name: list(blocks(path, name)) for name, path in PAGES.items()}
RUNS = (*SHELL, "python", "toml")


def _runnable(name: str, *, slow: bool) -> list[Block]:
    unwanted = ("not run",) if slow else ("not run", "slow")
    return [block for block in BLOCKS[name] if block.language in RUNS and block.directive not in unwanted]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in PAGES if _runnable(name, slow=False)])
def test_the_blocks_of_a_page_run(name: str, session: Session) -> None:
    for block in _runnable(name, slow=False):
        session.run(block)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in PAGES if any(block.directive == "slow" for block in BLOCKS[name])])
def test_the_slow_blocks_of_a_page_run(name: str, session: Session) -> None:
    for block in _runnable(name, slow=True):
        session.run(block)


@pytest.mark.parametrize("block", [b for name in PAGES for b in BLOCKS[name] if b.directive == "not run"], ids=str)
def test_a_block_that_is_not_run_says_why(block: Block) -> None:
    assert block.reason, f"{block}: say why, as in <!-- not run: needs the network -->"
    pytest.skip(block.reason)


def test_commands_are_in_shell_blocks() -> None:
    """A block without a language would escape the tests."""
    for name in PAGES:
        for block in BLOCKS[name]:
            if re.search(r"^\s*(citewell|python -m|pip|make|curl) ", block.text, re.MULTILINE):
                assert block.language in (*SHELL, "text", "yaml", "toml"), f"{block}: mark it as sh"


def test_the_files_that_pages_name_exist() -> None:
    for name, path in PAGES.items():
        text = re.sub(r"^```.*?^```", "", path.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
        for file in re.findall(r"`((?:citewell|tests|benchmarks|docs)/[\w./-]+|(?:[a-z_]+/)+[a-z_]+\.(?:py|toml))`", text):
            assert (ROOT / file).exists() or (ROOT / "citewell" / file).exists(), f"{name}: there is no {file}"


def test_the_site_builds_and_loads_nothing_from_other_hosts(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", tmp_path], cwd=ROOT, check=True
    )
    for page in tmp_path.rglob("*.html"):
        loaded = re.findall(r'<(?:script|link|img|iframe)[^>]*(?:src|href)="(?:https?:)?//', page.read_text("utf-8"))
        assert not loaded, f"{page.relative_to(tmp_path)} loads from another host"
