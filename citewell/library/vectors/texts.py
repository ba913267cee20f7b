"""The texts of papers that encoders read."""

from __future__ import annotations

from collections.abc import Iterator

from citewell.library.index.postings import FIELDS, JOINED
from citewell.library.library import Library
from citewell.models.inputs import PaperText
from citewell.papers import Paper
from citewell.types import IntArray

SENTENCES = "sentences"
"""Each sentence of a paper has its own vector."""
TEXTS = (*FIELDS, *JOINED, SENTENCES)
"""The texts of papers that can be encoded."""
CONTEXTS = 4
"""How many contexts of a paper are encoded, unless the encoder asks for another number."""


def paper_texts(library: Library, text: str, nums: list[int], contexts: int = CONTEXTS) -> Iterator[tuple[int, PaperText]]:
    """The text to encode of each paper that has such a text, with its newest contexts."""
    own, _, others = text.rpartition("+") if text != "own" else ("own", "", "")
    read = {"cited": library.store.cited_texts, "citing": library.store.citing_texts}
    contexts_of = read[others](nums) if others else {}
    papers = library.store.papers(nums) if own else {}
    for num in papers if own else contexts_of:
        paper = papers.get(num, Paper())
        paper_text = PaperText(paper.title, paper.abstract, contexts_of.get(num, [])[-contexts:] if contexts else ())
        if paper_text.parts():
            yield num, paper_text


def sentence_texts(library: Library, papers: IntArray) -> dict[int, list[PaperText]]:
    """The sentences of each paper that has any, as an encoder reads them."""
    sentences_of = library.store.quotable(papers.tolist()).items()
    return {num: [PaperText(abstract=sentence.text) for sentence in sentences] for num, sentences in sentences_of if sentences}
