"""Findings of an audit for programs: JSON as everywhere here, SARIF 2.1.0 for code scanning, and GitHub's workflow commands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from citewell import __version__
from citewell.draft.audit import ABOUT, KINDS, Finding
from citewell.papers import Draft, Place
from citewell.serialize import suggestion as of_suggestion

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_COMMANDS = {"note": "notice", "warning": "warning", "error": "error"}

Audited = tuple[str, Draft, Sequence[Finding]]
"""The path of a draft, the draft, and what was found in it."""


def as_json(name: str, findings: Sequence[Finding]) -> dict[str, Any]:
    """What was found in the draft of this path, and how much of each kind."""
    counts = {kind: sum(finding.kind == kind for finding in findings) for kind in KINDS}
    return {"draft": name, "counts": counts, "findings": [_finding(name, finding) for finding in findings]}


def _finding(name: str, finding: Finding) -> dict[str, Any]:
    place = finding.place
    found: dict[str, Any] = {
        "kind": finding.kind,
        "level": finding.level,
        "message": finding.message,
        "file": path_of(name, place),
        "line": place.line,
        "begin": place.begin,
        "end": place.end,
    }
    if finding.key:
        found["key"] = finding.key
    if finding.score is not None:
        found["score"] = finding.score
        found["suggestions"] = [of_suggestion(each) for each in finding.suggestions]
    return found


def path_of(name: str, place: Place) -> str:
    """The file of a place, for a draft of this path; files that the draft takes in lie beside it."""
    return str(Path(name).parent / place.file) if place.file and name else name or place.file


def sarif(audited: Iterable[Audited]) -> dict[str, Any]:
    """All findings as one SARIF log."""
    results = [_result(name, draft, finding) for name, draft, findings in audited for finding in findings]
    rules = [
        {"id": kind, "shortDescription": {"text": ABOUT[kind]}, "defaultConfiguration": {"level": level}}
        for kind, level in KINDS.items()
    ]
    driver = {"name": "citewell", "semanticVersion": __version__, "rules": rules}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _result(name: str, draft: Draft, finding: Finding) -> dict[str, Any]:
    place = finding.place
    location = {"artifactLocation": {"uri": _uri(path_of(name, place))}, "region": _region(place, draft.sources)}
    return {
        "ruleId": finding.kind,
        "ruleIndex": list(KINDS).index(finding.kind),
        "level": finding.level,
        "message": {"text": _said(finding)},
        "locations": [{"physicalLocation": location}],
    }


def _uri(path: str) -> str:
    return Path(path).as_uri() if Path(path).is_absolute() else quote(Path(path).as_posix())


def _region(place: Place, sources: Mapping[str, str]) -> dict[str, int]:
    """Lines and columns, counted from 1; the last column is the one behind the end."""
    text = sources.get(place.file, "")
    line, column = _line_and_column(text, place.begin)
    last, end = _line_and_column(text, max(place.begin, place.end))
    if place.end <= place.begin:
        return {"startLine": place.line}
    return {"startLine": line, "startColumn": column, "endLine": last, "endColumn": end}


def _line_and_column(text: str, at: int) -> tuple[int, int]:
    return text.count("\n", 0, at) + 1, at - (text.rfind("\n", 0, at) + 1) + 1


def github(audited: Iterable[Audited]) -> Iterable[str]:
    """A workflow command for each finding, which GitHub shows beside the line."""
    for name, draft, findings in audited:
        for finding in findings:
            region = _region(finding.place, draft.sources)
            where = {
                "file": path_of(name, finding.place),
                "line": str(region["startLine"]),
                "endLine": str(region.get("endLine", region["startLine"])),
                "title": f"citewell: {finding.kind}",
            }
            said = ",".join(f"{key}={_property(value)}" for key, value in where.items())
            yield f"::{_COMMANDS[finding.level]} {said}::{_data(_said(finding))}"


def _said(finding: Finding) -> str:
    """The message, with what might be cited."""
    papers = [
        f"{each.paper.title or each.paper.id} ({each.paper.year or 'no year'}), {each.paper.id}" for each in finding.suggestions
    ]
    return "\n".join([finding.message, *(f"- {paper}" for paper in papers)])


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
