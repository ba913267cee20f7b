"""Inserting citations into drafts and entries into bibliographies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.draft import parse
from citewell.draft.accept import Choice, with_citations
from citewell.draft.bibliography import entries
from citewell.draft.entries import assign_keys, with_entries
from citewell.draft.files import replace_file
from citewell.draft.patch import Change
from citewell.errors import CitewellError
from citewell.papers import Paper, Place
from citewell.text.names import parse_all

LATEX = r"""\section{One}
Said \citep{a} and \citep[see][]{?} and \citet{b}. Wanted \todo{cite X} or [?] or \cite{a, ?} or \citationneeded{}.
Several \autocites{c}{d} and a claim without any.
"""
MARKDOWN = """# One

Said [@a] and [see @?, p. 3] and @b. Wanted <!-- cite X --> or [CITATION] or [@a; @?] or \\citep[see][]{} and @? does.
"""


def filled(text: str, format: str, *keys: str) -> str:
    """The draft with `keys` at every gap."""
    draft = parse(text, format)
    changed = with_citations(draft, [Choice(gap.place, keys) for gap in draft.gaps])
    assert set(changed) == {""}
    return changed[""]


def test_latex_gaps_get_keys_and_keep_the_text_around_them() -> None:
    lines = filled(LATEX, "latex", "k", "l").splitlines()
    assert lines[1] == (
        r"Said \citep{a} and \citep[see][]{k, l} and \citet{b}. Wanted \citep{k, l} or \citep{k, l} or \cite{a, k, l}"
        r" or \citep{k, l}."
    )
    assert [lines[0], *lines[2:]] == [LATEX.splitlines()[0], *LATEX.splitlines()[2:]]


def test_markdown_gaps_get_keys_and_keep_the_text_around_them() -> None:
    assert filled(MARKDOWN, "markdown", "k", "l").splitlines()[2] == (
        "Said [@a] and [see @k; @l, p. 3] and @b. Wanted [@k; @l] or [@k; @l] or [@a; @k; @l] or \\citep[see][]{k, l}"
        " and @k [@l] does."
    )


def test_plain_text_gets_citations_in_pandoc_syntax() -> None:
    assert (
        filled("Title\n\nA. B.\n\nBells ring [?].", "text", "k/é", "x y".replace(" ", ""))
        == "Title\n\nA. B.\n\nBells ring [@k/é; @xy]."
    )


def test_a_filled_gap_is_a_citation() -> None:
    for text, format in ((LATEX, "latex"), (MARKDOWN, "markdown")):
        again = parse(filled(text, format, "k"), format)
        assert not again.gaps
        assert len([citation for citation in again.citations if "k" in citation.keys]) == len(
            [s for s in parse(text, format).citations if s.is_gap]
        )


def test_keys_are_added_next_to_existing_ones() -> None:
    draft = parse(LATEX, "latex")
    by_source = {LATEX[citation.place.begin : citation.place.end]: citation.place for citation in draft.citations}
    changed = with_citations(
        draft, [Choice(by_source["\\autocites{c}{d}"], ("k", "d")), Choice(by_source["\\citep{a}"], ("a",))]
    )
    assert "\\autocites{c}{d, k}" in changed[""] and "Said \\citep{a} and" in changed[""]
    draft = parse(MARKDOWN, "markdown")
    place = next(citation.place for citation in draft.citations if citation.keys == ["b"])
    assert "and @b [@k]. Wanted" in with_citations(draft, [Choice(place, ("k",))])[""]


def test_a_citation_at_the_end_of_a_sentence_comes_before_the_full_stop() -> None:
    for format, expected in (("latex", "any~\\citep{k}."), ("text", "any [@k].")):
        text = (
            f"Title\n\nA. {LATEX.splitlines()[1]} A claim without any. More."
            if format == "latex"
            else "T\n\nA. A claim without any. More."
        )
        begin = text.index("A claim")
        place = Place("", begin, begin + len("A claim without any."))
        assert f"A claim without {expected} More." in with_citations(parse(text, format), [Choice(place, ("k",))])[""]


def test_invalid_places_and_keys_are_refused() -> None:
    draft = parse(LATEX, "latex")
    for place, keys, says in ((Place("", 5, 10**6), ("k",), "no position"), (Place("", 0, 0), ("a b",), "citation key")):
        with pytest.raises(CitewellError, match=says):
            with_citations(draft, [Choice(place, keys)])
    gap = draft.gaps[0].place
    with pytest.raises(CitewellError, match="same place"):
        with_citations(draft, [Choice(gap, ("k",)), Choice(gap, ("l",))])


BIB = "%\r\n@Article{smith2020graphs,\r\n  title={Graphs}, author  ={Smith, Jo}, year=2020, doi={10.1000/G}\r\n}\r\n@comment{x}"


def papers() -> list[Paper]:
    return [
        Paper("Graphs!", authors=parse_all(["Jo Smith"]), year=2021, id="one"),
        Paper("Other Graphs", authors=parse_all(["Jo Smith"]), year=2020, ids=["doi:10.1000/g"], id="two"),
        Paper(
            "Graphs of Another Kind",
            authors=parse_all(["Kim Smith"]),
            year=2020,
            id="three",
            abstract="Long.",
            extra={"volume": "3"},
        ),
        Paper("Graphs", authors=parse_all(["Somebody Else"]), year=1950, id="four"),
    ]


def test_existing_entries_keep_their_keys_and_new_papers_get_stable_ones() -> None:
    known = dict(entries(BIB))
    keys = assign_keys(papers(), known, reserved=["else1950graphs"])
    assert keys == {"one": "smith2020graphs", "two": "smith2020graphs", "three": "smith2020graphsa", "four": "else1950graphsa"}
    text = with_entries(BIB, papers(), keys)
    assert text.startswith(BIB) and text[len(BIB) :].startswith("\r\n\r\n@") and "\n" not in text.replace("\r\n", "")
    assert [key for key, _ in entries(text)] == ["smith2020graphs", "smith2020graphsa", "else1950graphsa"]
    assert "Long." not in text and "volume = {3}" in text
    again = assign_keys(papers(), dict(entries(text)))
    assert again == keys and with_entries(text, papers(), again) == text


WORDS = st.lists(st.sampled_from(["Graph", "graphs", "Über", "de", "x", "{", "%", "a_b", "Ng", "\u4e2d"]), max_size=3).map(
    " ".join
)


@given(st.lists(st.tuples(WORDS, WORDS, st.integers(1998, 2003)), max_size=6))
def test_keys_are_deterministic_and_unique(works: list[tuple[str, str, int]]) -> None:
    made = [
        Paper(f"On {title}", authors=parse_all([f"J {name}"]), year=year, id=str(at))
        for at, (title, name, year) in enumerate(works)
    ]
    keys = assign_keys(made, {})
    assert keys == assign_keys(made, {}) and len({key.lower() for key in keys.values()}) == len(made)
    text = with_entries("", made, keys)
    assert with_entries(text, made, assign_keys(made, dict(entries(text)))) == text


def test_a_patch_keeps_the_encoding_and_shows_the_change(tmp_path: Path) -> None:
    path = tmp_path / "latin.tex"
    path.write_bytes("Gr\u00fc\u00dfe [?]\r\nEnde".encode("latin-1"))
    change = Change.of(path, "Gr\u00fc\u00dfe \\cite{k}\r\nEnde")
    assert change.diff().splitlines()[3:] == [
        "-Gr\u00fc\u00dfe [?]",
        "+Gr\u00fc\u00dfe \\cite{k}",
        " Ende",
        "\\ No newline at end of file",
    ]
    change.write()
    assert path.read_bytes() == "Gr\u00fc\u00dfe \\cite{k}\r\nEnde".encode("latin-1")
    with pytest.raises(CitewellError, match="in the meantime"):
        change.write()
    with pytest.raises(CitewellError, match="UTF-8"):
        Change.of(path, "\u2603")


def test_git_can_apply_a_patch(tmp_path: Path) -> None:
    path = tmp_path / "draft.tex"
    path.write_text(LATEX)
    change = Change.of(path, filled(LATEX, "latex", "k"))
    done = subprocess.run(["git", "apply", "--unsafe-paths", "-p0", "--directory=/", "-"], input=change.diff(), text=True)
    assert done.returncode == 0 and path.read_bytes() == change.new


def test_a_file_is_complete_whenever_the_writer_is_killed(tmp_path: Path) -> None:
    """A process that writes two versions in turn is killed; the file is one of them, complete."""
    path = tmp_path / "refs.bib"
    versions = [b"a" * 3_000_000, b"b" * 2_000_000]
    path.write_bytes(versions[0])
    path.chmod(0o640)
    code = (
        "import sys; from pathlib import Path; from citewell.draft.files import replace_file\n"
        "while True:\n"
        " for data in (b'b' * 2_000_000, b'a' * 3_000_000): replace_file(Path(sys.argv[1]), data); print('.', flush=True)"
    )
    for wait in (0.0, 0.013, 0.031):
        with subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            time.sleep(wait)
            os.kill(writer.pid, signal.SIGKILL)
        assert path.read_bytes() in versions
        assert path.stat().st_mode & 0o777 == 0o640
    replace_file(path, b"c")
    assert path.read_bytes() == b"c"


def test_a_gap_in_a_macro_must_be_filled_in_its_definition() -> None:
    draft = parse(r"\newcommand{\boat}{Boat~\cite{?}} The \boat{} floats.", "latex")
    (citation,) = draft.citations
    with pytest.raises(CitewellError, match=r"macro \\boat; fill it in the definition"):
        with_citations(draft, [Choice(citation.place, ("k",))])


def test_macros_of_the_author_keep_their_other_arguments() -> None:
    macros = r"\newcommand{\citeat}[2]{\cite[#2]{#1}}\newcommand{\jd}[1]{\textcolor{red}{[JD: #1]}}"
    text = rf"{macros} A \citeat{{?}}{{p. 3}} b \jd{{cite X}}."
    assert filled(text, "latex", "k").endswith(r" A \citeat{k}{p. 3} b \cite{k}.")


def test_a_citation_in_a_chinese_sentence_comes_before_its_full_stop() -> None:
    draft = parse("第一句话。第二句话。", "latex")
    first = draft.paragraphs[0].sentences[0]
    assert with_citations(draft, [Choice(first.place, ("k",))])[""] == r"第一句话~\cite{k}。第二句话。"


def test_a_link_stays_a_link_and_a_file_keeps_its_mode(tmp_path: Path) -> None:
    target = tmp_path / "target" / "refs.bib"
    target.parent.mkdir()
    target.write_text("@book{a, title={A}}\n", encoding="utf-8")
    target.chmod(0o640)
    link = tmp_path / "refs.bib"
    link.symlink_to(target)
    Change.of(link, "@book{b, title={B}}\n").write()
    assert link.is_symlink() and link.resolve() == target.resolve()
    assert target.read_text("utf-8") == "@book{b, title={B}}\n" and target.stat().st_mode & 0o777 == 0o640
