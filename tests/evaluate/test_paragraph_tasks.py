"""Paragraph queries cut from full texts: JATS and S2ORC files become a library, and the library a set."""

from __future__ import annotations

import gzip
import json
import sqlite3
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest
from click.testing import CliRunner

from citewell.cli.main import cli
from citewell.evaluate.paragraph_tasks import PlacedCitation, TextParagraph, paragraphs_of, place
from citewell.evaluate.queries import judged_queries
from citewell.evaluate.sets import DataSet
from citewell.evaluate.strict import Timeline
from citewell.hashing import hash64
from citewell.library import Library
from citewell.papers import Paper, Sentence
from citewell.sources import semantic_scholar
from citewell.sources.source import Source

OPENING = "Several methods have been proposed for counting gulls in photographs."
OWN = "In this section, we describe how our cameras in Figure 3 were mounted."


def cite(number: int) -> str:
    return f'<xref ref-type="bibr" rid="r{number}">{number}</xref>'


def jats(name: str, year: int) -> str:
    """An article with three paragraphs of related work and one of results; works 1 to 4 have DOIs of the library."""
    references = "".join(
        f'<ref id="r{at}"><element-citation><article-title>Work {at}</article-title><pub-id pub-id-type="doi">10.1000/w{at}'
        "</pub-id></element-citation></ref>"
        for at in range(1, 6)
    )
    paragraphs = (
        f"<p>{OPENING} The first counts wings [{cite(1)}]. Others count beaks [{cite(2)}, {cite(5)}].</p>"
        f"<p>{OWN} They were bought elsewhere [{cite(3)}].</p><p>Counting boats was done before [{cite(3)}]. It works"
        f" [{cite(4)}].</p><p>Tides have been studied for many years. Nobody cites them.</p>"
    )
    return (
        '<article article-type="research-article"><front><article-meta>'
        f'<article-id pub-id-type="doi">10.1000/{name}</article-id>'
        f"<title-group><article-title>{name} of the harbour</article-title></title-group>"
        f"<pub-date><year>{year}</year></pub-date></article-meta></front>"
        f"<body><sec><title>2 Related work</title>{paragraphs}</sec>"
        f"<sec><title>Results</title><p>Many approaches exist for results. One is old [{cite(1)}].</p></sec></body>"
        f"<back><ref-list>{references}</ref-list></back></article>"
    )


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("texts")
    for at in range(4):
        (folder / f"study{at}.xml").write_text(jats(f"study{at}", 2001 + at))
    made = Library(folder / "library")
    made.take([Paper(f"Work {at}", year=1990, ids=[f"doi:10.1000/w{at}"]) for at in range(1, 5)])
    made.add(sorted(folder.glob("*.xml")))
    made.close()
    return folder / "library"


def make(library: Path, folder: Path, *options: str) -> tuple[dict[str, int], list[dict[str, object]]]:
    command = ["set", "make", str(folder), "--library", str(library), "--name", "s", "--json", *options]
    done = CliRunner().invoke(cli, command, catch_exceptions=False)
    path = folder / "paragraphs.jsonl.gz"
    lines = gzip.decompress(path.read_bytes()).splitlines() if path.exists() else []
    return json.loads(done.stdout)["left_out"], [json.loads(line) for line in lines]


def test_a_paragraph_that_introduces_its_topic_becomes_a_query(library: Path, tmp_path: Path) -> None:
    left_out, lines = make(library, tmp_path / "set")
    assert len(lines) == 4
    assert lines[0] == {
        "id": "p0",
        "citing": "doi:10.1000/study0",
        "cited": ["doi:10.1000/w1", "doi:10.1000/w2"],
        "topic_sentence": OPENING,
        "text": "The first counts wings OTHERCIT . Others count beaks OTHERCIT .",
        "section": "2 Related work",
    }
    assert {name: count for name, count in left_out.items() if "paragraph" in name} == {
        "paragraphs_of_other_sections": 4,
        "paragraphs_with_few_citations": 4,
        "paragraphs_with_citing_first_sentence": 4,
        "paragraphs_without_transition_sentence": 4,
        "contexts_without_paragraph": 0,
    }
    dataset = DataSet.open(tmp_path / "set")
    assert dataset.tasks == ("global", "local", "paragraph")
    queries = judged_queries(Timeline(dataset, dataset.split("test")), "paragraph")
    assert [sorted(each.relevant) for each in queries] == [["doi:10.1000/w1", "doi:10.1000/w2"]]


def test_rules_are_options(library: Path, tmp_path: Path) -> None:
    _, lines = make(library, tmp_path / "any", "--any-first-sentence")
    assert [each["topic_sentence"] for each in lines[:2]] == [OPENING, OWN]
    _, lines = make(library, tmp_path / "all", "--paragraph-sections", "all", "--any-first-sentence")
    assert {each["section"] for each in lines} == {"2 Related work", "Results"}
    _, lines = make(library, tmp_path / "two", "--any-first-sentence", "--min-cited", "2")
    assert {each["topic_sentence"] for each in lines} == {OPENING}
    left_out, lines = make(library, tmp_path / "three", "--min-cited", "3")
    assert not lines
    assert left_out["paragraphs_with_few_citations"] == 16
    assert "paragraph" not in (tmp_path / "three" / "set.toml").read_text()


def test_a_set_keeps_the_paragraphs_of_its_texts(library: Path, tmp_path: Path) -> None:
    _, lines = make(library, tmp_path / "set")
    with Library(tmp_path / "again") as again:
        again.add([tmp_path / "set"])
    _, repeated = make(tmp_path / "again", tmp_path / "second")
    assert repeated == lines


def test_an_older_library_has_paragraphs_when_its_files_are_added_again(library: Path, tmp_path: Path) -> None:
    folder = tmp_path / "library"
    copytree(library, folder)
    with sqlite3.connect(folder / "library.sqlite") as db:
        db.execute("ALTER TABLE sentences DROP COLUMN paragraph")
        for source, key, hashes in db.execute("SELECT source, key, hashes FROM given WHERE hashes IS NOT NULL").fetchall():
            (paper,) = db.execute("SELECT paper FROM statements WHERE source = ? AND key = ?", (source, key)).fetchone()
            texts = [text for (text,) in db.execute("SELECT text FROM sentences WHERE paper = ? ORDER BY position", (paper,))]
            numbers = np.frombuffer(hashes, "<i8").copy()
            numbers[1] = hash64(*texts)
            db.execute("UPDATE given SET hashes = ? WHERE source = ? AND key = ?", (numbers.tobytes(), source, key))
    assert make(folder, tmp_path / "before")[1] == []
    with Library(folder) as older:
        older.add(sorted(library.parent.glob("*.xml")))
    assert make(folder, tmp_path / "after")[1] == make(library, tmp_path / "set")[1]


def test_s2orc_has_paragraphs(tmp_path: Path) -> None:
    def parsed(text: str) -> dict[str, object]:
        span = {"start": text.index("["), "end": len(text) - 1, "ref_id": "b0"}
        return {"text": text, "section": "Related Work", "cite_spans": [span]}

    record = {
        "paper_id": "123",
        "metadata": {"title": "On gulls", "year": 2019},
        "pdf_parse": {
            "body_text": [parsed(f"{OPENING} One is old [1]."), parsed("Boats are counted too. They are few [1].")],
            "bib_entries": {"b0": {"title": "Work", "year": 2002, "authors": [], "link": "7"}},
        },
    }
    path = tmp_path / "s2orc.jsonl"
    path.write_text(json.dumps(record))
    with Source(path) as source:
        (paper,) = semantic_scholar.read(source)
    assert isinstance(paper, Paper)
    paragraphs = paragraphs_of(paper.sentences)
    assert [each.sentences for each in paragraphs] == [
        [OPENING, "One is old OTHERCIT ."],
        ["Boats are counted too.", "They are few OTHERCIT ."],
    ]
    assert place(paragraphs, [PlacedCitation(each.text, frozenset({1})) for each in paper.contexts]) == ([{1}, {1}], 0)


def test_citations_are_placed_by_the_text_of_their_contexts() -> None:
    paragraphs = [
        TextParagraph(["Gulls OTHERCIT fly.", "They land OTHERCIT ."], "1"),
        TextParagraph(["Boats sail.", "They sink OTHERCIT , or not OTHERCIT ."], "1"),
    ]
    contexts = [
        PlacedCitation("Gulls TARGETCIT fly. They land OTHERCIT .", frozenset({1})),
        PlacedCitation("Gulls OTHERCIT fly. They land TARGETCIT .", frozenset({2})),
        PlacedCitation("Boats sail. They sink OTHERCIT , or not TARGETCIT .", frozenset({3, 4})),
        PlacedCitation("Nets tear TARGETCIT .", frozenset({5})),
        PlacedCitation("Boats sail.", frozenset({6})),
    ]
    assert place(paragraphs, contexts) == ([{2}, {3, 4}], 2)


def test_sentences_without_paragraphs_are_left_out() -> None:
    sentences = [Sentence("A.", "1", 1), Sentence("B.", "1", 1), Sentence("C.", "1", 2), Sentence("D.", "2")]
    assert paragraphs_of(sentences) == [TextParagraph(["A.", "B."], "1"), TextParagraph(["C."], "1")]
