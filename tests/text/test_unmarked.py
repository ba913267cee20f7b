"""Sentences without their citations: nothing is left that tells that there was one."""

from __future__ import annotations

import gzip
import json
import re
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.evaluate.claims import of_sentences
from citewell.text.sentences import split_sentences
from citewell.text.unmarked import marked, unmarked, woven

ELIFE = Path(__file__).parents[3] / "shared" / "data" / "elife"

FORMS = (
    " ( OTHERCIT )",
    " (OTHERCIT)",
    " [OTHERCIT]",
    " [ OTHERCIT , OTHERCIT ]",
    " OTHERCIT",
    " OTHERCIT , OTHERCIT and OTHERCIT",
    " (reviewed in OTHERCIT )",
    " (reviewed in [ OTHERCIT ])",
    " (e.g. OTHERCIT , but see OTHERCIT )",
    " (see OTHERCIT for a review)",
    " ( OTHERCIT ; OTHERCIT ; this study)",
    " (for reviews, see OTHERCIT and OTHERCIT )",
    " ( OTHERCIT , p. 12)",
)
"""How citations that are no word of the sentence stand in papers."""
TRACES = {
    "two spaces": r"\s\s",
    "a space before a stop": r"\s[,.;:)\]]",
    "a space behind a bracket": r"[(\[]\s",
    "empty brackets": r"\(\W*\)|\[\W*\]",
    "a dangling comma": r"[,;:][,;:.)\]]|[(\[][,;:]",
    "a preposition without its noun": r"\b(?:by|from|with|of|see)(?:[.;)]| (?:and|or|is|was|are|have|has)\b)",
    "an empty example": r"\((?:e\.g\.?|i\.e\.?|cf\.?|see|see also|reviewed in),?\)",
    "no full stop": r"[^.!?\"')\]\u201d\u2019]$",
}

plain_words = st.lists(
    st.sampled_from("boats gulls tides harbours count move slowly large grey nearby".split()), min_size=5, max_size=14
)


@given(plain_words, st.data())
def test_a_citation_leaves_nothing_behind(words: list[str], data: st.DataObject) -> None:
    sentence = f"The {' '.join(words)} (Figure 2), early."
    ends = [
        found.end()
        for found in re.finditer(r"\b[a-z]+\b(?! \()", sentence)
        if "(" not in sentence[found.start() - 1 : found.end()]
    ]
    places = sorted(data.draw(st.sets(st.sampled_from([at for at in ends if at > 5]), min_size=1, max_size=3)), reverse=True)
    cited = sentence
    for at in places:
        cited = f"{cited[:at]}{data.draw(st.sampled_from(FORMS))}{cited[at:]}"
    assert marked(cited)
    assert unmarked(cited) == sentence


@pytest.mark.parametrize(
    ("cited", "left"),
    [
        ("Boats drift (Figure 2; OTHERCIT ).", "Boats drift (Figure 2)."),
        ("Boats drift ( OTHERCIT ; Figure 2A,B).", "Boats drift (Figure 2A,B)."),
        ("Boats (large ones, OTHERCIT ) drift.", "Boats (large ones) drift."),
        ("Both (rowing [ OTHERCIT ] and sailing boats [ OTHERCIT ]) drift.", "Both (rowing and sailing boats) drift."),
        ("We used the counter (Counter by OTHERCIT ).", "We used the counter (Counter)."),
        ("Boats ( n = 4 ) drift , slowly .", "Boats (n = 4) drift, slowly."),
    ],
)
def test_what_else_stands_in_the_brackets_stays(cited: str, left: str) -> None:
    assert unmarked(cited) == left


@pytest.mark.parametrize(
    "sentence",
    [
        "Boats were counted as described by OTHERCIT .",
        "OTHERCIT found that gulls are no boats.",
        "Finally, OTHERCIT count gulls too.",
        "The count of OTHERCIT was too high.",
        "This is shown in [ OTHERCIT ] and elsewhere.",
    ],
)
def test_a_citation_that_is_a_word_is_told(sentence: str) -> None:
    assert woven(sentence)
    assert not of_sentences([sentence], "").judged[0]


def test_one_that_is_none_is_not() -> None:
    assert not woven("Boats OTHERCIT drift, and gulls ( OTHERCIT ) do not.")
    assert not woven("Boats drift by night.")


@given(st.text(max_size=300))
def test_any_text_is_tidied_once_for_all(text: str) -> None:
    assert unmarked(unmarked(text)) == unmarked(text)
    assert not marked(unmarked(f"{text} OTHERCIT {text}"))


@pytest.mark.realdata
@pytest.mark.skipif(not ELIFE.exists(), reason="needs ../shared/data/elife")
def test_traces_are_as_rare_where_papers_cite_as_where_they_do_not() -> None:
    texts: dict[bool, list[str]] = {True: [], False: []}
    with gzip.open(ELIFE / "paragraphs.jsonl.gz", "rt") as lines:
        for line in islice(lines, 0, 24_000, 12):
            sentences = split_sentences(json.loads(line)["text"])
            found = of_sentences(sentences, "")
            for sentence, cites, judged in zip(sentences, found.cites, found.judged, strict=True):
                if judged:
                    texts[bool(cites)].append(unmarked(sentence))
    assert min(map(len, texts.values())) > 3000
    for name, pattern in TRACES.items():
        cited, uncited = (
            sum(bool(re.search(pattern, each)) for each in texts[kind]) / len(texts[kind]) for kind in (True, False)
        )
        assert cited <= uncited + 0.002, f"{name}: {cited:.4f} of those that cite, {uncited:.4f} of the others"
