"""Adds the judgements of copies of a study."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from citewell.errors import CitewellError
from citewell.judgements import Judgement, Record, read_records
from citewell.user_study.log import Log, merge
from citewell.user_study.study import Study


def import_files(study: Study, files: Sequence[Path]) -> tuple[int, int]:
    """Append the judgements of files to a study; how many were new, and how many it had. A wrong file changes nothing."""
    records: list[Record] = []
    for file in files:
        for record in read_records([file]):
            _check(study, file, record)
            records.append(record)
    different = list(dict.fromkeys(records))
    added = merge(Log(study.judgements), different)
    return added, len(different) - added


def _check(study: Study, file: Path, record: Record) -> None:
    context = study.by_id.get(record.query)
    if context is None:
        raise CitewellError(
            f"{file} judges {record.query!r}, which is no context of {study.folder}; import it into its own study"
        )
    if isinstance(record, Judgement) and record.paper not in context.papers():
        raise CitewellError(
            f"{file} judges {record.paper!r}, which {study.folder} does not suggest for {record.query!r};"
            " import it into its own study"
        )
    if study.settings.judges and record.judge not in study.settings.judges:
        raise CitewellError(f"{record.judge} in {file} is not a judge of {study.folder}: {', '.join(study.settings.judges)}")
