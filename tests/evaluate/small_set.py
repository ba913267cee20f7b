"""A small made-up data set: papers of five years with citations, contexts and paragraphs, written to a folder."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

WORDS = """anchor barge beacon berth bollard buoy canal cargo chart coast compass crane current deck delta dock dredge estuary
ferry fjord fog gull harbour hull jetty keel knot lagoon lighthouse lock mast mooring navigation oar pier pilot port quay reef
rigging rudder sail salt sextant shoal sonar storm surge tide trawler tug vessel voyage wake wave wharf wind""".split()

SET = """name = "small"
tasks = ["global", "local", "paragraph", "evidence"]
train_until = 2018
dev = [2019]
test = [2020]
"""


@dataclass
class SmallSet:
    """The records of a set; tests change them and write the folder."""

    papers: list[dict[str, Any]] = field(default_factory=list)
    contexts: list[dict[str, Any]] = field(default_factory=list)
    paragraphs: list[dict[str, Any]] = field(default_factory=list)
    evidence: list[dict[str, Any]] = field(default_factory=list)
    distractors: list[dict[str, Any]] = field(default_factory=list)
    toml: str = SET

    def paper(self, name: str) -> dict[str, Any]:
        return next(paper for paper in self.papers if paper["id"] == name)

    def write(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "set.toml").write_text(self.toml)
        for name in ("papers", "contexts", "paragraphs", "evidence", "distractors"):
            if records := getattr(self, name):
                (folder / f"{name}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
        return folder


def small_set(papers_a_year: int = 12, seed: int = 1, dates: bool = False) -> SmallSet:
    """Papers of 2016 to 2020, each citing earlier ones that share its words."""
    draw = random.Random(seed)
    made = SmallSet()
    for year in range(2016, 2021):
        for number in range(papers_a_year):
            topic = draw.sample(WORDS, 6)
            paper: dict[str, Any] = {
                "id": f"p{year}-{number}",
                "title": " ".join(topic[:4]).capitalize(),
                "abstract": _sentence(draw, topic) + " " + _sentence(draw, topic),
                "authors": [f"Author {draw.choice('ABCDEFGH')}{number}"],
                "year": year,
                "venue": "Harbour Letters",
                "references": [],
            }
            if dates and year == 2020:
                paper["date"] = f"2020-{1 + number % 12:02}-{1 + number:02}"
            paper["sentences"] = [paper["title"], *paper["abstract"].split(". ")]
            earlier = [other for other in made.papers if other["year"] < year]
            for other in sorted(earlier, key=lambda other: -_shared(topic, other) + draw.random())[:4]:
                _cite(made, draw, paper, other)
            made.papers.append(paper)
    for paper in made.papers[-papers_a_year:]:
        made.paragraphs.append(
            {
                "id": f"para-{paper['id']}",
                "citing": paper["id"],
                "cited": paper["references"][:3],
                "topic_sentence": _sentence(draw, paper["title"].lower().split()),
                "text": "",
                "section": "Related work",
            }
        )
    for number, paper in enumerate(made.papers[:8]):
        made.evidence.append(
            {
                "id": f"e{number}",
                "question": paper["title"],
                "documents": [paper["id"]],
                "snippets": [{"paper": paper["id"], "sentences": [1]}] if number % 2 else [],
                "split": "test" if number < 5 else "dev",
                "kind": "manual" if number < 3 else "auto",
            }
        )
    return made


def _cite(made: SmallSet, draw: random.Random, paper: dict[str, Any], other: dict[str, Any]) -> None:
    paper["references"].append(other["id"])
    words = other["title"].lower().split()
    made.contexts.append(
        {
            "id": f"c{len(made.contexts)}",
            "citing": paper["id"],
            "cited": [other["id"]],
            "text": f"{_sentence(draw, words)} As shown by TARGETCIT {_sentence(draw, words)} and OTHERCIT",
            "section": "Introduction",
        }
    )


def _sentence(draw: random.Random, topic: list[str]) -> str:
    return " ".join(draw.choice(topic if draw.random() < 0.4 else WORDS) for _ in range(10)).capitalize() + "."


def _shared(topic: list[str], other: dict[str, Any]) -> int:
    return len(set(topic) & set(other["title"].lower().split()))
