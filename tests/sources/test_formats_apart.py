"""Every file finds the reader of its format, and no other reader claims it."""

import json
from pathlib import Path
from typing import Any

import pytest
from fuzzing import fuzz, mutations
from hypothesis import given
from hypothesis import strategies as st
from reading import DATA, SAMPLES, problems, recognised, taken

from citewell.papers import Problem
from citewell.sources import find_reader, reader, reader_names

FILES = {
    "acl.xml": "acl_anthology",
    "arxiv_raw.xml": "arxiv_oai",
    "arxiv_atom.xml": "arxiv_atom",
    "dblp.xml": "dblp",
    "jats.xml": "jats",
    "pubmed.xml": "pubmed",
    "arxiv_snapshot.jsonl": "arxiv_snapshot",
    "bibtex.bib": "bibtex",
    "citewell.jsonl": "citewell_jsonl",
    "crossref.json": "csl_json",
    "csl.json": "csl_json",
    "medline.nbib": "ris",
    "openalex.jsonl": "openalex",
    "ris.ris": "ris",
    "s2_corpus.jsonl": "semantic_scholar",
    "s2_datasets.jsonl": "semantic_scholar",
    "s2_graph.json": "semantic_scholar",
    "s2orc.jsonl": "semantic_scholar",
    "s2orc_metadata.jsonl": "semantic_scholar",
    "s2orc_parses.jsonl": "semantic_scholar",
    "endnote.enw": "endnote_tagged",
    "endnote.xml": "endnote_xml",
    "wos.txt": "web_of_science",
    "wos_table.txt": "web_of_science",
    "scopus.csv": "scopus",
    "zotero.csv": "zotero_csv",
    "zotero.rdf": "zotero_rdf",
    "table.csv": "table",
    "pubmed.csv": "table",
    "CITATION.cff": "citation_cff",
    "mods.xml": "mods",
}


def claims(head: bytes) -> list[str]:
    return [name for name in reader_names() if reader(name).matches(head)]


@pytest.mark.parametrize("file", FILES)
def test_one_reader_claims_each_file(file: str) -> None:
    assert claims((DATA / file).read_bytes()[: 64 * 1024]) == [FILES[file]]


@pytest.mark.parametrize("file", [file for file in FILES if file.endswith("jsonl")])
def test_each_line_alone_finds_the_same_reader(file: str) -> None:
    for line in (DATA / file).read_bytes().splitlines():
        assert claims(line) == [FILES[file]]


@pytest.mark.parametrize("file", [file for file in FILES if "json" in file])
@pytest.mark.parametrize("layout", ["pretty", "array", "array of lines", "with a mark", "after a bad line", "blank lines"])
def test_the_layout_of_json_does_not_matter(file: str, layout: str, tmp_path: Path) -> None:
    values = records(file)
    lines = [json.dumps(value) for value in values]
    written = {
        "pretty": "\n".join(json.dumps(value, indent=2) for value in values),
        "array": json.dumps(values),
        "array of lines": "[\n" + ",\n".join(lines) + "\n]",
        "with a mark": "\ufeff" + "\n".join(lines),
        "after a bad line": '{"id": "broken", "title": \n' + "\n".join(lines),
        "blank lines": "\n\n  \n" + "\n\n".join(lines),
    }[layout]
    assert claims(written.encode()) == [FILES[file]]
    result = taken(reader(FILES[file]), written.encode(), tmp_path)
    expected = taken(reader(FILES[file]), DATA / file)
    if FILES[file] != "citewell_jsonl" or layout not in ("pretty", "array", "array of lines"):
        assert [each for each in result if not isinstance(each, Problem)] == [
            each for each in expected if not isinstance(each, Problem)
        ]
        assert len(problems(result)) == len(problems(expected)) + (layout == "after a bad line")


def records(file: str) -> list[Any]:
    written = (DATA / file).read_text()
    if file.endswith("jsonl"):
        return list(map(json.loads, written.splitlines()))
    value = json.loads(written)
    return value if isinstance(value, list) else [value]


@pytest.mark.parametrize("file", [file for file in FILES if "json" in file and not file.startswith(("csl", "crossref"))])
def test_a_record_longer_than_the_head_is_recognised_by_its_first_fields(file: str) -> None:
    line = (DATA / file).read_text().splitlines()[0]
    record = json.loads(line)
    record["abstract" if "abstract" not in record else "long"] = 'word, {[ \\" ' * 20_000
    assert claims(json.dumps(record).encode()[: 64 * 1024]) == [FILES[file]]


def test_records_of_few_fields() -> None:
    assert claims(b'{"id": "a", "title": "T", "DOI": "10.1/x"}') == ["csl_json"]
    assert claims(b'[{"id": "a", "title": "T", "type": "book"}]') == ["csl_json"]
    assert claims(b'{"id": "a", "title": "T"}') == ["citewell_jsonl"]
    assert claims(b'{"id": "https://openalex.org/W1", "title": "T"}') == ["openalex"]
    assert claims(b'{"paperId": null, "title": "T"}') == ["semantic_scholar"]


def test_text_inside_values_does_not_affect_detection() -> None:
    titles = [
        "@article{a, title={B}}",
        "TY  - JOUR",
        '{"corpusid": 1}',
        "<article>",
        '"referenced_works": []',
        '"authors_parsed"',
    ]
    for title in titles:
        paper = {"id": "x", "title": f"\n{title}\n", "abstract": f"\\n{title}", "authors": [], "year": 2000}
        assert claims(json.dumps(paper).encode()) == ["citewell_jsonl"]
    quoted = "\n".join(titles)
    assert claims(f"@article{{a,\n title = {{TY\n{quoted}}}\n}}".encode()) == ["bibtex"]
    assert claims(f"TY  - JOUR\nTI  - x\nAB  - {quoted}\nER  - \n".encode()) == ["ris"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   \n",
        "just some words",
        "{}",
        "[]",
        "[[[[",
        "null",
        '{"type": "object", "title": "a JSON schema", "properties": {}}',
        '{"type": "FeatureCollection", "features": []}',
        '{"name": "package", "version": "1"}',
        "@dataclass(frozen=True)\nclass X: ...",
        "@media screen { a { color: red } }",
        "mail me@example.org (today)",
        "a,b,c\n1,2,3\n",
        "# Notes\n\n- one\n- two",
        "\\documentclass{article}\n\\begin{document}\n@ home\n\\end{document}",
    ],
)
def test_other_files_have_no_reader(text: str) -> None:
    assert find_reader(text.encode()) is None


@fuzz
@given(st.data())
def test_at_most_one_reader_claims_a_damaged_file(data: st.DataObject) -> None:
    file = data.draw(st.sampled_from(sorted(file for file in FILES if not file.endswith(("xml", "rdf")))))
    head = data.draw(mutations((DATA / file).read_bytes()[:4000]))
    assert len(claims(head)) <= 1


@pytest.mark.realdata
@pytest.mark.skipif(not SAMPLES.is_dir(), reason=f"needs {SAMPLES}")
def test_real_files_find_their_reader() -> None:
    expected = {".bib": "bibtex", ".gz": "citewell_jsonl"}
    for path in [*SAMPLES.glob("bibtex/*.bib"), *Path(SAMPLES.parent / "data").glob("*/*.gz")]:
        assert recognised(path) is reader(expected[path.suffix])
