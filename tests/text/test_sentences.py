"""Sentence splitting agrees with people and loses no text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.text.sentences import sentence_spans, split_sentences


@pytest.mark.parametrize(
    "sentences",
    [
        ["Boats float.", "Stones do not!", "Do they?"],
        ["We follow Smith et al. (2001), e.g. Fig. 3, and J. R. Doe.", "It works."],
        ["The rate was 3.5 vs. 2.1 in mice.", "In rats, it fell (p < .05).", "So did others."],
        ["It sealed the effects of Ang-1.", "p190 RhoGAP is one target.", "miR-132 another.", "mTOR is none."],
        ["It differs from alpha-tocopherol.", "gamma-Tocopherol is not the same."],
        ["He called it a “boat.”", "She did not."],
        ["This was shown before [15].", "iv) In further work it was not."],
        ["Nobody cites it here. [3, 4]", "It stands alone."],
        ["Levels increase.", "pol mu also forms complexes."],
        ["We studied An. gambiae s.s. and An. funestus densities."],
        ["We sampled strains of E. coli at 37 C in the lab."],
    ],
)
def test_sentences_are_split_as_people_split_them(sentences: list[str]) -> None:
    assert split_sentences(" ".join(sentences)) == sentences


@given(st.text(st.sampled_from("Ab p53.?!\"'()[]1, \n\t“”é"), max_size=80))
def test_the_spans_cover_the_text(text: str) -> None:
    spans = sentence_spans(text)
    assert "".join(text[start:end] for start, end in spans) == text
    assert split_sentences(text) == [part for start, end in spans if (part := text[start:end].strip())]


def test_dots_without_end_take_linear_time() -> None:
    assert len(split_sentences("Contents " + ". " * 200_000 + "12 The end.")) > 3


@pytest.mark.parametrize(
    "sentences",
    [
        ["Ναι.", "Δεύτερη πρόταση εδώ.", "Τρίτη."],
        ["Это так.", "Другое дело."],
        ["C'est vrai.", "Élie le dit."],
        ["They were wild type vs. Δf508 in all."],
    ],
)
def test_sentences_of_other_alphabets(sentences: list[str]) -> None:
    assert split_sentences(" ".join(sentences)) == sentences


def test_chinese_stops_end_a_sentence_without_a_space() -> None:
    assert split_sentences("这是第一句OTHERCIT。“第二句！”第三句") == ["这是第一句OTHERCIT。", "“第二句！”", "第三句"]
