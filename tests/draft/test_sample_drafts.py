"""The sample manuscripts, against a list that was made by reading their sources and counting with grep, awk and wc.

Citations are the commands of the LaTeX sources without comments, and the groups and single keys of the Markdown ones without
code; entries are the lines of the bibliographies that begin with ``@``, each key once; gaps are notes that ask for a citation.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from citewell import Manuscript
from citewell.cli.main import cli

SAMPLES = Path(__file__).resolve().parents[3] / "shared" / "samples" / "manuscripts"


@dataclass(frozen=True)
class Expected:
    path: str
    title: str
    abstract: tuple[str, int]
    """Its first word and the number of its words."""
    language: str
    citations: int
    works: int
    entries: int
    gap_lines: tuple[int, ...] = ()


DRAFTS = [
    Expected(
        "acl-long/acl_latex.tex",
        "DISTANT-CTO: A Zero Cost, Distantly Supervised Approach to Improve Low-Resource Entity Extraction Using Clinical"
        " Trials Literature",
        ("PICO", 196), "en", 30, 34, 60,
    ),
    Expected(
        "german-biblatex-thesis/Bachelorarbeit.tex",
        "Evaluation der Reinforcement Learning Algorithmen Sarsa und Q-Learning am Beispiel eines Strategiespiels",
        ("Die", 143), "de", 172, 40, 40,
    ),
    Expected(
        "natbib-article/paper/dolson.tex",
        "The MODES Toolbox: Measurements of Open-ended Dynamics in Evolving Systems",
        ("Building", 222), "en", 79, 54, 1297,
    ),
    Expected(
        "quarto-slides/SlidesSTA5077ZW4S2MDS.qmd",
        "Multidimensional scaling (MDS): Visualising dissimilarity data",
        ("", 0), "en", 10, 11, 1102,
    ),
    Expected(
        "rmarkdown/manuscript.Rmd",
        "Predicting prolonged apnea during nurse-administered procedural sedation: A machine learning study",
        ("Determine", 140), "en", 24, 32, 41,
    ),
    Expected(
        "rmarkdown-and-word/manuscript_revised.RMD",
        "Glucose ingestion before and after resistance training sessions does not augment ribosome biogenesis in healthy"
        " moderately trained young adults",
        ("Purpose:", 285), "en", 64, 51, 59,
    ),
    Expected(
        "thesis-with-gaps/main.tex",
        "Understanding the Form and Function of Emergent Languages at a Glance",
        ("", 0), "en", 3, 3, 175, (16, 40, 43, 55),
    ),
]  # fmt: skip


def sample(expected: Expected) -> Path:
    path = SAMPLES / expected.path
    if not path.exists():
        pytest.skip(f"there is no {path}")
    return path


@pytest.mark.realdata
@pytest.mark.parametrize("expected", DRAFTS, ids=lambda each: each.path)
def test_what_is_read(expected: Expected) -> None:
    manuscript = Manuscript(sample(expected))
    read = manuscript.overview
    words = read.abstract.split()
    assert read.title == expected.title
    assert ((words or [""])[0], len(words)) == expected.abstract
    assert next(iter(read.languages)) == expected.language
    assert (read.citations, read.cited_works, read.bibliography) == (expected.citations, expected.works, expected.entries)
    assert tuple(gap.place.line for gap in manuscript.gaps) == expected.gap_lines


@pytest.mark.realdata
@pytest.mark.parametrize("expected", DRAFTS, ids=lambda each: each.path)
def test_check_says_it(expected: Expected, tmp_path: Path) -> None:
    command = ["check", str(sample(expected)), "--no-suggestions", "--json"]
    done = CliRunner(env={"CITEWELL_LIBRARY": str(tmp_path / "none")}).invoke(cli, command)
    report = json.loads(done.stdout)
    assert (report["read"]["title"], report["read"]["gaps"]) == (expected.title, len(expected.gap_lines))
    assert (report["judged"] == 0) == (expected.language != "en")


@pytest.mark.realdata
def test_the_notes_of_the_thesis() -> None:
    gaps = Manuscript(sample(DRAFTS[-1])).gaps
    assert [gap.note.split()[:2] for gap in gaps] == [["cite"], ["Cite", "GPT3"], ["cite"], ["cite"]]
