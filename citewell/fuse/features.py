"""The features of a query's candidates for learning to rank, a column each.

Text and vectors come as the scores and ranks of pipelines. The rest is what the collection knows of the papers: how the
candidates are linked to the top ones, how often and how recently each is cited, its age, its authors and venue, how much of its
title the query has, and how it is linked to what the draft cites. NaN means unknown.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from citewell.collection.interface import Collection
from citewell.expand.proximity import linked_weight, shared_neighbours
from citewell.papers import Name, Paper, Query, Ranking
from citewell.ranking.query_terms import query_terms, words_by_proximity
from citewell.ranking.request import Request
from citewell.ranking.top_k import positions_in
from citewell.text.analysis import terms
from citewell.text.author_terms import families, family_name
from citewell.text.names import parse_all
from citewell.types import Float32Array, Float64Array, PaperNumbers

SEEDS = 30
"""How many of the top candidates the others are compared with."""
RECENT = 3
"""How many years count as recent."""
CITATIONS = "citations"
"""The name of the feature that counts citations."""
LABELS = {
    "bm25": "BM25 on text",
    "bm25-proximity": "BM25 on text weighted by proximity",
    "bm25-contexts": "BM25 on text and contexts",
    "bm25-cited": "BM25 on contexts",
    "context-similarity": "similarity to contexts",
    "dense-citewell": "dense similarity",
    "dense-citewell-context": "dense similarity to the gap",
    "dense-citewell-abstract": "dense similarity to the draft's abstract",
    "static-citewell": "static dense similarity",
    "co-cited": "co-cited with top results",
    "references-of-top": "cited by top results",
    "references-of-similar": "cited by papers similar to the draft",
    "same-authors": "by the draft's authors",
    "references-of-same-authors": "cited by the draft's authors",
    "cited by top": "cited by top candidates",
    "cites top": "cites top candidates",
    "co-cited with top": "co-cited with top candidates",
    "coupled with top": "shares references with top candidates",
    CITATIONS: "number of citations",
    "citations in last 3 years": "citations in the last 3 years",
    "citations in last year": "citations in the last year",
    "references": "number of references",
    "author named in context": "author named in the context",
    "shared authors": "authors in common with the draft",
    "authors among top": "authors of top candidates",
    "venue among top": "venue of top candidates",
    "has abstract": "has an abstract",
    "title overlap near gap": "title overlap near the gap",
    "title words": "title length",
    "query words": "query length",
    "co-cited with bibliography": "co-cited with your references",
    "coupled with bibliography": "shares references with your references",
    "cited by bibliography": "cited by your references",
}
"""How features are shown to users: the scores and ranks of a pipeline by its name, the others by their own. Names that are not
listed are shown as they are."""
_NAME = re.compile(r"[^\W\d_]{2,}(?:-[^\W\d_]+)*")
"""A word that may be a family name, if it starts with a capital letter."""

Columns = dict[str, Float64Array]


class Features(NamedTuple):
    """A row for each candidate."""

    names: tuple[str, ...]
    rows: Float64Array


def features(
    request: Request,
    papers: PaperNumbers,
    rankings: Mapping[str, Ranking],
    scores: Mapping[str, Float32Array],
    top: PaperNumbers,
) -> Features:
    """The features of `papers`: by the rankings and scores of pipelines, and by comparison with the `top` papers.

    A pipeline that cannot score given papers has the scores of its ranking alone.
    """
    stored = request.collection.records(papers)
    records = [stored.get(number, Paper()) for number in papers.tolist()]
    columns = {
        **_ranks(papers, rankings),
        **_scores({**{name: _scores_in(papers, ranking) for name, ranking in rankings.items()}, **scores}),
        **_links(request.collection, papers, top),
        **_time(request.collection, papers),
        **_people(request, papers, records, top),
        **_titles(request, records),
        **_bibliography(request, papers),
    }
    return Features(tuple(columns), np.column_stack([np.asarray(column, np.float64) for column in columns.values()]))


def _ranks(papers: PaperNumbers, rankings: Mapping[str, Ranking]) -> Columns:
    columns = {}
    for name, ranking in rankings.items():
        column = np.full(len(papers), np.nan)
        positions, here = positions_in(papers, ranking.papers)
        column[positions] = np.flatnonzero(here) + 1
        columns[f"{name} rank"] = np.log(column)
    return columns


def _scores_in(papers: PaperNumbers, ranking: Ranking) -> Float32Array:
    """The scores of papers in a ranking, NaN for those that are not in it."""
    scores = np.full(len(papers), np.nan, np.float32)
    positions, here = positions_in(papers, ranking.papers)
    scores[positions] = ranking.scores[here]
    return scores


def _scores(scores: Mapping[str, Float32Array]) -> Columns:
    columns: Columns = {}
    for name, values in scores.items():
        column = values.astype(np.float64)
        columns[f"{name} score"] = column
        columns[f"{name} below best"] = np.fmax.reduce(column, initial=np.nan) - column
    return columns


def _links(collection: Collection, papers: PaperNumbers, top: PaperNumbers) -> Columns:
    weights = 1.0 / np.log2(np.arange(len(top)) + 2)
    return {
        "cited by top": linked_weight(collection, "cites", top, weights, papers),
        "cites top": linked_weight(collection, "cited_by", top, weights, papers),
        "co-cited with top": shared_neighbours(collection, "cited_by", "cites", top, weights, papers),
        "coupled with top": shared_neighbours(collection, "cites", "cited_by", top, weights, papers),
    }


def _time(collection: Collection, papers: PaperNumbers) -> Columns:
    years = collection.years(papers)
    now = collection.newest_year()
    citing, counts = collection.neighbours("cited_by", papers)
    ages = now - collection.years(citing)
    owners = np.repeat(np.arange(len(papers)), counts)
    last, recent = (np.bincount(owners, weights=ages < span, minlength=len(papers)) for span in (1, RECENT))
    return {
        CITATIONS: np.log1p(counts),
        "citations in last 3 years": np.log1p(recent),
        "citations in last year": np.log1p(last),
        "references": np.log1p(collection.degrees("cites", papers)),
        "age": np.where(years > 0, np.clip(now - years, 0, 100), np.nan).astype(np.float64),
    }


def _people(request: Request, papers: PaperNumbers, records: Sequence[Paper], top: PaperNumbers) -> Columns:
    """Authors that the query names or shares, or that top candidates have; and how common the venue is among these."""
    position = {number: at for at, number in enumerate(papers.tolist())}
    top_records = [records[position[number]] for number in top.tolist() if number in position]
    own = families(parse_all(request.query.authors))
    names = [families(paper.authors) for paper in records]
    author_counts = Counter(name for paper in top_records for name in families(paper.authors))
    venue_counts = Counter(paper.venue.casefold() for paper in top_records if paper.venue)
    inside = set(top.tolist())
    named = _names_in(request.query)
    # A top paper does not count itself.
    shared = [
        sum(author_counts[name] - (number in inside) for name in authors)
        for number, authors in zip(papers.tolist(), names, strict=True)
    ]
    venues = [
        venue_counts[paper.venue.casefold()] - (number in inside) if paper.venue else np.nan
        for number, paper in zip(papers.tolist(), records, strict=True)
    ]
    return {
        "author named in context": np.array(
            [max((named.get(name, 0.0) for name in authors), default=0.0) for authors in names], np.float64
        ),
        "shared authors": np.array([len(own & authors) if own else np.nan for authors in names], np.float64),
        "authors among top": np.log1p(np.maximum(shared, 0)),
        "venue among top": np.array(venues, np.float64),
        "has abstract": np.array([bool(paper.abstract) for paper in records], np.float64),
    }


def _names_in(query: Query) -> dict[str, float]:
    """Words of the context that may be family names, folded, with their weights by distance from the gap."""
    names: dict[str, float] = {}
    for word, weight in words_by_proximity(query):
        for part in _NAME.findall(word):
            if part[0].isupper():
                name = family_name(Name(family=part))
                names[name] = max(weight, names.get(name, 0.0))
    return names


def _titles(request: Request, records: Sequence[Paper]) -> Columns:
    """How much of each title the query has, and how near to its gap."""
    weights = {term: weight for term, (_, weight) in query_terms(request, "proximity").items()}
    query = set(request.terms(request.query.text()))
    overlaps, near_gap, sizes = [], [], []
    for paper in records:
        words = set(terms(paper.title, (request.text_language(f"{paper.title}\n{paper.abstract}"),)))
        overlaps.append(len(words & query) / len(words) if words else np.nan)
        near_gap.append(sum(weights.get(word, 0.0) for word in words) / len(words) if words else np.nan)
        sizes.append(len(words))
    return {
        "title overlap": np.array(overlaps, np.float64),
        "title overlap near gap": np.array(near_gap, np.float64),
        "title words": np.array(sizes, np.float64),
        "query words": np.full(len(records), float(len(query))),
    }


def _bibliography(request: Request, papers: PaperNumbers) -> Columns:
    """How each paper is linked to what the draft cites."""
    known = request.known
    if not len(known):
        unknown = np.full(len(papers), np.nan)
        return dict.fromkeys(("co-cited with bibliography", "coupled with bibliography", "cited by bibliography"), unknown)
    collection, weights = request.collection, np.ones(len(known)) / np.sqrt(len(known))
    return {
        "co-cited with bibliography": shared_neighbours(collection, "cited_by", "cites", known, weights, papers),
        "coupled with bibliography": shared_neighbours(collection, "cites", "cited_by", known, weights, papers),
        "cited by bibliography": linked_weight(collection, "cites", known, weights, papers),
    }
