"""The training corpus, compared with the records of the store."""

from __future__ import annotations

from pathlib import Path

import pytest

from citewell.errors import CitewellError
from citewell.library import Library
from citewell.text.analysis import terms
from citewell.train.corpus import read_corpus


def hashes(text: str) -> list[int]:
    return sorted(hashed for hashed, (_, times) in terms(text).items() for _ in range(int(times)))


@pytest.mark.parametrize("text", ["own", "own+cited", "own+citing"])
def test_the_words_of_a_paper_come_from_the_chosen_text(tiny: Library, text: str) -> None:
    corpus = read_corpus(tiny, text, 1)
    for place, num in enumerate(corpus.papers.tolist()):
        texts = [own for _, _, own in tiny.store.own_texts([num])]
        texts += tiny.store.cited_texts([num])[num] if text == "own+cited" else []
        texts += tiny.store.citing_texts([num])[num] if text == "own+citing" else []
        assert sorted(corpus.hashes[corpus.texts[place]].tolist()) == hashes("\n".join(texts))


def test_contexts_have_citing_and_cited_paper(tiny: Library) -> None:
    corpus = read_corpus(tiny, "own", 1)
    contexts = [
        (corpus.papers[citing], corpus.papers[cited], sorted(corpus.hashes[words].tolist()))
        for citing, cited, words in zip(corpus.citing, corpus.cited, corpus.contexts, strict=True)
    ]
    assert contexts == [
        (tiny.number("tides"), tiny.number("harbour"), hashes("Boats were first counted from photographs")),
        (tiny.number("review"), tiny.number("gulls"), hashes("birds spoil the count as does fog")),
    ]


def test_links_go_both_ways(tiny: Library) -> None:
    corpus = read_corpus(tiny, "own", 1)
    links = {
        (int(num), int(other))
        for num, others in zip(corpus.papers, corpus.links, strict=True)
        for other in corpus.papers[others]
    }
    cites = {tuple(pair) for pair in tiny.store.db.execute("SELECT citing, cited FROM citations")}
    assert links == cites | {(cited, citing) for citing, cited in cites}


def test_rare_words_are_dropped_and_frequent_ones_come_first(tiny: Library) -> None:
    corpus = read_corpus(tiny, "own", 3)
    assert corpus.counts.min() >= 3
    assert corpus.counts.tolist() == sorted(corpus.counts, reverse=True)
    with pytest.raises(CitewellError, match="too little to train on"):
        read_corpus(tiny, "own", 1000)
    with pytest.raises(CitewellError, match="there are own, own\\+cited, own\\+citing"):
        read_corpus(tiny, "title", 1)


def test_an_empty_library_is_an_error(tmp_path: Path) -> None:
    library = Library(tmp_path / "empty")
    library.take([])
    with pytest.raises(CitewellError, match="too little to train on"):
        read_corpus(library, "own", 1)
