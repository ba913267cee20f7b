"""The contexts of the citations in a paragraph."""

import time

from citewell.papers import Reference
from citewell.text.citation_contexts import citation_contexts, mask_citations
from citewell.text.sentences import split_sentences

ONE, TWO = [Reference(["doi:10.1/1"])], [Reference(["doi:10.1/2"])]


def test_a_context_is_the_sentence_and_its_neighbours() -> None:
    text = "First of all. It was shown [1] and [2]. Others follow. Not this one."
    first, second = citation_contexts(text, [(27, 30, ONE), (35, 38, TWO)], "Introduction", first_id=5)
    assert first.text == "First of all. It was shown TARGETCIT and OTHERCIT . Others follow."
    assert second.text == "First of all. It was shown OTHERCIT and TARGETCIT . Others follow."
    assert (first.cited, second.cited, first.section, first.id, second.id) == (ONE, TWO, "Introduction", "5", "6")
    assert mask_citations(text, [(27, 30, ONE)]) == "First of all. It was shown OTHERCIT and [2]. Others follow. Not this one."


def test_a_text_without_sentences_gives_windows_of_bounded_length() -> None:
    count = 20_000
    spans = [(number * 8 + 4, number * 8 + 7, ONE) for number in range(count)]
    started = time.process_time()
    contexts = citation_contexts("but [1] " * count, spans)
    assert len(contexts) == count
    assert max(len(each.text) for each in contexts) < 4000
    assert all(each.text.count("TARGETCIT") == 1 for each in contexts)
    assert time.process_time() - started < 10


def test_initials_without_end_take_linear_time() -> None:
    started = time.process_time()
    assert len(split_sentences("A. " * 200_000)) == 1
    assert time.process_time() - started < 10
