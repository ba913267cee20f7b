"""Answers BioASQ's questions with a pipeline: the best papers, and their best sentences with offsets."""

from __future__ import annotations

from citewell.collection.local import LocalCollection
from citewell.evaluate.bioasq import LIMIT, Question, Snippet
from citewell.library import Library
from citewell.papers import Paper, Query, Ranking
from citewell.pipeline.pipeline import Pipeline
from citewell.ranking.request import Request
from citewell.text.offsets import sentence_offsets

_PUBMED = "http://www.ncbi.nlm.nih.gov/pubmed/"


class Answering:
    """Answers questions from one library with one pipeline."""

    def __init__(self, library: Library, pipeline: Pipeline, size: int = LIMIT) -> None:
        self._library = library
        self._pipeline = pipeline
        self._size = size
        self.without_pubmed_id: set[str] = set()
        """Returned papers without a PubMed id; they are listed by their own id, which BioASQ does not know."""

    def answer(self, question: Question) -> Question:
        """The question with the best papers and their best sentences."""
        request = Request(LocalCollection(self._library), Query("evidence", context=question.body))
        ranking = self._pipeline.rank(request)
        best = ranking.papers[: 2 * self._size].tolist()
        records = self._library.store.papers(best)
        # A paper removed since the index was opened is in the ranking but no longer in the store.
        chosen = [num for num in best if num in records][: self._size]
        papers = {num: records[num] for num in chosen}
        self.without_pubmed_id |= {paper.id for paper in papers.values() if address(paper) == paper.id}
        documents = [address(paper) for paper in papers.values()]
        return Question(question.id, question.body, question.type, documents, self._snippets(request, ranking, papers))

    def _snippets(self, request: Request, ranking: Ranking, papers: dict[int, Paper]) -> list[Snippet]:
        ranked = self._pipeline.sentences(request, ranking, list(papers))
        chosen = list(zip(ranked.papers.tolist(), ranked.places.tolist(), strict=True))[: self._size]
        sentences = self._library.store.quotable(list({num: None for num, _ in chosen}))
        places = {num: sentence_offsets(papers[num], here) for num, here in sentences.items()}
        snippets = []
        for num, at in chosen:
            section, begin, end = places[num][at]
            snippets.append(
                Snippet(
                    document=address(papers[num]),
                    text=sentences[num][at].text,
                    offset_in_begin_section=begin,
                    offset_in_end_section=end,
                    begin_section=section,
                    end_section=section,
                )
            )
        return snippets


def address(paper: Paper) -> str:
    """The name of a paper in BioASQ: the URL of its PubMed record, or its own id if it has none."""
    return next((f"{_PUBMED}{name.removeprefix('pmid:')}" for name in paper.ids if name.startswith("pmid:")), paper.id)
