"""Accepting suggestions: the options ``--accept``, ``--take``, ``--bib`` and ``--write`` of ``citewell suggest``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from citewell.cli.options import print_json, tell
from citewell.draft.manuscript import Manuscript


def accept(
    manuscript: Manuscript,
    choices: Sequence[str],
    add: Sequence[str],
    pipeline: str,
    write: bool,
    as_json: bool,
    filters: dict[str, Any],
    word_citations: str = "auto",
    output: Path | None = None,
) -> None:
    """Show how the choices change the draft and its bibliography, or write the changes."""
    if not choices and not add:
        raise click.UsageError("--write needs to know what to write: add --accept best, --accept GAP=ID or --take ID")
    patch = manuscript.accept(*choices, add=add, pipeline=pipeline, word_citations=word_citations, output=output, **filters)
    tell(patch.notes)
    if write:
        patch.write()
    files = [str(change.path) for change in patch.changes]
    if as_json:
        print_json({"keys": patch.keys, "diff": patch.diff(), "files": files, "written": write, "notes": patch.notes})
        return
    click.echo(patch.diff(), nl=False)
    if not files:
        tell(["nothing to change: the draft and its bibliography already have these papers"])
    elif write:
        tell([f"wrote {', '.join(files)}"])
    else:
        tell(["nothing is written yet; add --write to write these changes"])
