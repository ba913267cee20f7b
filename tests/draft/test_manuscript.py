"""``citewell suggest`` for manuscripts: queries, works already cited, and accepting suggestions."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from citewell import demo
from citewell.draft import read
from citewell.library.library import Library
from tests.draft import word


def citewell(*arguments: object, check: bool = True) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "citewell", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=check)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("manuscript") / "library"
    with Library(folder) as made:
        made.add([demo.path("library.jsonl")])
    return folder


@pytest.fixture
def draft(tmp_path: Path) -> Path:
    """The demo's LaTeX draft with its bibliography."""
    for name in ("draft.tex", "refs.bib"):
        (tmp_path / name).write_bytes(demo.path(name).read_bytes())
    return tmp_path / "draft.tex"


@pytest.mark.parametrize("name", ["draft.tex", "draft.md"])
def test_suggestions_for_the_whole_draft_every_gap_and_every_uncited_paragraph(library: Path, draft: Path, name: str) -> None:
    draft.with_name("draft.md").write_bytes(demo.path("draft.md").read_bytes())
    path = draft.with_name(name)
    arguments = ("suggest", path, "--bib", draft.with_name("refs.bib"), "--library", library, "--pipeline", "fast", "--json")
    results = json.loads(citewell(*arguments).stdout)
    answers = json.loads(demo.path("answers.json").read_text())
    assert [result["task"] for result in results] == ["global", *["local"] * len(answers), "paragraph"]
    cited = {each["key"]: each["id"] for each in results[0]["cites"]}
    assert set(cited) == {key for citation in read(path).citations for key in citation.keys} and all(cited.values())
    source = path.read_text("utf-8")
    for number, (answer, result) in enumerate(zip(answers, results[1:-1], strict=True), 1):
        place, suggested = result["place"], [each["id"] for each in result["suggestions"]]
        assert set(answer["relevant"]) & set(suggested) and not set(cited.values()) & set(suggested)
        assert result["query"]["known"] == list(dict.fromkeys(cited.values()))
        assert result["gap"] == number and place["text"] == source[place["begin"] : place["end"]] in (
            "\\cite{}",
            "\\cite{?}",
            "[@?]",
        )
        assert place["file"] == str(path) and source.splitlines()[place["line"] - 1].find(place["text"]) >= 0
    assert results[-1]["place"]["text"].startswith("Our contributions are a compact index")


def test_the_table_names_the_places_and_the_works_already_cited(library: Path, draft: Path) -> None:
    output = citewell("suggest", draft, "--task", "local", "-k", 1, "--library", library, "--pipeline", "fast").stdout
    assert "The draft cites 6 works. The library has 6, which are not suggested again" in " ".join(output.split())
    last = read(draft).gaps[-1].place.line
    assert "Gap 8," in output and f"draft.tex:{last}:" in "".join(output.split())


def test_accept_shows_a_patch_and_write_writes_it(library: Path, draft: Path) -> None:
    bib = draft.with_name("refs.bib")
    before, entries = draft.read_bytes(), bib.read_bytes()
    chosen = ("--accept", "3#1", "--accept", "7=beltagy2019scibert", "--accept", "7=devlin2019bert", "--take", "he2011citation")
    arguments = ("suggest", draft, *chosen, "--library", library, "--pipeline", "fast")
    shown = citewell(*arguments)
    assert "nothing is written yet" in shown.stderr and (draft.read_bytes(), bib.read_bytes()) == (before, entries)
    assert (
        "+with a second network, all without metadata~\\cite{bhagavatula2018content}. Later work showed that a" in shown.stdout
    )
    assert (
        "+its own, pays off on nearly every kind of scientific text~\\cite{beltagy2019scibert, devlin2019bert}." in shown.stdout
    )
    written = citewell(*arguments, "--write")
    assert written.stdout == shown.stdout and "wrote" in written.stderr
    after = draft.read_text("utf-8")
    assert after == before.decode().replace("metadata~\\cite{}", "metadata~\\cite{bhagavatula2018content}").replace(
        "scientific text~\\cite{}", "scientific text~\\cite{beltagy2019scibert, devlin2019bert}"
    )
    assert bib.read_bytes().startswith(entries)
    assert bib.read_text("utf-8").count("@") == entries.decode().count("@") + 3  # devlin2019bert was there already
    again = read(draft)
    assert len(again.gaps) == 6
    assert {key for citation in again.citations for key in citation.keys} <= set(again.bibliography)
    nothing = citewell("suggest", draft, "--take", "he2011citation", "--write", "--library", library)
    assert "nothing to change" in nothing.stderr and not nothing.stdout


def test_accept_best_leaves_no_gap(library: Path, draft: Path) -> None:
    done = citewell("suggest", draft, "--accept", "best", "--write", "--json", "--library", library, "--pipeline", "fast")
    result = json.loads(done.stdout)
    assert result["written"] and result["files"] == [str(draft.with_name("refs.bib")), str(draft)]
    after = read(draft)
    assert not after.gaps and set(result["keys"].values()) <= set(after.bibliography)


def test_a_missing_bibliography_is_created(library: Path, tmp_path: Path) -> None:
    path, bib = tmp_path / "draft.md", tmp_path / "new.bib"
    path.write_text("# Title\n\nTopics are mixtures <!-- cite LDA -->.\n")
    arguments = ("suggest", path, "--accept", "1=blei2003latent", "--write", "--library", library)
    assert "--bib refs.bib" in citewell(*arguments, check=False).stderr
    citewell(*arguments, "--bib", bib)
    assert path.read_text() == "# Title\n\nTopics are mixtures [@blei2003latent].\n"
    assert bib.read_text().startswith("@") and "{blei2003latent," in bib.read_text()


def test_a_word_file_is_cited_in_a_copy(library: Path, tmp_path: Path) -> None:
    path = tmp_path / "draft.docx"
    text = word.paragraph("Topics are mixtures of words, as in latent Dirichlet allocation ", word.run("[?]", "yellow"), ".")
    path.write_bytes(word.docx(word.paragraph("On Topics", style="Title"), text))
    original = path.read_bytes()
    arguments = ("suggest", path, "--library", library, "--pipeline", "fast")
    results = json.loads(citewell(*arguments, "--json").stdout)
    assert "blei2003latent" in [each["id"] for each in results[1]["suggestions"]]
    citewell(*arguments, "--take", "blei2003latent", "--bib", tmp_path / "refs.bib", "--write")
    assert "blei2003latent" in (tmp_path / "refs.bib").read_text()
    shown = citewell(*arguments, "--accept", "1=blei2003latent")
    assert "+Topics are mixtures of words, as in latent Dirichlet allocation [@" in shown.stdout
    assert not (tmp_path / "draft-cited.docx").exists()
    citewell(*arguments, "--accept", "1=blei2003latent", "--write")
    again = citewell(*arguments, "--accept", "1=blei2003latent", "--write", check=False)
    assert again.returncode and "draft-cited.docx exists; remove it, or name another file with --output" in again.stderr
    copy = read(tmp_path / "draft-cited.docx")
    assert path.read_bytes() == original and not copy.gaps
    assert copy.bibliography[copy.citations[0].keys[0]].title == "Latent Dirichlet Allocation"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--accept", "9"], "has no gap 9"),
        (["--accept", "everything"], "GAP#RANK"),
        (["--accept", "1=nobody1900"], "has no paper"),
        (["--accept", "1#900", "--venue", "sigir"], "has no suggestion 900"),
        (["--write"], "needs to know what to write"),
    ],
)
def test_mistakes_get_one_line_with_the_fix(library: Path, draft: Path, arguments: list[str], says: str) -> None:
    before = draft.read_bytes()
    done = citewell("suggest", draft, *arguments, "--library", library, "--pipeline", "fast", check=False)
    assert done.returncode and says in done.stderr and "Traceback" not in done.stderr
    assert draft.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.pdf", "%PDF-1.5\n1 0 obj", "is a PDF; save your draft as .tex"),
        ("a.rtf", "{\\rtf1 Boats}", "is rich text (RTF); open it"),
        ("a.docx", "PK\x03\x04 and no more", "is not a Word file, or a damaged one; open it"),
        ("a.html", "\n<!DOCTYPE html><p>Boats [?]", "is a web page; convert it first: pandoc "),
        ("a.bib", "@article{a, title={Boats}}", "a.bib is a bibliography, not a draft; add it to your library: citewell add "),
        ("a.txt", "@article{a, title={Boats}}", "is a bibliography"),
        ("a.lyx", "#LyX 2.3 created this file", "is a LyX document; choose File > Export > LaTeX"),
        ("a.rst", "Boats\n=====\n", "convert it first: pandoc "),
        ("a.py", "print('boats')", "is program code or data, not a draft"),
        ("a.ipynb", '{"cells": [', "is a damaged notebook"),
        ("a.tex", "\\documentclass{article}\\begin{document}\\end{document}", "no title and no text"),
        ("a.txt", "A title\n\nAnd a text without a gap.", "no gap; mark the places"),
    ],
)
def test_files_that_are_not_drafts_are_refused(library: Path, tmp_path: Path, name: str, text: str, says: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    accept = ("--accept", "best") if name.endswith("txt") else ()
    done = citewell("suggest", path, *accept, "--library", library, "--pipeline", "fast", check=False)
    assert done.returncode and says in done.stderr and len(done.stderr.splitlines()) == 1


def test_missing_files_are_reported(library: Path, draft: Path) -> None:
    draft.with_name("refs.bib").unlink()
    done = citewell("suggest", draft, "--task", "global", "-k", 1, "--library", library, "--pipeline", "fast", "--json")
    assert "refers to files that do not exist: refs" in done.stderr
    assert all(each["id"] for each in json.loads(done.stdout)["cites"]), "the library knows the keys by itself"


def test_features_and_scores_are_shown_only_under_explain(library: Path) -> None:
    query = ("suggest", "--context", "topic models such as latent Dirichlet allocation [?]", "-k", 1, "--library", library)
    plain, explained = (citewell(*query, *flags).stdout for flags in ((), ("--explain",)))
    assert "Score:" not in plain and "Score:" in explained
    assert len(explained.splitlines()) > len(plain.splitlines())
    results = json.loads(citewell(*query, "--json").stdout)
    assert isinstance(results["notes"], list) and any(reason["detail"] for reason in results["suggestions"][0]["reasons"])
