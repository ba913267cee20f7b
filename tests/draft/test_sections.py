"""Parts of a manuscript by their headings and first words."""

from __future__ import annotations

import pytest

from citewell.draft import parse
from citewell.draft.sections import is_abstract, is_title, is_uncited, is_uncited_section, part_begun, without_keywords
from citewell.papers import Paragraph, Place


@pytest.mark.parametrize(
    "heading",
    ["Abstract", "1. ABSTRACT", "Zusammenfassung", "Résumé", "Resumen", "Sommario", "Streszczenie", "Аннотация", "摘要"],
)
def test_abstracts(heading: str) -> None:
    assert is_abstract(heading) and not is_title(heading)


@pytest.mark.parametrize(
    "heading",
    [
        "Acknowledgments", "A. Acknowledgements", "Danksagung", "Remerciements", "Ringraziamenti", "謝辞", "References",
        "Author contributions", "CRediT authorship contribution statement", "Funding statement", "Conflicts of interest",
        "Data and code availability", "Eidesstattliche Erklärung", "Prohlášení", "Affiliations", "ORCID iDs", "Annexes",
    ],
)  # fmt: skip
def test_sections_that_are_not_expected_to_cite(heading: str) -> None:
    assert is_uncited_section(heading) and not is_title(heading)


@pytest.mark.parametrize(
    "heading", ["Credit scoring by gulls", "Introduction to boats", "Ethics of fishing", "Open data in harbours", "Boats"]
)
def test_other_headings(heading: str) -> None:
    assert not is_uncited_section(heading) and not is_abstract(heading) and is_title(heading)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("We thank Ida Berg for her boat. It is red.", "acknowledgements"),
        ("Ich danke Ida Berg für ihr Boot.", "acknowledgements"),
        ("Nous remercions Ida Berg.", "acknowledgements"),
        ("This work was supported by grant 7 of the harbour.", "funding"),
        ("Hiermit erkläre ich, dass ich die Arbeit selbst verfasst habe.", "declarations"),
        ("The authors declare no competing interests.", "interests"),
        ("All authors read and approved the text.", "contributions"),
        ("Ida Berg, 0000-0002-1825-0097", "affiliations"),
        ("Department of Boats, University of the North, 12 Pier Road, Norway", "affiliations"),
        ("Mots-clés : bateaux, mouettes", "lists"),
        ("This claim was supported by many boats.", ""),
        ("Boats of the university, which are red, white and blue, float.", ""),
        ("The method that we thankfully use is old.", ""),
    ],
)
def test_parts_by_their_first_words(text: str, part: str) -> None:
    assert part_begun(text) == part
    assert is_uncited(Paragraph(text, Place())) == bool(part)


def test_a_structured_abstract_and_a_conclusion_with_the_same_name() -> None:
    text = "# Boote\n\n## Zusammenfassung\n\n### Ziel\n\nWir messen.\n\n### Ergebnis\n\nSie schwimmen.\n\n## Ein"
    draft = parse(text + "leitung\n\nText hier.\n\n## Zusammenfassung\n\nDas war es.\n", "markdown")
    assert (draft.title, draft.abstract) == ("Boote", "Wir messen. Sie schwimmen.")
    assert [each.text for each in draft.paragraphs] == ["Text hier.", "Das war es."]


def test_the_first_heading_of_markdown_is_a_title_only_if_it_names_no_part() -> None:
    draft = parse("## Introduction\n\nBoats float [@?].\n", "markdown")
    assert (draft.title, draft.paragraphs[0].section) == ("", "Introduction")


@pytest.mark.parametrize(
    ("abstract", "expected"),
    [
        ("We count boats. Keywords: boats, gulls", "We count boats."),
        ("Wir zählen Boote. Schlüsselwörter: Boote", "Wir zählen Boote."),
        ("Contamos barcos. Palavras-chave: barcos. Mais.", "Contamos barcos."),
        ("The keywords: are counted by us.", "The keywords: are counted by us."),
    ],
)
def test_keywords_are_no_part_of_the_abstract(abstract: str, expected: str) -> None:
    assert without_keywords(abstract) == expected
