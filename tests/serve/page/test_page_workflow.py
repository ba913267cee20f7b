"""The main workflow: open a draft, choose papers, save files."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from pathlib import Path
from typing import Any

import docx
import pytest
from browsing import drop, settled, titles, until

from citewell import demo
from citewell.library import Library


@pytest.fixture
def draft(tmp_path: Path) -> tuple[Path, Path]:
    """Copies of the demo's draft and bibliography."""
    return tuple(Path(shutil.copy(demo.path(name), tmp_path / name)) for name in ("draft.tex", "refs.bib"))  # type: ignore[return-value]


@pytest.fixture
def open_draft(page: Any, draft: tuple[Path, Path]) -> Any:
    """The page with the demo's draft, dropped and parsed."""
    drop(page, "#manuscript", *draft)
    page.wait_for_selector("#mirror .gap")
    settled(page)
    return page


def _saved(page: Any, button: str) -> tuple[str, str]:
    with page.expect_download() as download:
        page.click(button)
    return download.value.suggested_filename, Path(download.value.path()).read_text("utf-8")


def _cite_first(page: Any, at: int = 0) -> str:
    page.keyboard.press("F8")
    page.wait_for_selector("#stage:not([data-stage=refined])")
    settled(page)
    page.wait_for_timeout(100)
    first = page.locator("#suggestions .card").nth(at)
    identity = first.get_attribute("data-id")
    first.get_by_role("button", name="Cite").click()
    assert identity is not None
    return identity


def test_from_a_dropped_latex_file_to_a_bib(open_draft: Any, draft: tuple[Path, Path]) -> None:
    page = open_draft
    text = draft[0].read_text("utf-8")
    assert page.input_value("#draft") == text
    assert page.inner_text("#name") == "draft.tex · LaTeX"
    gaps = re.findall(r"\\cite\{\??\}", text)
    assert page.locator("#mirror .gap").all_inner_texts() == gaps
    assert "6 bibliography entries, 6 in the library" in page.inner_text("#entries")

    chosen = [_cite_first(page, at) for at in range(2)]
    assert page.locator("#mirror .filled").count() == 2
    assert len(set(chosen)) == page.locator("#chosen-list li").count() == 2

    name, bibtex = _saved(page, "#save-bibtex")
    assert name == "references.bib"
    assert len(re.findall(r"^@\w+\{", bibtex, re.M)) == 2
    name, ris = _saved(page, "#save-ris")
    assert (name, ris.count("TY  - ")) == ("references.ris", 2)
    name, csl = _saved(page, "#save-csl")
    assert (name, len(json.loads(csl))) == ("references.json", 2)
    name, cited = _saved(page, "#save-draft")
    assert name == "draft-cited.tex"
    new = re.findall(r"\\cite\{([^}?]+)\}", cited)[:2]
    name, whole = _saved(page, "#save-bibliography")
    assert name == "refs.bib", "the bibliography keeps the name that the draft refers to"
    assert all(f"{{{key}," in whole for key in new), "new citations have entries in the bibliography"
    assert whole.startswith(draft[1].read_text("utf-8").rstrip()), "existing entries stay as they are"


def test_insert_citations_and_undo(open_draft: Any) -> None:
    page = open_draft
    before = page.input_value("#draft")
    _cite_first(page)
    page.click("#insert")
    until(page, "before => document.getElementById('draft').value !== before", before)
    assert page.input_value("#draft").count(r"\cite{}") == before.count(r"\cite{}") - 1
    page.focus("#draft")
    page.keyboard.press("Control+z")
    assert page.input_value("#draft") == before


_STATE = """() => [document.getElementById("chosen-list").innerText, document.querySelectorAll("#mirror .filled").length,
  document.getElementById("entries").textContent]"""


def test_undo_and_redo_of_an_insertion_restore_choices_and_bibliography(open_draft: Any) -> None:
    page = open_draft
    _cite_first(page)
    before = page.evaluate(_STATE)
    page.click("#insert")
    until(page, "document.getElementById('chosen-list').innerText.includes('cited in the text')")
    after = page.evaluate(_STATE)
    assert after[2].startswith("7 bibliography entries")
    for keys, then in (("Control+z", before), ("Control+Shift+z", after), ("Control+z", before)):
        page.keyboard.press(keys)
        until(page, f"then => JSON.stringify(({_STATE})()) === JSON.stringify(then)", then)


def test_citations_at_both_ends_of_a_long_draft_are_inserted_together(page: Any, tmp_path: Path) -> None:
    middle = "".join(f"Line {at} of it: <b>bold</b> &amp; 😀 \\& more.\n\n" for at in range(1500))
    text = f"Topic models are old \\cite{{}}.\n\n{middle}Lexical search ranks papers by words \\cite{{}}.\n"
    (tmp_path / "long.tex").write_text(text, "utf-8")
    page.set_input_files("#file", tmp_path / "long.tex")
    until(page, "document.querySelectorAll('#mirror .gap').length === 2")
    for keys in ("F8", "Shift+F8"):
        page.evaluate("draft.setSelectionRange(0, 0)")
        page.keyboard.press(keys)
        until(page, "document.getElementById('place').textContent === 'For this gap'")
        settled(page)
        page.locator("#suggestions [data-act=cite]").first.click()
    page.click("#insert")
    until(page, "text => document.getElementById('draft').value !== text", text, seconds=5)
    cited = page.input_value("#draft")
    assert re.sub(r"\\cite\{\w+\}", lambda _: r"\cite{}", cited) == text
    page.keyboard.press("Control+z")
    assert page.input_value("#draft") == text
    assert page.locator("#mirror .filled").count() == 2


def test_inserted_citations_can_be_saved(open_draft: Any) -> None:
    page = open_draft
    _cite_first(page)
    page.click("#insert")
    until(page, "document.getElementById('chosen-list').innerText.includes('cited in the text')")
    _, cited = _saved(page, "#save-draft")
    assert cited == page.input_value("#draft")
    new = set(re.findall(r"\\cite\{([^}?]+)\}", cited)) - set(re.findall(r"@\w+\{([^,]+),", _bib()))
    name, whole = _saved(page, "#save-bibliography")
    assert (name, len(new)) == ("refs.bib", 1)
    assert f"{{{new.pop()}," in whole


def test_undoing_a_deletion_restores_a_choice(open_draft: Any) -> None:
    page = open_draft
    _cite_first(page)
    before = page.evaluate(_STATE)
    page.focus("#draft")
    page.evaluate("() => { const at = draft.value.indexOf('\\\\cite{}'); draft.setSelectionRange(at - 9, at + 20); }")
    page.keyboard.press("Delete")
    assert "bibliography only" in page.inner_text("#chosen-list")
    page.keyboard.press("Control+z")
    assert page.evaluate(_STATE) == before


def test_removing_a_chosen_paper_can_be_undone_and_keeps_the_focus_in_the_list(open_draft: Any) -> None:
    page = open_draft
    for at in range(2):
        _cite_first(page, at)
    places = page.locator("#chosen-list .places")
    before = places.all_inner_texts()
    page.locator("#chosen-list .close").first.focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.closest('#chosen-list li') !== null")
    page.evaluate("draft.focus(), draft.setSelectionRange(0, 0)")
    page.keyboard.type("%\n")  # the places move in the meantime
    page.locator(".notice", has_text="Removed").get_by_role("button", name="Undo").click()
    lines = [int(text.split()[-1]) for text in before]
    assert places.all_inner_texts() == [f"line {line + 1}" for line in lines]


def test_another_draft_replaces_the_first_until_undo(open_draft: Any, tmp_path: Path) -> None:
    page = open_draft
    _cite_first(page)
    page.locator("#suggestions [data-act=dismiss]").nth(1).click()
    text, before = page.input_value("#draft"), page.evaluate(_STATE)
    other = tmp_path / "other.md"
    other.write_text("# Boats\n\nTopic models count boats [@?].\n", "utf-8")
    drop(page, "#panel", other)
    until(page, "document.getElementById('name').textContent === 'other.md · Markdown'")
    assert page.locator("#dismissed").is_hidden(), "papers are dismissed for one draft"
    page.locator(".notice", has_text="other.md").get_by_role("button", name="Undo").click()
    until(page, f"then => JSON.stringify(({_STATE})()) === JSON.stringify(then)", before)
    assert page.input_value("#draft") == text
    assert page.inner_text("#dismissed-count") == "1 dismissed"


def test_of_several_files_the_one_with_the_document_is_opened(page: Any, tmp_path: Path) -> None:
    (tmp_path / "intro.tex").write_text("Topic models are old \\cite{}.\n", "utf-8")
    (tmp_path / "main.tex").write_text(
        "\\documentclass{article}\n\\begin{document}\n\\input{intro}\n\\end{document}\n", "utf-8"
    )
    first, second = _bib().split("\n\n", 1)
    (tmp_path / "one.bib").write_text(first, "utf-8")
    (tmp_path / "two.bib").write_text(second, "utf-8")
    drop(page, "#manuscript", *(tmp_path / name for name in ("intro.tex", "main.tex", "one.bib", "two.bib")))
    until(page, "document.getElementById('name').textContent.startsWith('main.tex')")
    assert "Only main.tex was opened" in page.inner_text("#notices")
    until(page, "document.getElementById('entries').textContent.startsWith('6 bibliography entries')")


def test_text_can_be_dragged_into_the_draft(page: Any) -> None:
    unhandled = page.evaluate(
        """() => {
          const data = new DataTransfer();
          data.setData("text/plain", "words");
          const drop = new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true });
          return document.getElementById("draft").dispatchEvent(drop);
        }"""
    )
    assert unhandled, "dropped text is left to the browser"


def test_a_reload_changes_nothing(open_draft: Any) -> None:
    page = open_draft
    _cite_first(page)
    page.locator("#suggestions .card [data-act=dismiss]").nth(1).click()
    page.click("#theme")
    page.locator("#filters summary").click()
    page.fill("#since", "1990")
    state = "() => [document.getElementById('draft').value, document.getElementById('chosen-list').textContent, since.value,"
    state += " document.getElementById('dismissed-count').textContent, document.documentElement.dataset.theme]"
    before = page.evaluate(state)
    page.reload()
    page.wait_for_selector("#mirror .filled")
    assert page.evaluate(state) == before


def test_marks_are_correct_among_emoji_and_mathematics(page: Any) -> None:
    page.fill(
        "#draft", "# Boats 😀 𝒳\n\nWe count 𝔹oats 🚤 by topic models [@?]. Others 😀 follow latent semantic analysis [@?].\n"
    )
    until(page, "document.querySelectorAll('#mirror .gap').length === 2")
    assert page.locator("#mirror .gap").all_inner_texts() == ["[@?]", "[@?]"]
    page.keyboard.press("F8")
    settled(page)
    page.locator("#suggestions .card [data-act=cite]").first.click()
    _, cited = _saved(page, "#save-draft")
    assert re.search(r"models \[@\w+\]\. Others 😀 follow latent semantic analysis \[@\?\]\.", cited)


def test_filters(open_draft: Any, demo_library: Path) -> None:
    page = open_draft
    page.keyboard.press("F8")
    page.locator("#filters summary").click()
    page.fill("#since", "2018")
    page.fill("#before", "2020")
    until(page, "[...document.querySelectorAll('#suggestions .byline')].every(e => /201[89]/.test(e.textContent))")
    page.select_option("#bibliography-filter", "only")
    until(page, "[...document.querySelectorAll('#suggestions .card')].every(e => e.querySelector('.badge'))")
    page.fill("#venue", "no venue is called so")
    page.get_by_role("button", name="Clear the filters").click()
    page.wait_for_selector("#suggestions .card")
    with Library(demo_library) as library:
        known = {library.store.papers([library.number(key)]).popitem()[1].id for key in re.findall(r"@\w+\{([^,]+),", _bib())}
    shown = {each.get_attribute("data-id") for each in page.locator("#suggestions .card").all()}
    assert shown.isdisjoint(known), "papers that the draft cites are not suggested"


def test_findings_are_marked_and_shown(page: Any, tmp_path: Path) -> None:
    draft = tmp_path / "draft.tex"
    draft.write_text(
        "\\documentclass{article}\n\\begin{document}\nWe rank papers \\cite{nowhere} well.\n\\end{document}\n", "utf-8"
    )
    (tmp_path / "refs.bib").write_text(_bib(), "utf-8")
    drop(page, "#manuscript", draft, tmp_path / "refs.bib")
    page.wait_for_selector("#mirror .fault")
    assert page.locator("#mirror .fault").inner_text() in ("nowhere", "\\cite{nowhere}")
    at = draft.read_text("utf-8").index("nowhere") + 2
    page.evaluate("at => draft.setSelectionRange(at, at)", at)
    until(page, "!finding.hidden && finding.textContent.includes('nowhere')")
    assert page.inner_text("#issues-title") == "6 issues in the bibliography", "no entry is cited"


def _bib() -> str:
    return demo.path("refs.bib").read_text("utf-8")


def test_related_papers_and_back(open_draft: Any) -> None:
    page = open_draft
    first = page.locator("#suggestions .card").first
    title = first.locator("h3").inner_text()
    first.get_by_role("button", name="Related").click()
    until(page, "title => document.getElementById('place').textContent.includes(title)", title)
    page.wait_for_selector("#suggestions .card")
    assert title not in titles(page)
    page.click("#back")
    assert page.locator("#suggestions h3").first.inner_text() == title


def test_reasons_are_shown(open_draft: Any) -> None:
    page = open_draft
    page.keyboard.press("F8")
    settled(page)
    assert page.locator("#suggestions blockquote mark").count() > 0, "matching words of the quoted sentence are highlighted"
    assert page.locator("#suggestions .reasons").count() > 0
    path = page.locator("#suggestions .path").first
    assert path.locator("svg circle.paper").count() == 1
    assert path.locator("svg circle.between").count() == path.locator("li").count() - 2


def test_a_zipped_project(page: Any, tmp_path: Path) -> None:
    main = demo.path("draft.tex").read_text("utf-8")
    head, tail = main.split(r"\section{Related Work}")
    body, end = tail.split(r"\bibliographystyle")
    path = tmp_path / "project.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("main.tex", head + "\\input{parts/related}\n\\bibliographystyle" + end)
        archive.writestr("parts/related.tex", r"\section{Related Work}" + body)
        archive.writestr("refs.bib", _bib())
    page.set_input_files("#file", path)
    page.wait_for_selector("#mirror .gap")
    settled(page)
    assert page.locator("#mirror .gap").count() == 2
    assert "6 bibliography entries" in page.inner_text("#entries")
    page.locator("#project-file").select_option("parts/related.tex")
    until(page, "document.querySelectorAll('#mirror .gap').length === 6")
    _cite_first(page)
    assert page.inner_text("#chosen-list .places").startswith("parts/related.tex, line ")
    page.locator("#project-file").select_option("")
    page.locator("#chosen-list .places button").click()
    assert page.input_value("#draft").startswith(r"\section{Related Work}")
    name, cited = _saved(page, "#save-draft")
    assert name == "related-cited.tex"
    assert cited.count(r"\cite{}") == body.count(r"\cite{}") - 1


def test_a_word_file(page: Any, tmp_path: Path) -> None:
    document = docx.Document()
    document.add_heading("Topics and boats 𝒳", 0)
    document.add_paragraph("Documents are mixtures of topics [?]. Boats are counted from photographs.")
    document.save(str(tmp_path / "draft.docx"))
    page.set_input_files("#file", tmp_path / "draft.docx")
    page.wait_for_selector("#mirror .gap")
    assert page.locator("#mirror .gap").all_inner_texts() == ["[?]"]
    assert page.inner_text("#name") == "draft.docx · Word"


def test_a_file_that_is_not_a_draft_is_reported(page: Any, tmp_path: Path) -> None:
    (tmp_path / "odd.docx").write_bytes(b"PK\x03\x04 neither fish nor fowl")
    page.set_input_files("#file", tmp_path / "odd.docx")
    page.wait_for_selector(".notice.wrong")
    assert "odd.docx" in page.inner_text(".notice.wrong")
