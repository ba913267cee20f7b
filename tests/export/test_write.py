"""The content of exported files."""

import io
import json

import pytest

from citewell.export import write
from citewell.export.kinds import kind
from citewell.export.naming import Citekeys
from citewell.papers import Paper
from citewell.sources import Source, ris
from citewell.text.names import parse_all

PAPER = Paper(
    title="On BERT & {friends}: 50% of $5_x",
    abstract="We study things.",
    authors=parse_all(["Jörg Müller", "Anna van der Berg", "Martin L. King Jr.", "Research and Development, Inc."]),
    year=2019,
    date="2019-05-17",
    venue="Journal of Inventions",
    ids=["doi:10.9999/jmi_1", "arxiv:2101.00001", "pmid:7", "openalex:W1"],
    keywords=["one", "two"],
    extra={
        "type": "article",
        "volume": "3",
        "issue": "2",
        "pages": "101-110",
        "url": "https://example.org/~x_y",
    },
    people={"editor": parse_all(["R. Roe", "J. Doe"])},
)


def exported(format: str, *papers: Paper) -> str:
    out = io.StringIO()
    write(papers, format, out)
    return out.getvalue()


def test_bibtex() -> None:
    assert exported("bibtex", PAPER) == (
        "@article{muller2019bert,\n"
        r"  title = {On {BERT} \& \textbraceleft{}friends\textbraceright{}: 50\% of \$5\_x}," + "\n"
        "  author = {Müller, Jörg and van der Berg, Anna and King, Jr., Martin L. and {Research and Development, Inc.}},\n"
        "  editor = {Roe, R. and Doe, J.},\n"
        "  year = {2019},\n"
        "  day = {17},\n"
        "  journal = {Journal of Inventions},\n"
        "  abstract = {We study things.},\n"
        "  keywords = {one; two},\n"
        "  doi = {10.9999/jmi_1},\n"
        "  eprint = {2101.00001},\n"
        "  archiveprefix = {arXiv},\n"
        "  pmid = {7},\n"
        "  citewell-ids = {openalex:W1},\n"
        "  month = may,\n"
        "  volume = {3},\n"
        "  number = {2},\n"
        "  pages = {101--110},\n"
        "  url = {https://example.org/~x_y}\n"
        "}\n\n"
    )


def test_ris() -> None:
    assert exported("ris", PAPER).splitlines() == [
        "TY  - JOUR",
        "ID  - muller2019bert",
        "TI  - On BERT & {friends}: 50% of $5_x",
        "AU  - Müller, Jörg",
        "AU  - van der Berg, Anna",
        "AU  - King, Martin L., Jr.",
        "AU  - Research and Development,, Inc.",
        "PY  - 2019",
        "DA  - 2019/05/17",
        "JF  - Journal of Inventions",
        "AB  - We study things.",
        "KW  - one",
        "KW  - two",
        "VL  - 3",
        "IS  - 2",
        "A2  - Roe, R.",
        "A2  - Doe, J.",
        "SP  - 101",
        "EP  - 110",
        "UR  - https://example.org/~x_y",
        "DO  - 10.9999/jmi_1",
        "U1  - citewell-id: arxiv:2101.00001",
        "AN  - 7",
        "DB  - PubMed",
        "U1  - citewell-id: openalex:W1",
        "ER  - ",
        "",
    ]


def test_csl_json() -> None:
    (item,) = json.loads(exported("csl", PAPER))
    assert item == {
        "id": "muller2019bert",
        "type": "article-journal",
        "title": "On BERT & {friends}: 50% of $5_x",
        "author": [
            {"family": "Müller", "given": "Jörg"},
            {"family": "Berg", "given": "Anna", "non-dropping-particle": "van der"},
            {"family": "King", "given": "Martin L.", "suffix": "Jr."},
            {"literal": "Research and Development, Inc."},
        ],
        "issued": {"date-parts": [[2019, 5, 17]]},
        "container-title": "Journal of Inventions",
        "abstract": "We study things.",
        "keyword": "one; two",
        "volume": "3",
        "issue": "2",
        "page": "101-110",
        "URL": "https://example.org/~x_y",
        "editor": [{"family": "Roe", "given": "R."}, {"family": "Doe", "given": "J."}],
        "DOI": "10.9999/jmi_1",
        "PMID": "7",
        "custom": {"citewell-ids": ["arxiv:2101.00001", "openalex:W1"]},
    }


def test_jsonl_follows_the_contract() -> None:
    record = json.loads(exported("jsonl", PAPER))
    assert list(record)[:7] == ["id", "title", "abstract", "authors", "year", "venue", "references"]
    assert record["doi"] == "10.9999/jmi_1"


def test_citation_keys_are_unique_and_stable() -> None:
    doe = Paper(title="The Things of It", authors=parse_all(["Jane Doe"]), year=2020)
    given = Paper(title="T", extra={"citekey": "own key, {x}"})
    keys = Citekeys()
    assert [keys.key(each) for each in (doe, doe, given, doe, Paper(extra={"citekey": "doe2020thingsb"}), Paper())] == [
        "doe2020things",
        "doe2020thingsa",
        "ownkeyx",
        "doe2020thingsb",
        "doe2020thingsba",
        "anonymous",
    ]
    many = Citekeys()
    assert len({many.key(doe) for _ in range(1000)}) == 1000


def test_no_paper_gets_the_key_of_another() -> None:
    """Where two papers have one key, the new one of the second is not that of a third."""
    papers = [Paper(title=str(number), extra={"citekey": key}) for number, key in enumerate(("doe2020", "doe2020", "doe2020a"))]
    keys = Citekeys(reserved=[paper.extra["citekey"] for paper in papers])
    assert [*map(keys.key, papers)] == ["doe2020", "doe2020b", "doe2020a"]


def test_every_field_comes_back_from_ris() -> None:
    """Fields without a tag are in ``U1``; those that are tags, from another RIS file, keep them."""
    paper = Paper(
        title="Boats",
        year=2001,
        extra={"type": "JOUR", "citekey": "a", "bdsk-file-1": "YnBs=: b", "m3": "Review", "er": "x", "file": "C:\\a"},
    )
    with Source.of(exported("ris", paper)) as source:
        again, _ = ris.read(source)
    assert isinstance(again, Paper)
    assert again.extra == paper.extra


def test_types_of_biblatex_stay() -> None:
    paper = Paper(title="Boats", venue="Collected works", extra={"type": "bookinbook"})
    assert exported("bibtex", paper).startswith(
        "@bookinbook{anonymousboats,\n  title = {Boats},\n  booktitle = {Collected works}"
    )


@pytest.mark.parametrize(
    ("type", "venue", "expected"),
    [
        ("inproceedings", "", "paper-conference"),
        ("JOUR", "", "article-journal"),
        ("journal-article", "", "article-journal"),
        ("Journal Article; Review", "", "article-journal"),
        ("JournalArticle; Review", "", "article-journal"),
        ("", "Proceedings of Something", "paper-conference"),
        ("", "arXiv", "article"),
        ("", "Nature", "article-journal"),
        ("", "", "document"),
        ("something", "", "document"),
    ],
)
def test_kinds(type: str, venue: str, expected: str) -> None:
    assert kind(Paper(venue=venue, extra={"type": type} if type else {})).csl == expected
