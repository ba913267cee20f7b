"""All formats of Semantic Scholar describe the same papers."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from reading import DATA, papers, problems, taken

from citewell.papers import Context, Paper, Reference, Sentence
from citewell.sources import semantic_scholar

EARLIER = Reference(["corpus:7"], "Earlier things", 2002, ["Jane Doe"])


def one(record: Any, folder: Path) -> Paper:
    (paper,) = taken(semantic_scholar, json.dumps(record).encode(), folder)
    assert isinstance(paper, Paper)
    return paper


def test_the_open_research_corpus() -> None:
    (paper,) = papers(taken(semantic_scholar, DATA / "s2_corpus.jsonl"))
    assert (paper.title, paper.abstract) == ("On invented things", "We study things.")
    assert [*map(str, paper.authors)] == ["Jörg Müller", "Jane Doe"]
    assert (paper.year, paper.venue) == (2019, "JMI")
    assert set(paper.ids) == {"s2:4cd223df721b722b1c40689caa52932a41fcc223", "doi:10.9999/jmi.2019.1", "pmid:30000001"}
    assert paper.references == [Reference(["s2:" + "1" * 40])]
    assert paper.keywords == ["invention", "Mathematics"]


def test_the_graph_api() -> None:
    (paper,) = papers(taken(semantic_scholar, DATA / "s2_graph.json"))
    assert (paper.year, paper.date, paper.venue) == (2019, "2019-05-17", "JMI")
    assert {"doi:10.9999/jmi.2019.1", "arxiv:2101.00001", "acl:P19-1001", "corpus:123", "dblp:journals/jmi/Mueller19"} < set(
        paper.ids
    )
    assert paper.references == [
        Reference(["s2:" + "1" * 40], "Earlier things", 2002, ["Jane Doe"]),
        Reference([], "Untraced things"),
    ]
    assert (paper.extra["type"], paper.extra["tldr"]) == ("JournalArticle", "Things.")


def test_reference_lists_contain_papers(tmp_path: Path) -> None:
    record = {"data": [{"contexts": [], "citedPaper": {"paperId": "1" * 40, "title": "Earlier things"}}]}
    assert one(record, tmp_path).title == "Earlier things"


def test_the_data_sets_of_the_academic_graph() -> None:
    paper, abstract, link, context, problem = taken(semantic_scholar, DATA / "s2_datasets.jsonl")
    assert isinstance(paper, Paper)
    assert isinstance(abstract, Paper)
    assert paper.ids == ["corpus:123", "arxiv:2101.00001", "mag:77", "doi:10.9999/jmi.2019.1", "pmcid:7000001"]
    assert (abstract.abstract, abstract.ids) == ("We study things.", ["corpus:123", "doi:10.9999/jmi.2019.1"])
    assert link == Paper(ids=["corpus:123"], references=[Reference(["corpus:7"])])
    assert context == Context("Things exist [1].", [Reference(["corpus:7"])], "corpus:123")
    assert problem in problems([problem])


def test_s2orc_metadata() -> None:
    (paper,) = papers(taken(semantic_scholar, DATA / "s2orc_metadata.jsonl"))
    assert ([*map(str, paper.authors)], paper.venue) == (["Jörg A. Müller"], "Journal of Made-up Inventions")
    assert {"corpus:123", "arxiv:2101.00001", "pmid:30000001", "pmcid:7000001", "mag:77"} < set(paper.ids)
    assert paper.references == [Reference(["corpus:7"]), Reference(["corpus:8"])]


def test_s2orc_parses_of_2020() -> None:
    (paper,) = papers(taken(semantic_scholar, DATA / "s2orc_parses.jsonl"))
    other = Reference([], "Other things")
    assert paper.ids == ["corpus:123"]
    assert paper.references == [EARLIER, other]
    assert paper.sentences == [
        Sentence("Things exist OTHERCIT .", "Introduction", 1),
        Sentence("They were seen before OTHERCIT .", "Introduction", 1),
        Sentence("We see them too OTHERCIT .", "Introduction", 1),
    ]
    assert paper.contexts == [
        Context("Things exist TARGETCIT . They were seen before OTHERCIT .", [EARLIER, other], section="Introduction", id="0"),
        Context(
            "Things exist OTHERCIT . They were seen before TARGETCIT . We see them too OTHERCIT .",
            [other],
            section="Introduction",
            id="1",
        ),
    ]


def test_s2orc_with_annotations() -> None:
    (paper,) = papers(taken(semantic_scholar, DATA / "s2orc.jsonl"))
    other = Reference([], "Other things", 2003)
    assert (paper.title, paper.abstract, [*map(str, paper.authors)]) == (
        "On invented things",
        "We study things.",
        ["Jörg Müller"],
    )
    assert paper.ids == ["corpus:123", "arxiv:2101.00001", "doi:10.9999/jmi.2019.1"]
    assert paper.references == [EARLIER, other]
    assert [each.text for each in paper.sentences] == ["Things exist OTHERCIT .", "They were seen before OTHERCIT ."]
    assert paper.contexts == [
        Context("Things exist TARGETCIT . They were seen before OTHERCIT .", [EARLIER, other], section="Introduction", id="0")
    ]


def test_s2orc_with_a_separate_bibliography(tmp_path: Path) -> None:
    record = json.loads((DATA / "s2orc.jsonl").read_text())
    content = record.pop("content")
    bibliography = {key: value for key, value in content["annotations"].items() if key.startswith("bib") and key != "bibref"}
    record["body"] = content
    record["bibliography"] = {
        "text": content["text"],
        "annotations": {kind: json.loads(each) for kind, each in bibliography.items()},
    }
    assert one(record, tmp_path) == taken(semantic_scholar, DATA / "s2orc.jsonl")[0]


def test_an_article_of_cord19(tmp_path: Path) -> None:
    record = {
        "paper_id": "0" * 40,
        "metadata": {"title": "On things", "authors": [{"first": "Jane", "middle": [], "last": "Doe", "suffix": ""}]},
        "abstract": [{"text": "Short."}],
        "body_text": [{"text": "Seen [1].", "cite_spans": [{"start": 5, "end": 8, "ref_id": "BIBREF0"}], "section": "Results"}],
        "bib_entries": {"BIBREF0": {"title": "Earlier", "year": 2002, "authors": [], "other_ids": {"DOI": ["10.9999/x"]}}},
    }
    paper = one(record, tmp_path)
    assert (paper.title, [*map(str, paper.authors)], paper.abstract) == ("On things", ["Jane Doe"], "Short.")
    assert paper.contexts == [
        Context("Seen TARGETCIT .", [Reference(["doi:10.9999/x"], "Earlier", 2002)], section="Results", id="0")
    ]


@pytest.mark.parametrize(
    "spans",
    [
        [{"start": 0, "end": 10**9, "ref_id": "b"}],
        [{"start": -1, "end": 3, "ref_id": "b"}, {"start": 5, "end": 2, "ref_id": "b"}],
        [{"start": "1", "end": "3", "ref_id": "b"}, {"start": 2, "end": 4, "ref_id": "b"}, {"start": None}],
        ["x", None, {"start": 1.5, "end": {}}],
        {"start": 1},
    ],
)
def test_spans_that_do_not_fit(spans: object, tmp_path: Path) -> None:
    paragraph = {"text": "Some [1] words.", "cite_spans": spans}
    paper = one({"paper_id": "1", "title": "T", "body_text": [paragraph], "bib_entries": {"b": {"title": "B"}}}, tmp_path)
    assert len(paper.sentences) == 1


def test_thousands_of_marks_in_one_sentence_take_linear_time(tmp_path: Path) -> None:
    count = 20_000
    spans = [{"start": number * 8 + 4, "end": number * 8 + 7, "ref_id": f"b{number}"} for number in range(count)]
    entries = {f"b{number}": {"title": f"Title {number}"} for number in range(count)}
    apart = {"paper_id": "1", "body_text": [{"text": "but [1] " * count, "cite_spans": spans}], "bib_entries": entries}
    joined = {
        "paper_id": "1",
        "body_text": [{"text": "[1], " * count, "cite_spans": _every(5, 3, count)}],
        "bib_entries": entries,
    }
    started = time.process_time()
    assert len(one(apart, tmp_path).contexts) == count
    assert len(one(joined, tmp_path).contexts[0].cited) == count
    assert time.process_time() - started < 10


def _every(step: int, length: int, count: int) -> list[dict[str, Any]]:
    return [{"start": number * step, "end": number * step + length, "ref_id": f"b{number}"} for number in range(count)]


def test_overlapping_and_invalid_annotations(tmp_path: Path) -> None:
    everywhere = json.dumps([{"start": 0, "end": 2000}] * 1000 + [{"start": 5, "end": 10**12}])
    kinds = ("paragraph", "bibentry", "bibref", "sectionheader", "bibtitle", "title", "author")
    record = {"corpusid": 1, "content": {"text": "words " * 1000, "annotations": dict.fromkeys(kinds, everywhere)}}
    paper = one(record, tmp_path)
    assert len(paper.references) == 1
    assert len(paper.sentences) == 1
