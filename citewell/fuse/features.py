"""Signals: everything that is known of the candidates of one query, a column each, for a learned combination to weigh.

Words and meaning come as the scores of pipelines, each also as a share of the best one, and as ranks. The rest is what the
library knows of the papers: how the candidates stand to one another in the citation graph, how often and how lately each is
cited, its age, whose it is and where it appeared, how much of its title the query says, and how it stands to what the draft is
known to cite. What cannot be known of a query is NaN.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from citewell.expand.proximity import beside, places_of, reached
from citewell.library.index.graph import Graph
from citewell.papers import Paper, Query, Ranking
from citewell.ranking.query_terms import placed_words, query_terms
from citewell.ranking.request import Request
from citewell.ranking.years import newest_year, years_of
from citewell.text.analysis import terms
from citewell.text.names import families, family_name

SEEDS = 30
"""So many of the best candidates are what the others are held against."""
RECENT = 3
"""Years that count as lately."""
TIMES_CITED = "citations"
"""The name of the signal that tells how often."""
_NAME = re.compile(r"[^\W\d_]{2,}(?:-[^\W\d_]+)*")
"""A word that may be a family name, if it begins with a capital letter."""

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]


class Signals(NamedTuple):
    """A row for each candidate."""

    names: tuple[str, ...]
    rows: Floats


def signals(
    request: Request,
    papers: Numbers,
    rankings: Mapping[str, Ranking],
    scores: Mapping[str, npt.NDArray[np.float32]],
    best: Numbers,
) -> Signals:
    """The signals of `papers`: by the rankings and scores of pipelines, and against the `best` of the papers.

    A pipeline without scores of its own for all of them is held to have given those of its ranking alone.
    """
    records = request.library.store.papers(papers.tolist())
    held = [records.get(num, Paper()) for num in papers.tolist()]
    found = {
        **_of_rankings(papers, rankings),
        **_of_scores({**{name: _held(papers, ranking) for name, ranking in rankings.items()}, **scores}),
        **_of_links(request.library.index.graph, papers, best),
        **_of_time(request, papers),
        **_of_people(request, papers, held, best),
        **_of_titles(request, held),
        **_of_bibliography(request, papers),
    }
    return Signals(tuple(found), np.column_stack([np.asarray(column, np.float64) for column in found.values()]))


def _of_rankings(papers: Numbers, rankings: Mapping[str, Ranking]) -> dict[str, Floats]:
    found = {}
    for name, ranking in rankings.items():
        column = np.full(len(papers), np.nan)
        places, here = places_of(papers, ranking.papers)
        column[places] = np.flatnonzero(here) + 1
        found[f"{name} rank"] = np.log(column)
    return found


def _held(papers: Numbers, ranking: Ranking) -> npt.NDArray[np.float32]:
    """The scores of some papers in a ranking, 0 for those that it does not hold."""
    found = np.zeros(len(papers), np.float32)
    places, here = places_of(papers, ranking.papers)
    found[places] = ranking.scores[here]
    return found


def _of_scores(scores: Mapping[str, npt.NDArray[np.float32]]) -> dict[str, Floats]:
    found: dict[str, Floats] = {}
    for name, values in scores.items():
        # No score is 0: the paper shares no word with the query, or has no vector.
        column = np.where(values > 0, values, np.nan).astype(np.float64)
        found[f"{name} score"] = column
        found[f"{name} below best"] = np.nanmax(column, initial=0.0) - column
    return found


def _of_links(graph: Graph, papers: Numbers, best: Numbers) -> dict[str, Floats]:
    weights = 1.0 / np.log2(np.arange(len(best)) + 2)
    return {
        "cited by top": reached(graph, "cites", best, weights, papers),
        "cites top": reached(graph, "cited_by", best, weights, papers),
        "co-cited with top": beside(graph, "cited_by", "cites", best, weights, papers),
        "coupled with top": beside(graph, "cites", "cited_by", best, weights, papers),
    }


def _of_time(request: Request, papers: Numbers) -> dict[str, Floats]:
    graph = request.library.index.graph
    years = years_of(request, papers)
    now = newest_year(request)
    citing, counts = graph.neighbours("cited_by", papers)
    behind = now - years_of(request, citing)
    owners = np.repeat(np.arange(len(papers)), counts)
    last, recent = (np.bincount(owners, weights=behind < span, minlength=len(papers)) for span in (1, RECENT))
    return {
        TIMES_CITED: np.log1p(counts),
        "citations in last 3 years": np.log1p(recent),
        "citations in last year": np.log1p(last),
        "references": np.log1p(graph.degrees("cites", papers)),
        "age": np.where(years > 0, np.clip(now - years, 0, 100), np.nan).astype(np.float64),
    }


def _of_people(request: Request, papers: Numbers, held: Sequence[Paper], best: Numbers) -> dict[str, Floats]:
    """Authors that the query names, or shares, or that the best candidates have; and how usual the venue is among these."""
    place = {num: at for at, num in enumerate(papers.tolist())}
    among = [held[place[num]] for num in best.tolist() if num in place]
    own = families(request.query.authors)
    names = [families(paper.authors) for paper in held]
    times = Counter(name for paper in among for name in families(paper.authors))
    venues = Counter(paper.venue.casefold() for paper in among if paper.venue)
    inside = set(best.tolist())
    named = _named(request.query)
    others = [sum(times[name] - (num in inside) for name in some) for num, some in zip(papers.tolist(), names, strict=True)]
    venue = [
        venues[paper.venue.casefold()] - (num in inside) if paper.venue else np.nan
        for num, paper in zip(papers.tolist(), held, strict=True)
    ]
    return {
        "author named in context": np.array(
            [max((named.get(name, 0.0) for name in some), default=0.0) for some in names], np.float64
        ),
        "shared authors": np.array([len(own & some) if own else np.nan for some in names], np.float64),
        "authors among top": np.log1p(np.maximum(others, 0)),
        "venue among top": np.array(venue, np.float64),
        "has abstract": np.array([bool(paper.abstract) for paper in held], np.float64),
    }


def _named(query: Query) -> dict[str, float]:
    """Words of the text round the gap that may be family names, as `families` has them, and how near they stand to it."""
    found: dict[str, float] = {}
    for word, weight in placed_words(query):
        for part in _NAME.findall(word):
            if part[0].isupper():
                name = family_name(part)
                found[name] = max(weight, found.get(name, 0.0))
    return found


def _of_titles(request: Request, held: Sequence[Paper]) -> dict[str, Floats]:
    """How much of each title the query says, and how near to its gap."""
    near = {term: weight for term, (_, weight) in query_terms(request, "near", 0).items()}
    said = set(terms(request.query.text()))
    shares, nearness, sizes = [], [], []
    for paper in held:
        words = set(terms(paper.title))
        shares.append(len(words & said) / len(words) if words else np.nan)
        nearness.append(sum(near.get(word, 0.0) for word in words) / len(words) if words else np.nan)
        sizes.append(len(words))
    return {
        "title overlap": np.array(shares, np.float64),
        "title overlap near gap": np.array(nearness, np.float64),
        "title words": np.array(sizes, np.float64),
        "query words": np.full(len(held), float(len(said))),
    }


def _of_bibliography(request: Request, papers: Numbers) -> dict[str, Floats]:
    """How each paper stands to what the draft is known to cite."""
    known = request.known()
    if not len(known):
        nothing = np.full(len(papers), np.nan)
        return dict.fromkeys(("co-cited with bibliography", "coupled with bibliography", "cited by bibliography"), nothing)
    graph, weights = request.library.index.graph, np.ones(len(known)) / np.sqrt(len(known))
    return {
        "co-cited with bibliography": beside(graph, "cited_by", "cites", known, weights, papers),
        "coupled with bibliography": beside(graph, "cites", "cited_by", known, weights, papers),
        "cited by bibliography": reached(graph, "cites", known, weights, papers),
    }
