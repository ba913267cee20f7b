"""The report of an audit, and its formats for programs: JSON, SARIF 2.1.0 for code scanning, GitHub's workflow commands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

from citewell import __version__, serialize
from citewell.draft.audit import DESCRIPTIONS, KINDS, LEVELS, Finding
from citewell.draft.overview import Overview
from citewell.papers import Draft, Place

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_GITHUB_COMMANDS = {"note": "notice", "warning": "warning", "error": "error"}


@dataclass(repr=False)
class Report:
    """The findings in one draft."""

    path: str
    """The path of the draft; empty for text without a file."""
    draft: Draft
    findings: list[Finding]
    notes: list[str] = field(default_factory=list)
    """What could not be checked, and what the library lacks for better suggestions."""
    judged: int | None = None
    """How many sentences the model judged; None where uncited claims were not looked for."""

    @cached_property
    def overview(self) -> Overview:
        """What was read: title, abstract, languages, and the number of words, sentences, citations, gaps and entries."""
        return Overview.of(self.draft)

    @property
    def counts(self) -> dict[str, int]:
        """The number of findings of each kind."""
        return {kind: sum(finding.kind == kind for finding in self.findings) for kind in KINDS}

    def file(self, place: Place) -> str:
        """The path of the file that a place is in."""
        return str(Path(self.path).parent / place.file) if place.file and self.path else self.path or place.file

    def to_json(self) -> dict[str, Any]:
        """What ``citewell check --json`` prints."""
        return {
            "draft": self.path,
            "read": self.overview.to_json(),
            "judged": self.judged,
            "counts": self.counts,
            "findings": [self._finding(finding) for finding in self.findings],
            "notes": self.notes,
        }

    def _finding(self, finding: Finding) -> dict[str, Any]:
        place = finding.place
        result: dict[str, Any] = {
            "kind": finding.kind,
            "level": finding.level,
            "message": finding.message,
            "file": self.file(place),
            "line": place.line,
            "begin": place.begin,
            "end": place.end,
        }
        if finding.key:
            result["key"] = finding.key
        if finding.score is not None:
            result["score"] = finding.score
            result["suggestions"] = [serialize.suggestion(each) for each in finding.suggestions]
        return result

    def __repr__(self) -> str:
        lines = [
            f"{self.file(each.place)}:{each.place.line}: {each.level}: {each.message} [{each.kind}]" for each in self.findings
        ]
        notes = (f"note: {note}" for note in self.notes)
        return "\n".join([*self.overview.lines(), *lines, *notes, summary([self])])


def summary(reports: Sequence[Report]) -> str:
    """The number of findings of each level, in one line; without findings also what they were looked for in."""
    levels = [finding.level for report in reports for finding in report.findings]
    counts = {level: levels.count(level) for level in reversed(LEVELS)}
    if levels:
        return ", ".join(f"{count} {level}{'s' if count != 1 else ''}" for level, count in counts.items())
    sentences = sum(report.overview.sentences for report in reports)
    gaps = sum(report.overview.gaps for report in reports)
    if not sentences:
        return "no findings: no running text was found"
    read = f"no findings in {sentences:,} sentence{'s' if sentences != 1 else ''}"
    unjudged = sum(report.overview.sentences - report.judged for report in reports if report.judged is not None)
    if unjudged:
        read += f", {unjudged:,} of which are not in English and were not judged"
    return f"{read}; {gaps} gap{' is' if gaps == 1 else 's are'} still open (citewell suggest fills them)" if gaps else read


def sarif(reports: Iterable[Report]) -> dict[str, Any]:
    """All findings as one SARIF log."""
    results = [_sarif_result(report, finding) for report in reports for finding in report.findings]
    rules = [
        {"id": kind, "shortDescription": {"text": DESCRIPTIONS[kind]}, "defaultConfiguration": {"level": level}}
        for kind, level in KINDS.items()
    ]
    driver = {"name": "citewell", "semanticVersion": __version__, "rules": rules}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _sarif_result(report: Report, finding: Finding) -> dict[str, Any]:
    place = finding.place
    location = {"artifactLocation": {"uri": _uri(report.file(place))}, "region": _region(place, report.draft.sources)}
    return {
        "ruleId": finding.kind,
        "ruleIndex": list(KINDS).index(finding.kind),
        "level": finding.level,
        "message": {"text": _message(finding)},
        "locations": [{"physicalLocation": location}],
    }


def _uri(path: str) -> str:
    return Path(path).as_uri() if Path(path).is_absolute() else quote(Path(path).as_posix())


def _region(place: Place, sources: Mapping[str, str]) -> dict[str, int]:
    """Lines and columns, counted from 1; the end column is the one after the last character."""
    text = sources.get(place.file, "")
    line, column = _line_and_column(text, place.begin)
    last, end = _line_and_column(text, max(place.begin, place.end))
    if place.end <= place.begin:
        return {"startLine": place.line}
    return {"startLine": line, "startColumn": column, "endLine": last, "endColumn": end}


def _line_and_column(text: str, at: int) -> tuple[int, int]:
    return text.count("\n", 0, at) + 1, at - (text.rfind("\n", 0, at) + 1) + 1


def github(reports: Iterable[Report]) -> Iterator[str]:
    """A workflow command for each finding, which GitHub shows next to the line."""
    for report in reports:
        for finding in report.findings:
            region = _region(finding.place, report.draft.sources)
            properties = {
                "file": report.file(finding.place),
                "line": str(region["startLine"]),
                "endLine": str(region.get("endLine", region["startLine"])),
                "title": f"citewell: {finding.kind}",
            }
            encoded = ",".join(f"{key}={_escape_property(value)}" for key, value in properties.items())
            yield f"::{_GITHUB_COMMANDS[finding.level]} {encoded}::{_escape(_message(finding))}"


def _message(finding: Finding) -> str:
    """The message, with the suggested papers."""
    papers = [
        f"{each.paper.title or each.paper.id} ({each.paper.year or 'no year'}), {each.paper.id}" for each in finding.suggestions
    ]
    return "\n".join([finding.message, *(f"- {paper}" for paper in papers)])


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")
