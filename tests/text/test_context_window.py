"""Contexts cut to a number of characters on either side of their mark."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from citewell.papers import TARGET_MARK
from citewell.text.context_window import cut_context


def test_only_whole_words_near_the_mark_are_kept() -> None:
    text = "Ferries are late in fog, as TARGETCIT shows for harbours OTHERCIT and rivers."
    assert cut_context(text, 200) == text
    assert cut_context(text, 11) == "in fog, as TARGETCIT shows for"
    assert cut_context(text, 3) == "as TARGETCIT"
    assert cut_context("no mark in this text", 4) == "no mark"
    assert cut_context("", 4) == ""


WORDS = st.lists(st.text("ab.", min_size=1, max_size=9), max_size=12).map(" ".join)


@given(WORDS, WORDS, st.integers(1, 40))
def test_no_side_is_longer_than_asked_for_or_could_be_longer(before: str, after: str, size: int) -> None:
    cut = cut_context(f"{before} {TARGET_MARK} {after}", size)
    left, _, right = cut.partition(TARGET_MARK)
    assert f"{before} ".endswith(left) and f" {after}".startswith(right)
    assert len(left) <= size and len(right) <= size and cut_context(cut, size) == cut
    more = f" {after}"[len(right) :]
    if more:  # the next word would not fit
        assert len(right) + 1 + len(more.split(" ")[1] if more.startswith(" ") else more) > size
