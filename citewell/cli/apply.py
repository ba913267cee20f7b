"""Accepting suggestions: the options ``--accept``, ``--take``, ``--bib`` and ``--write`` of ``citewell suggest``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from citewell.cli.options import print_json, tell
from citewell.draft.manuscript import Manuscript
from citewell.draft.patch import Patch


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
        _record(manuscript, patch)
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


def _record(manuscript: Manuscript, patch: Patch) -> None:
    """Record the papers that were chosen by gap, if the user consents; a failure is a note.

    ``best`` is no choice: to learn from it would teach the ranking that its own order is right.
    """
    from citewell.feedback import Feedback, FeedbackError, citing_text

    assert manuscript.library is not None
    feedback = Feedback(manuscript.library.folder)
    if not feedback.on:
        return
    try:
        for query, paper in patch.accepted:
            known = [name for name in query.known if name != paper]
            text = citing_text(query.task, query.title, query.abstract, query.context, query.authors, known)
            feedback.record(text, paper, "relevant")
    except FeedbackError as error:
        tell([str(error)])
