"""Exported papers are read back unchanged, whatever their fields contain."""

import io
import os
import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from citewell.errors import CitewellError
from citewell.export import FORMATS, write
from citewell.identifiers import recognise
from citewell.papers import Context, Paper, Problem, Reference, Remainder, Sentence
from citewell.sources import Source, find_reader, reader
from citewell.text.names import parse

READERS = {"bibtex": "bibtex", "ris": "ris", "csl": "csl_json", "jsonl": "citewell_jsonl"}
SAMPLES = Path(__file__).resolve().parents[3] / "shared" / "samples"

quick = settings(
    max_examples=int(os.environ.get("CITEWELL_FUZZ", "150")), deadline=None, suppress_health_check=list(HealthCheck)
)


def exported(papers: list[Paper], format: str) -> str:
    out = io.StringIO()
    write(papers, format, out)
    return out.getvalue()


def read_back(written: str, format: str) -> list[Paper | Context | Problem]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_text(written, encoding="utf-8")
        with Source(path) as source:
            if written.strip() not in ("", "[]"):
                assert find_reader(source.head) is reader(READERS[format])
            return [each for each in reader(READERS[format]).read(source) if not isinstance(each, Remainder)]


def _on_one_line(text: str) -> str:
    return " ".join("".join(character for character in text if character.isprintable() or character.isspace()).split())


_PIECES = str.maketrans(
    {"①": " and ", "②": "BERT ", "③": '\\"o', "④": " TY  - JOUR ", "⑤": "\\alpha ", "⑥": "%20", "⑦": "others"}
)
"""Placeholders for longer pieces: hypothesis draws one character much faster than one of several strategies."""
ALPHABET = "abcdeXYZ 0123 éßøЖ中𝒜😀\u00ad{}\\$&#%_~^\"'`@=-.:;|/+*()[]!?①②③④⑤⑥⑦"

lines = st.text(ALPHABET + ",", max_size=40).map(lambda text: _on_one_line(text.translate(_PIECES)))
some_lines = (
    st.text(ALPHABET + ",", min_size=1, max_size=40).map(lambda text: _on_one_line(text.translate(_PIECES))).filter(bool)
)
names = st.text(ALPHABET.replace(";", ""), min_size=1, max_size=25).map(lambda text: _on_one_line(text.translate(_PIECES)))
names = names.filter(lambda name: re.search(r"\w", name) is not None).map(parse)
ids = st.lists(
    st.sampled_from(
        [
            *(
                "doi:10.1000/a_b",
                "doi:10.1000/c(1)",
                "arxiv:2101.00001",
                "arxiv:hep-th/9901001",
                "pmid:7",
                "pmcid:8",
                "acl:P19-1001",
            ),
            *("openalex:W9", f"s2:{'a' * 40}", "corpus:10", "mag:11", "dblp:conf/acl/X", "cs:a b", "set:ü;,"),
        ]
    ),
    max_size=5,
    unique=True,
)
types = st.sampled_from(
    ["article", "inproceedings", "book", "phdthesis", "misc", "JOUR", "CHAP", "paper-conference", "preprint", "odd"]
)


@st.composite
def some_papers(draw: st.DrawFn) -> Paper:
    year = draw(st.none() | st.integers(1000, 2100))
    extra = draw(
        st.fixed_dictionaries({}, optional={"type": types, "volume": some_lines, "citekey": some_lines, "note": some_lines})
    )
    return Paper(
        title=draw(some_lines),
        abstract=draw(lines),
        authors=draw(st.lists(names, max_size=3)),
        year=year,
        date=f"{year}-05-17" if year and draw(st.booleans()) else "",
        venue=draw(lines),
        ids=draw(ids),
        keywords=draw(st.lists(st.sampled_from(["one", "two words", "three, with comma", "C++"]), max_size=3, unique=True)),
        extra=extra,
    )


@pytest.mark.parametrize("format", READERS)
def test_papers_come_back(format: str) -> None:
    @quick
    @given(st.lists(some_papers(), min_size=1, max_size=2))
    def come_back(papers: list[Paper]) -> None:
        records = read_back(exported(papers, format), format)
        assert len(records) == len(papers)
        for paper, again in zip(papers, records, strict=True):
            assert isinstance(again, Paper), again
            assert (again.title, again.authors, again.abstract) == (paper.title, paper.authors, paper.abstract)
            assert (again.year, again.date, again.venue) == (paper.year, paper.date, paper.venue)
            assert set(again.ids) >= set(paper.ids)
            assert {each for each in again.ids if each not in paper.ids} <= _implied_by_key(paper)
            assert again.keywords == paper.keywords

    come_back()


def _implied_by_key(paper: Paper) -> set[str]:
    """A citation key may itself be an identifier, which a reader of BibTeX takes as one."""
    key = paper.extra.get("citekey", "").lower()
    return {key, f"doi:{key}"}


references = st.builds(
    Reference, ids.map(lambda listed: listed[:2]), lines, st.none() | st.integers(1000, 2100), st.lists(some_lines, max_size=2)
).filter(lambda each: bool(each.ids or each.title))
blocks = st.text(ALPHABET + "\n\t\r<>", max_size=30)
some_sentences = st.builds(Sentence, blocks, blocks, st.integers(0, 99))


@quick
@given(some_papers(), st.lists(references, max_size=4), st.lists(some_sentences, max_size=4), blocks)
def test_json_lines_are_lossless(paper: Paper, cited: list[Reference], sentences: list[Sentence], abstract: str) -> None:
    paper.ids = paper.ids or ["cs:1"]
    paper.id = paper.ids[0] if len(paper.ids) > 1 else "one"
    paper.references = cited
    paper.sentences = sentences
    paper.abstract = abstract
    paper.contexts = [Context(f"as in TARGETCIT {n}", [each], section="s", id=str(n)) for n, each in enumerate(cited)]
    again, *contexts = read_back(exported([paper], "jsonl"), "jsonl")
    expected, paper.contexts = paper.contexts, []
    if recognise(paper.id) is None:
        paper.ids = [*paper.ids, f"local:{paper.id}"]  # by which other lines may cite it
    assert again == paper
    for context, given_context in zip(contexts, expected, strict=True):
        assert isinstance(context, Context)
        assert context.citing in paper.ids
        context.citing = ""
        assert context == given_context


@pytest.mark.parametrize("format", FORMATS)
def test_an_empty_export_is_valid(format: str) -> None:
    assert read_back(exported([], format), format) == []


def test_an_unknown_format_is_an_error_that_names_the_others() -> None:
    with pytest.raises(CitewellError, match="bibtex, ris, csl, jsonl"):
        exported([], "word")


@pytest.mark.realdata
@pytest.mark.skipif(not SAMPLES.is_dir(), reason=f"needs {SAMPLES}")
@pytest.mark.parametrize("format", FORMATS)
def test_real_papers_come_back(format: str) -> None:
    with Source(SAMPLES / "bibtex" / "asonam-2013.bib") as source:
        papers = [each for each in reader("bibtex").read(source) if isinstance(each, Paper)]
    again = read_back(exported(papers, format), format)
    for before, after in zip(papers, again, strict=True):
        assert isinstance(after, Paper)
        assert (after.title, after.authors, after.year, after.venue) == (
            before.title,
            before.authors,
            before.year,
            before.venue,
        )
        assert (after.ids, after.abstract, after.keywords) == (before.ids, before.abstract, before.keywords)
        assert after.extra["pages" if "pages" in before.extra else "citekey"]
