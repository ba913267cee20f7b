"""Files that are edited and added again: the library is the one that would be built from the files as they are now."""

from __future__ import annotations

import io
import random
from pathlib import Path

import pytest

from citewell.export.own_entries import export
from citewell.library.library import Library
from citewell.library.provenance import provenance
from citewell.papers import Paper

ENTRY = """@article{{{key},
  author = {{{author}}},
  title = {{{title}}},
  year = {{{year}}},{doi}
}}
"""


def entry(key: str, title: str, year: int = 2020, author: str = "Lee, Ann", doi: str = "") -> str:
    return ENTRY.format(key=key, title=title, year=year, author=author, doi=f"\n  doi = {{{doi}}}," if doi else "")


def written(path: Path, *entries: str) -> Path:
    path.write_text("\n".join(entries))
    return path


def described(library: Library) -> list[tuple[object, ...]]:
    """What a library knows of its papers, whatever their numbers are."""
    keys = ("title", "year", "authors", "venue", "keywords")
    papers = []
    for paper in library:
        values = tuple(str(getattr(paper, name)) for name in keys)
        papers.append((*values, tuple(sorted(paper.ids)), tuple(sorted((k, v) for k, v in paper.extra.items()))))
    return sorted(papers)


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path / "library")


def test_an_edited_entry_changes_its_paper(library: Library, tmp_path: Path) -> None:
    refs = written(tmp_path / "refs.bib", entry("a", "Bots"), entry("b", "Harbours"))
    library.add([refs])
    number = library.number("a")
    outcome = library.add([written(refs, entry("a", "Boats", 2021, "Lee, Ann-Marie"), entry("b", "Harbours"))])
    assert (outcome.changed, outcome.new_papers, outcome.gone) == (1, 0, [])
    paper = library.paper("a")
    assert (paper.title, paper.year, [str(name) for name in paper.authors]) == ("Boats", 2021, ["Ann-Marie Lee"])
    assert library.number("a") == number
    assert library.check().sound


def test_entries_that_are_gone_are_listed_and_removed_on_request(library: Library, tmp_path: Path) -> None:
    refs = written(tmp_path / "refs.bib", entry("a", "Boats"), entry("b", "Harbours"))
    library.add([refs])
    written(refs, entry("a", "Boats"))
    assert [gone.key for gone in library.add([refs]).gone] == ["b"]
    assert "b" in library
    assert library.add([refs], sync=True).removed == 1
    assert "b" not in library and library.check().sound


def test_what_another_file_says_stays_when_one_is_corrected(library: Library, tmp_path: Path) -> None:
    one = written(tmp_path / "one.bib", entry("a", "Boats", doi="10.1000/a"))
    two = written(tmp_path / "two.bib", entry("x", "The boats", 2021, doi="10.1000/a"))
    library.add([one, two])
    assert len(library) == 1 and library.paper("x").title == "Boats"
    library.add([written(one, entry("c", "Gulls"))], sync=True)
    assert library.paper("x").title == "The boats" and "a" not in library
    library.add([written(one, entry("a", "Boats", doi="10.1000/other"))], sync=True)
    assert len(library) == 2 and "c" not in library


def test_a_file_with_a_damaged_entry_removes_nothing(library: Library, tmp_path: Path) -> None:
    refs = written(tmp_path / "refs.bib", entry("a", "Boats"), entry("b", "Harbours"))
    library.add([refs])
    outcome = library.add([written(refs, entry("a", "Boats"), "@article{b, title = {Harbours")], sync=True)
    assert outcome.removed == 0 and "b" in library
    assert "nothing was removed" in outcome.notes[0]


def test_the_users_own_file_wins_over_a_service(library: Library, tmp_path: Path) -> None:
    library.take([Paper("BOATS", "An abstract.", year=2019, ids=["doi:10.1000/a"])], source="crossref")
    library.add([written(tmp_path / "refs.bib", entry("a", "Boats", doi="10.1000/a"))])
    paper = library.paper("a")
    assert (paper.title, paper.year, paper.abstract) == ("Boats", 2020, "An abstract.")
    own, service = provenance(library, library.number("a"))
    assert own.source.endswith("refs.bib") and "title" in own.used
    assert (service.source, service.used, service.differs) == ("crossref", ["abstract"], {"title": "BOATS", "year": "2019"})


def test_a_record_without_a_key_is_recognised_when_it_is_edited(library: Library, tmp_path: Path) -> None:
    ris = tmp_path / "refs.ris"
    record = "TY  - JOUR\nTI  - {}\nAU  - Lee, Ann\nPY  - {}\nER  - \n"
    ris.write_text(record.format("On the boats of the harbour", 2019) + record.format("Tides", 2020))
    library.add([ris])
    ris.write_text(record.format("On the boats of the harbor", 2020) + record.format("Tides", 2020))
    outcome = library.add([ris])
    assert (outcome.changed, len(library), outcome.gone) == (1, 2, [])


@pytest.mark.parametrize("seed", range(40))
def test_after_any_edits_the_library_is_the_one_built_afresh(tmp_path: Path, seed: int) -> None:
    choose = random.Random(seed)
    library = Library(tmp_path / "library")
    names = ["one.bib", "two.bib"]
    for _ in range(6):
        for name in choose.sample(names, choose.randint(1, 2)):
            entries = []
            for key in choose.sample("abcdefgh", choose.randint(1, 5)):
                doi = choose.choice(["", "", "10.1000/a", "10.1000/b"])
                title = choose.choice(["Boats", "Harbours", "Tides", "Gulls"])
                author = choose.choice(["Lee, Ann", "Berg, Bo"])
                entries.append(entry(f"{name[0]}{key}", title, choose.choice([2019, 2020, 2023]), author, doi))
            library.add([written(tmp_path / name, *entries)], sync=True)
        assert library.check().sound
    files = [tmp_path / name for name in names if (tmp_path / name).exists()]
    order = {name: at for at, (name,) in enumerate(library.store.db.execute("SELECT name FROM sources ORDER BY num"))}
    fresh = Library(tmp_path / "fresh")
    fresh.add(sorted(files, key=lambda file: order[str(file)]))
    assert described(library) == described(fresh)


def test_a_whole_library_gives_its_files_back(library: Library, tmp_path: Path) -> None:
    text = (
        "% Boats\n@string{j = {Journal}}\r\n@comment{kept}\n"
        "@article{a, title = {{Bayesian} x^2}, journal = j, file = {C:\\x.pdf}, year = 2020}\n\n"
        "@misc{untitled, note = {n}}\n@book{b,title={B}} trailing"
    )
    (tmp_path / "refs.bib").write_bytes(text.encode())
    library.add([tmp_path / "refs.bib"])
    out = io.StringIO(newline="")
    assert export(library, "bibtex", out) == []
    assert out.getvalue() == text
    chosen = io.StringIO(newline="")
    export(library, "bibtex", chosen, [library.number("a")])
    assert chosen.getvalue().startswith("@string{j = {Journal}}\n@article{a, title")


def book_and_chapter() -> tuple[str, str]:
    book = entry("book", "A book of tides", author="Holm, Kai", doi="10.1000/book").replace("@article", "@book")
    chapter = entry("chapter", "On gulls", author="Berg, Ada", doi="10.1000/book").replace("@article", "@incollection")
    return book, chapter


def test_a_chapter_is_not_its_book(library: Library, tmp_path: Path) -> None:
    for order in (book_and_chapter(), tuple(reversed(book_and_chapter()))):
        other = Library(tmp_path / order[0][:8])
        other.add([written(tmp_path / "refs.bib", *order)])
        assert (other.paper("book").title, other.paper("chapter").title) == ("A book of tides", "On gulls")
        assert other.check().sound and not other.check().doubtful


def test_a_chapter_with_the_title_of_its_book_is_another_work(library: Library, tmp_path: Path) -> None:
    chapter = entry("chapter", "Tides").replace("@article", "@incollection")
    library.add([written(tmp_path / "refs.bib", entry("book", "Tides").replace("@article", "@book"), chapter)])
    assert len(library) == 2


def test_an_abstract_is_not_its_article(library: Library, tmp_path: Path) -> None:
    poster = entry("poster", "Tides").replace("year =", "type = {Poster},\n  year =")
    library.add([written(tmp_path / "refs.bib", entry("article", "Tides"), poster)])
    assert len(library) == 2


def test_chapters_with_the_doi_of_their_book_stay_apart(library: Library, tmp_path: Path) -> None:
    _, chapter = book_and_chapter()
    another = chapter.replace("{chapter,", "{another,").replace("On gulls", "Counting boats")
    library.add([written(tmp_path / "refs.bib", chapter, another)])
    assert len(library) == 2 and library.check().sound


def test_the_user_merges_and_splits(library: Library, tmp_path: Path) -> None:
    refs = written(tmp_path / "refs.bib", entry("a", "Boats"), entry("b", "Ships", 2022), entry("c", "Boats", 2021))
    library.add([refs])
    assert library.number("a") == library.number("c")
    library.split("c")
    library.merge(["a", "b"])
    for _ in range(2):
        assert len(library) == 2 and library.check().sound
        assert library.number("a") == library.number("b") != library.number("c")
        out = io.StringIO(newline="")
        export(library, "bibtex", out)
        assert out.getvalue() == refs.read_text()
        edited = (entry("a", "Boats!"), entry("b", "Ships", 2023), entry("c", "Boats", 2020))
        library.add([written(refs, *edited)], sync=True)
    library.split("b")
    assert len(library) == 3


def test_doubtful_merges_are_listed(library: Library, tmp_path: Path) -> None:
    other = entry("b", "Ships of the northern sea", doi="10.1000/a")
    library.add([written(tmp_path / "refs.bib", entry("a", "Boats in harbours", doi="10.1000/a"), other)])
    assert library.check().doubtful == [
        "a and b are one paper, but their titles differ; if they are not, run 'citewell library split b'"
    ]


def test_a_file_that_has_vanished_from_a_folder_is_withdrawn_on_request(library: Library, tmp_path: Path) -> None:
    folder = tmp_path / "refs"
    folder.mkdir()
    written(folder / "one.bib", entry("a", "Boats"))
    two = written(folder / "two.bib", entry("b", "Harbours"))
    library.add([folder])
    two.unlink()
    assert [gone.key for gone in library.add([folder]).gone] == ["b"]
    assert "b" in library
    assert library.add([folder], sync=True).removed == 1
    assert "b" not in library and not library.add([folder]).gone


def test_a_renamed_key_brings_what_the_file_says_now(library: Library, tmp_path: Path) -> None:
    refs = written(tmp_path / "refs.bib", entry("lund2002", "Boats of the harbour", 2002, "Lund, Bo"))
    library.add([refs])
    outcome = library.add([written(refs, entry("lund2002b", "Boats of the harbour", 2002, "Lund, Beate"))])
    assert [gone.key for gone in outcome.gone] == ["lund2002"]
    assert [str(name) for name in library.paper("lund2002b").authors] == ["Beate Lund"]
    assert library.number("lund2002") == library.number("lund2002b") and len(library) == 1
    library.add([written(refs, entry("lund2002", "Boats of the harbour", 2002, "Lund, Bo"))])
    assert [str(name) for name in library.paper("lund2002").authors] == ["Bo Lund"]
    assert library.check().sound


def test_the_date_of_a_merged_paper_is_of_its_year(library: Library, tmp_path: Path) -> None:
    report = "@techreport{r, author={Lee, Ann}, title={Boats of the harbour}, year=1982}\n"
    article = "@article{a, author={Lee, Ann}, title={Boats of the harbour}, year=1981, month=dec}\n"
    library.add([written(tmp_path / "refs.bib", report, article)])
    paper = library.paper("a")
    assert (len(library), paper.year, paper.date) == (1, 1982, "")
