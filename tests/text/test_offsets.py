"""The offsets of sentences point to their text in every section."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from citewell.papers import Paper, Sentence
from citewell.text.offsets import BODY, SentenceOffsets, sentence_offsets
from citewell.text.sentences import split_sentences

ABSTRACT = "Boats move. Gulls are mistaken for boats. Boats move.  Tides come\ntwice a day."
words = st.text("aB. \n\u00e9\U0001f6a4", max_size=12)


def text_of(paper: Paper, sentences: list[Sentence], section: str) -> str:
    """A section's whole text."""
    if section in ("abstract", "title"):
        return paper.abstract if section == "abstract" else paper.title
    named = ("", "abstract", "title") if section == BODY else (section,)
    return " ".join(sentence.text for sentence in sentences if sentence.section in (section, *named))


def test_a_repeated_sentence_has_two_offsets() -> None:
    sentences = [Sentence(text, "abstract") for text in split_sentences(ABSTRACT)]
    places = sentence_offsets(Paper("Boats", ABSTRACT), sentences)
    assert [ABSTRACT[begin:end] for _, begin, end in places] == [sentence.text for sentence in sentences]
    assert [place.begin for place in places] == [0, 12, 42, 55]


def test_full_text_counts_within_its_own_section() -> None:
    paper = Paper("A theory of piers", "Piers stand.")
    sentences = [
        Sentence("A theory of piers"),
        Sentence("Piers stand."),
        Sentence("We measured piers.", "2 Methods"),
        Sentence("All of them stood.", "2 Methods"),
        Sentence("Piers stand on.", "abstract"),
    ]
    assert sentence_offsets(paper, sentences) == [
        SentenceOffsets("title", 0, 17),
        SentenceOffsets("abstract", 0, 12),
        SentenceOffsets("2 Methods", 0, 18),
        SentenceOffsets("2 Methods", 19, 37),
        SentenceOffsets(BODY, 31, 46),
    ], "a sentence that is called abstract but is not in it is full text without a section"


@given(words, st.lists(words, max_size=5), st.lists(st.tuples(words, st.sampled_from(["", "title", "abstract", "1", BODY]))))
def test_the_text_at_the_offsets_is_the_sentence(title: str, own: list[str], more: list[tuple[str, str]]) -> None:
    paper = Paper(title, " ".join(own))
    sentences = [Sentence(text, "abstract") for text in split_sentences(paper.abstract)]
    sentences += [Sentence(text, section) for text, section in more]
    for sentence, (section, begin, end) in zip(sentences, sentence_offsets(paper, sentences), strict=True):
        assert text_of(paper, sentences, section)[begin:end] == sentence.text


@given(words.map(lambda text: text * 4))
def test_sentences_of_an_abstract_are_in_order(abstract: str) -> None:
    sentences = [Sentence(text, "abstract") for text in split_sentences(abstract)]
    places = sentence_offsets(Paper("", abstract), sentences)
    assert all(before.end <= after.begin for before, after in pairwise(places))
    assert {place.section for place in places} <= {"abstract"}
