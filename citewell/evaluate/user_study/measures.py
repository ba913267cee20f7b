"""The measures of a user study, as HybridCite computes them: nobody knows how many relevant papers there are.

Average precision therefore divides by the relevant papers in the list, not by all there are. Recall divides by an estimate: the
relevant papers of the component systems, added up without removing those that two of them share. Both rules give the published
Table 4 from the marks that its authors published (`tests/evaluate/user_study/test_published_table.py`). Pooled recall divides
by the different relevant papers of all systems.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

Ranking = Sequence[str]


def average_precision(ranking: Ranking, relevant: Collection[str]) -> float:
    """The mean of the precisions at the ranks of the relevant papers in the list; 0 without any."""
    ranks = _ranks(ranking, relevant)
    return sum(hits / rank for hits, rank in enumerate(ranks, 1)) / len(ranks) if ranks else 0.0


def reciprocal_rank(ranking: Ranking, relevant: Collection[str]) -> float:
    ranks = _ranks(ranking, relevant)
    return 1 / ranks[0] if ranks else 0.0


def recall(ranking: Ranking, relevant: Collection[str], estimate: int) -> float:
    """The relevant papers in the list as a share of the estimated number of all; 0 if that is 0. It can exceed 1."""
    return len(_ranks(ranking, relevant)) / estimate if estimate else 0.0


def precision(ranking: Ranking, relevant: Collection[str], k: int) -> float:
    return len(_ranks(ranking, relevant)) / k


def names(k: int) -> tuple[str, ...]:
    """The measures of a study of `k` papers per system."""
    return (f"MAP@{k}", f"recall@{k}", f"MRR@{k}", f"pooled recall@{k}", f"P@{k}", "coverage")


def score(
    rankings: Mapping[str, Ranking], components: Collection[str], relevant: Collection[str], k: int
) -> dict[str, tuple[float, ...]]:
    """For one context the value of each measure for each system, in the order of `names`."""
    first = {system: ranking[:k] for system, ranking in rankings.items()}
    added = sum(len(_ranks(first[system], relevant)) for system in components)
    pooled = len({paper for ranking in first.values() for paper in ranking if paper in relevant})
    return {
        system: (
            average_precision(ranking, relevant),
            recall(ranking, relevant, added),
            reciprocal_rank(ranking, relevant),
            recall(ranking, relevant, pooled),
            precision(ranking, relevant, k),
            float(any(paper in relevant for paper in ranking)),
        )
        for system, ranking in first.items()
    }


def _ranks(ranking: Ranking, relevant: Collection[str]) -> list[int]:
    return [rank for rank, paper in enumerate(ranking, 1) if paper in relevant]
