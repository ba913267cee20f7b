"""BibTeX: all fields of entries; a bad entry does not affect the others."""

import time
from pathlib import Path

import pytest
from reading import DATA, SAMPLES, needs_samples, papers, problems, taken

from citewell.papers import Context, Name, Paper, Problem
from citewell.sources import InputError, bibtex, bibtex_entries
from citewell.sources.bibtex_entries import key_span


def read(written: str | bytes, folder: Path) -> list[Paper | Context | Problem]:
    return taken(bibtex, written if isinstance(written, bytes) else written.encode(), folder)


def one(written: str, folder: Path) -> Paper:
    records = read(written, folder)
    assert len(records) == 1
    assert isinstance(records[0], Paper), records
    return records[0]


def test_an_article() -> None:
    records = taken(bibtex, DATA / "bibtex.bib")
    assert not problems(records)
    paper = papers(records)[0]
    assert paper.title == "Études on BERT: why O(n^2) is not enough — 50% of it"
    assert [*map(str, paper.authors)] == ["Jörg Müller", "Anna van der Berg", "Martin L. King Jr.", "The Group, Inc.", "et al."]
    assert (paper.year, paper.date) == (2019, "2019-05-17")
    assert paper.venue == "Journal of Made-up Inventions (New Series)"
    assert paper.ids == ["doi:10.9999/jmi.2019.1"]
    assert paper.abstract == "We study & compare things. It costs $5 at most."
    assert paper.extra == {
        "type": "article",
        "citekey": "mueller2019",
        "volume": "3",
        "issue": "2",
        "pages": "101-110",
        "issn": "1234-5678",
    }


def test_entries_inherit_from_a_crossref_that_comes_later() -> None:
    child = next(each for each in papers(taken(bibtex, DATA / "bibtex.bib")) if each.extra["citekey"] == "doe2020first")
    assert child.title == 'A First "Quoted" Title'
    assert (child.venue, child.year) == ("Proceedings of the Invented Conference", 2020)
    assert (child.extra["publisher"], child.extra["pages"]) == ("Imaginary Press", "1-8")
    assert child.people == {"editor": [Name("Richard", "Roe")]}


def test_entries_inherit_from_a_crossref_that_came_before_and_keep_their_own(tmp_path: Path) -> None:
    written = "@book{p, title={The Book}, year=1999, doi={10.9999/book}}\n@inbook{c, title={Chapter}, CROSSREF={P}, year=2000}"
    child = read(written, tmp_path)[1]
    assert isinstance(child, Paper)
    assert (child.title, child.venue, child.year, child.ids) == ("Chapter", "The Book", 2000, [])


def test_a_crossref_without_a_target_is_ignored(tmp_path: Path) -> None:
    paper = one("@inproceedings{c, title={Alone}, crossref={nobody}}", tmp_path)
    assert paper.extra["crossref"] == "nobody"


@pytest.mark.parametrize(
    ("written", "names"),
    [
        ("Jane Doe and Smith, John", ["Jane Doe", "John Smith"]),
        ("de la Fuente, Juan\n  and   {van Gogh}, Vincent", ["Juan de la Fuente", "Vincent van Gogh"]),
        ("Ludwig van Beethoven and others", ["Ludwig van Beethoven", "et al."]),
        ("{Barnes and Noble} and {Google, Inc.}", ["Barnes and Noble", "Google, Inc."]),
        ("King, Jr., Martin Luther", ["Martin Luther King Jr."]),
        (r"{\'E}mile Zola AND Paul Erd{\H{o}}s", ["Émile Zola", "Paul Erdős"]),
        (
            "Ada Lovelace, Charles Babbage, Alan Turing, Grace Hopper",
            ["Ada Lovelace", "Charles Babbage", "Alan Turing", "Grace Hopper"],
        ),
        ("given=Hans, family=Harman, prefix=von", ["Hans von Harman"]),
        ("Anderson, Sandy", ["Sandy Anderson"]),
        ("", []),
    ],
)
def test_author_lists(written: str, names: list[str], tmp_path: Path) -> None:
    assert [*map(str, one(f"@misc{{a, title={{T}}, author={{{written}}}}}", tmp_path).authors)] == names


@pytest.mark.parametrize(
    ("fields", "ids"),
    [
        ("doi={https://doi.org/10.9999/A.B}", ["doi:10.9999/a.b"]),
        (r"doi={10.9999/a\_b}", ["doi:10.9999/a_b"]),
        ("eprint={1706.03762v5}, archiveprefix={arXiv}", ["arxiv:1706.03762"]),
        ("eprint={hep-th/9901001}, eprinttype={arxiv}", ["arxiv:hep-th/9901001"]),
        ("eprint={1706.03762}", ["arxiv:1706.03762"]),
        ("eprint={30000001}, eprinttype={pubmed}", ["pmid:30000001"]),
        ("eprint={123456}, eprinttype={jstor}", []),
        ("pmid={30000001}, pmcid={PMC7000001}", ["pmid:30000001", "pmcid:7000001"]),
        ("url={https://aclanthology.org/P19-1001/}", ["acl:P19-1001"]),
        ("url={https://doi.org/10.9999/b}, doi={10.9999/a}", ["doi:10.9999/a"]),
        ("journal={arXiv preprint arXiv:1706.03762}", ["arxiv:1706.03762"]),
        ("journal={CoRR}, volume={abs/1706.03762}", ["arxiv:1706.03762"]),
        ("url={https://example.org/}", []),
    ],
)
def test_identifiers(fields: str, ids: list[str], tmp_path: Path) -> None:
    assert one(f"@misc{{a, title={{T}}, {fields}}}", tmp_path).ids == ids


def test_a_key_that_is_an_identifier(tmp_path: Path) -> None:
    assert one("@misc{10.1145/1.2, title={T}}", tmp_path).ids == ["doi:10.1145/1.2"]
    assert one("@misc{10.1145/1.2, title={T}, doi={10.1145/3}}", tmp_path).ids == ["doi:10.1145/3"]
    assert one("@misc{DBLP:conf/acl/Doe20, title={T}}", tmp_path).ids == ["dblp:conf/acl/Doe20"]
    assert one("@misc{doe2020, title={T}}", tmp_path).ids == []


@pytest.mark.parametrize(
    ("fields", "year", "date"),
    [
        ("year=2020", 2020, ""),
        ("year={2020}, month=feb", 2020, "2020-02"),
        ('year="2020", month = 2 , day={3}', 2020, "2020-02-03"),
        ('year=2020, month="17~" # may', 2020, "2020-05-17"),
        ("date={2020-05-17}", 2020, "2020-05-17"),
        ("date={2020-05/2020-06}", 2020, "2020-05"),
        ("year={in press}", None, ""),
    ],
)
def test_dates(fields: str, year: int | None, date: str, tmp_path: Path) -> None:
    paper = one(f"@misc{{a, title={{T}}, {fields}}}", tmp_path)
    assert (paper.year, paper.date) == (year, date)


def test_no_field_is_dropped(tmp_path: Path) -> None:
    fields = {
        "howpublished": "Online",
        "note": "Accessed today",
        "series": "LNCS",
        "isbn": "978-3",
        "address": "Nowhere",
        "edition": "2nd",
        "x-own": "mine",
        "month": "Spring",
        "year": "n.d.",
        "timestamp": "2020",
    }
    written = ", ".join(f"{name} = {{{value}}}" for name, value in fields.items())
    paper = one(
        f"@online{{a, title={{T}}, {written}, editor={{Roe, R. and Doe, J.}}, type={{Talk}}, note={{And more}}}}", tmp_path
    )
    expected = fields | {"note": "Accessed today; And more", "genre": "Talk"}
    assert {name: paper.extra[name] for name in expected} == expected
    assert paper.people == {"editor": [Name("R.", "Roe"), Name("J.", "Doe")]}


def test_values_of_every_kind(tmp_path: Path) -> None:
    written = (
        '@string(a = "one")\n@STRING{b = a # { two}}\n@misc(k, title = b # " three" # { {f}our}, year = 2001, note = undefined)'
    )
    paper = one(written, tmp_path)
    assert (paper.title, paper.year, paper.extra["note"]) == ("one two three four", 2001, "undefined")


def test_comments_and_preambles_are_ignored(tmp_path: Path) -> None:
    written = (
        "This file @ nowhere has junk, me@example.org {x}\n% @misc{no, title={No}}x\n"
        '@comment{ @misc{no, title={No}} }\n@Comment no brace\n@preamble{"\\foo{x}"}\n'
        "@misc{a, % a remark\n title={T}, % another\n}\n@comment{never closed\n@misc{b, title={U}}\n"
    )
    records = read(written, tmp_path)
    assert [each.title for each in papers(records)][-2:] == ["T", "U"]


@pytest.mark.parametrize(
    ("bad", "key", "reason"),
    [
        ("@article{bad, title={A {unbalanced}, year=2000\n}\n", "bad", "missing"),
        ("@article{bad, title={A {{{unbalanced}}, year=2000}\n\n", "bad", "braces are not balanced"),
        ('@article{bad, title="A never closed, year=2000}\n', "bad", "braces are not balanced"),
        ('@article{bad, title="A never closed, year=2000\n', "bad", "quote not closed"),
        ("@article{bad title={A}}\n", "bad", "comma missing after the key"),
        ("@article{bad, title={A}\n year={2000}}\n", "bad", "missing after 'title'"),
        ("@article{bad, title={A}, {B}}\n", "bad", "missing after 'title'"),
        ("@article{bad, title = , year=2000}\n", "bad", "no value"),
        ("@article{bad}\n", "bad", "neither a title nor an identifier"),
        ("@article{bad, title={A},\n", "bad", "missing"),
    ],
)
def test_a_bad_entry_is_reported_and_skipped(bad: str, key: str, reason: str, tmp_path: Path) -> None:
    records = read(f"@misc{{first, title={{First}}}}\n\n{bad}@misc{{last, title={{Last}}}}\n", tmp_path)
    assert [each.title for each in papers(records)] == ["First", "Last"]
    (problem,) = problems(records)
    assert problem.line == 3
    assert reason in problem.reason
    assert key in problem.reason


def test_an_entry_without_a_title_may_add_to_one_in_another_file(tmp_path: Path) -> None:
    (paper,) = papers(read("@article{a, abstract={Gulls.}}\n", tmp_path))
    assert (paper.title, paper.abstract, paper.extra["citekey"]) == ("", "Gulls.", "a")


def test_the_last_entry_may_be_cut_off(tmp_path: Path) -> None:
    records = read("@misc{a, title={A}}\n@misc{b, title={B", tmp_path)
    assert [each.title for each in papers(records)] == ["A"]
    assert [each.line for each in problems(records)] == [2]


def test_entries_for_styles_are_ignored(tmp_path: Path) -> None:
    assert read("@IEEEtranBSTCTL{ctl, CTLuse_forced_etal = {yes}}\n@set{s, entryset = {a,b}}", tmp_path) == []


def test_markup_of_publishers_is_removed(tmp_path: Path) -> None:
    paper = one("@misc{a, title={An <i>n</i>-Gram}, abstract={<p>One.</p><p>p < 0.05</p>}}", tmp_path)
    assert (paper.title, paper.abstract) == ("An n-Gram", "One. p < 0.05")


def test_entries_on_one_line_and_repeated_keys(tmp_path: Path) -> None:
    records = read("@misc{a, title={A}}@misc{a,title={B},} @misc{a, title={C}}", tmp_path)
    assert [each.title for each in papers(records)] == ["A", "B", "C"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_encodings_and_line_ends(encoding: str, newline: str, tmp_path: Path) -> None:
    written = "@misc{a,\n title={Über “Ähren”}\n}\n@misc{b, title B}\n@misc{c, title={C}}\n".replace("\n", newline)
    records = read(written.encode(encoding), tmp_path)
    assert bibtex.matches(written.encode(encoding))
    assert [each.title for each in papers(records)] == ["Über “Ähren”", "C"]
    assert [each.line for each in problems(records)] == [4]


def test_entries_longer_than_a_chunk(tmp_path: Path) -> None:
    long = "word " * 200_000
    records = read(f"@misc{{a, title={{A}}, abstract={{{long}{{x}}}}}}\n@misc{{b, title={{B}}}}", tmp_path)
    assert [each.title for each in papers(records)] == ["A", "B"]
    assert len(papers(records)[0].abstract) == 1_000_001


@pytest.mark.parametrize(
    "hostile",
    [
        '@string{a="xxxxxxxxxx"}\n' + "".join(f"@string{{{chr(98 + n)}={chr(97 + n)}#{chr(97 + n)}}}\n" for n in range(24)),
        "@misc{k,x={" * 20_000,
        "@misc{k,\nx={" * 20_000,
        "@comment{" * 20_000,
        "@misc{a,t={T}}" * 20_000,
        "@" * 200_000,
        "@misc{a, title={" + "{" * 200_000 + "}" * 200_000 + "}}",
        '@misc{a, title="' + '{"' * 100_000,
        "@misc{a, author={" + " and ".join(["A"] * 20_000) + "}, title={T}}",
        "@misc{a, title={T}" + ", a=1" * 20_000 + "}",
        "@misc{a" + " " * 200_000 + "x}",
        "@misc{a,title={T}," + "%\n" * 100_000 + "x}",
    ],
)
def test_hostile_files_take_linear_time(hostile: str, tmp_path: Path) -> None:
    started = time.process_time()
    try:
        read(hostile, tmp_path)
    except InputError as error:
        assert "damaged" in str(error)
    assert time.process_time() - started < 10


def test_many_unclosed_entries_take_linear_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bibtex_entries, "_MAX_WASTE", 1 << 20)
    with pytest.raises(InputError, match="not closed"):
        read("@misc{\nk,x={\n" * 20_000, tmp_path)


@needs_samples
@pytest.mark.realdata
def test_the_acm_files_are_read_completely() -> None:
    count = 0
    for path in sorted(SAMPLES.glob("bibtex/*.bib")):
        records = taken(bibtex, path)
        assert not problems(records)
        count += len(records)
        assert len(records) == path.read_text().count("@inproceedings{")
        for paper in papers(records):
            assert paper.title
            assert paper.ids == [f"doi:{paper.extra['citekey'].lower()}"]
            assert paper.year in (2012, 2013, 2015)
            assert "ASONAM" in paper.extra["series"]
            assert not {"{", "}", "\\"} & set(paper.title + "".join([*map(str, paper.authors)]))
    assert count == 737


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("@article{,\n  title={Boats}, year=2001}", ""),
        ("@article{ title={Boats}, year=2001}", ""),
        ("@article{De La Cruz2019,\n  title={Boats}}", "De La Cruz2019"),
        ("@article{cruz2019 , title={Boats}}", "cruz2019"),
    ],
)
def test_keys_that_bibtex_would_reject(written: str, key: str, tmp_path: Path) -> None:
    (paper,) = papers(read(written, tmp_path))
    assert (paper.title, paper.extra.get("citekey", "")) == ("Boats", key)
    begin, end = key_span(written)
    assert written[begin:end] == key
