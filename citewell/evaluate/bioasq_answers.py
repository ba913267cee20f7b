"""What a pipeline answers to BioASQ's questions: the best papers, and the best sentences in them with their offsets."""

from __future__ import annotations

from citewell.collection.local import LocalCollection
from citewell.evaluate.bioasq import LIMIT, Question, Snippet
from citewell.library import Library
from citewell.papers import Paper, Query, Ranking
from citewell.pipeline.pipeline import Pipeline
from citewell.ranking.request import Request
from citewell.text.offsets import sentence_offsets

_PUBMED = "http://www.ncbi.nlm.nih.gov/pubmed/"


class Answers:
    """Answers questions from one library by one pipeline."""

    def __init__(self, library: Library, pipeline: Pipeline, size: int = LIMIT) -> None:
        self._library = library
        self._pipeline = pipeline
        self._size = size
        self.nameless: set[str] = set()
        """The papers given so far that have no PubMed id, and so go by their own, which BioASQ does not know."""

    def answer(self, question: Question) -> Question:
        """The question with the best papers, and with the best sentences of these."""
        request = Request(LocalCollection(self._library), Query("evidence", context=question.body))
        ranking = self._pipeline.rank(request)
        best = ranking.papers[: 2 * self._size].tolist()
        records = self._library.store.papers(best)
        # A paper removed since the index was opened is in the ranking but no longer in the store.
        chosen = [num for num in best if num in records][: self._size]
        papers = {num: records[num] for num in chosen}
        self.nameless |= {paper.id for paper in papers.values() if address(paper) == paper.id}
        documents = [address(paper) for paper in papers.values()]
        return Question(question.id, question.body, question.type, documents, self._snippets(request, ranking, papers))

    def _snippets(self, request: Request, papers_ranked: Ranking, papers: dict[int, Paper]) -> list[Snippet]:
        ranking = self._pipeline.sentences(request, papers_ranked, list(papers))
        chosen = list(zip(ranking.papers.tolist(), ranking.places.tolist(), strict=True))[: self._size]
        sentences = self._library.store.quotable(list({num: None for num, _ in chosen}))
        places = {num: sentence_offsets(papers[num], here) for num, here in sentences.items()}
        found = []
        for num, at in chosen:
            section, begin, end = places[num][at]
            found.append(
                Snippet(
                    document=address(papers[num]),
                    text=sentences[num][at].text,
                    offset_in_begin_section=begin,
                    offset_in_end_section=end,
                    begin_section=section,
                    end_section=section,
                )
            )
        return found


def address(paper: Paper) -> str:
    """What BioASQ calls a paper: the address of its PubMed record; its own id where it has none."""
    return next((f"{_PUBMED}{name.removeprefix('pmid:')}" for name in paper.ids if name.startswith("pmid:")), paper.id)
