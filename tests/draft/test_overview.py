"""What was read is said, in every form."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from citewell import Manuscript
from citewell.cli.main import cli
from citewell.library.library import Library

TEXT = "Red boats float on water because they are light [?]. They were counted from the pier [?] by the people of the harbour."
GERMAN = (
    "Die Boote schwimmen auf dem Wasser, weil sie leicht sind. Das wurde von vielen Menschen im Hafen beobachtet und gezählt."
)


def check(path: Path, *options: str) -> str:
    return CliRunner().invoke(cli, ["check", str(path), "--no-suggestions", "--only", "uncited-claim", *options]).stdout


def test_pasted_text_with_gaps_gets_no_all_clear(tmp_path: Path) -> None:
    path = tmp_path / "draft.txt"
    path.write_text(TEXT)
    table = check(path)
    assert "Title: none found" in table and "2 sentences" in table and "2 gaps" in table and "Languages: English" in table
    assert "no findings in 2 sentences; 2 gaps are still open" in table
    read = json.loads(check(path, "--json"))["read"]
    assert read == Manuscript(path).overview.to_json()
    assert (read["title"], read["sentences"], read["gaps"], read["languages"]) == ("", 2, 2, {"en": 1})


def test_a_title_alone_is_said_to_be_no_text(tmp_path: Path) -> None:
    path = tmp_path / "draft.txt"
    path.write_text("Boats in the harbour\n")
    assert "no findings: no running text was found" in check(path)


def test_sentences_of_another_language_are_not_judged(tmp_path: Path) -> None:
    path = tmp_path / "draft.txt"
    path.write_text(f"Boote\n\n{GERMAN}\n\n{GERMAN}\n")
    report = json.loads(check(path, "--json", "--threshold", "0"))
    assert (report["findings"], report["judged"], report["read"]["languages"]) == ([], 0, {"de": 2})
    assert any("2 paragraphs in German" in note for note in report["notes"])
    assert "no findings in 4 sentences, 4 of which are not in English and were not judged" in check(path)


def test_suggest_says_what_it_read(tmp_path: Path, tiny: Library) -> None:
    path = tmp_path / "draft.md"
    path.write_text(f"# Boats\n\n## Abstract\n\nWe count boats.\n\n## Introduction\n\n{TEXT}\n")
    suggest = ["suggest", str(path), "--library", str(tiny.folder), "--pipeline", "bm25"]
    table = CliRunner().invoke(cli, suggest).stdout
    assert "Title: Boats" in table and "Abstract: 3 words: We count boats." in table and "2 gaps" in table
    answers = json.loads(CliRunner().invoke(cli, [*suggest, "--json"]).stdout)
    assert all(answer["read"]["gaps"] == 2 and answer["read"]["abstract"] == "We count boats." for answer in answers)
