"""Re-ranks the candidates of `citewell.train.offline_pairs` with a classifier of pairs, on a GPU if there is one.

``--seeds 300 700 900`` adds rounds of navigation (`citewell.expand.navigate`): the papers that the top kd cite join them, 1,000
in all, and the classifier ranks the union; the first round starts from the order of the first stage. ``--budgets 64 448`` cuts
queries and papers to so many tokens. Needs only numpy and torch: ``python -m citewell.train.score_pairs PAIRS WEIGHTS OUT``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file

from citewell.models.inputs import trimmed
from citewell.train.bert import WEIGHTS, read_bert
from citewell.train.cross_encoder import CrossEncoder
from citewell.train.packs import Arrays, load, save
from citewell.types import Float32Array, IntArray

_TOKENS = 1 << 17
"""Tokens that are read at once."""
_PAIRS = 1 << 15
"""Pairs that are sorted by length together."""


class PairScorer:
    """Scores pairs of a query and a paper, each pair once."""

    def __init__(self, arrays: Arrays, model: CrossEncoder, device: torch.device, budgets: Sequence[int] = ()) -> None:
        self._arrays, self._model, self._device = arrays, model, device
        self._query, self._paper, self._size = arrays["inputs"].tolist()
        if budgets:
            self._query, self._paper = budgets
        self._scores: dict[tuple[int, int], float] = {}

    def scores(self, query: int, papers: IntArray) -> Float32Array:
        """The scores of papers that were read before."""
        return np.array([self._scores[query, paper] for paper in papers.tolist()], np.float32)

    @torch.no_grad()
    def read(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Score the new ones among some pairs."""
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self._scores]
        for start in range(0, len(new), _PAIRS):
            part = new[start : start + _PAIRS]
            lengths = np.array([sum(self._lengths(*pair)) + 3 for pair in part])
            order, at = np.argsort(-lengths, kind="stable"), 0
            while at < len(order):
                size = max(1, _TOKENS // int(lengths[order[at]]))
                places = order[at : at + size].tolist()
                chosen = [part[place] for place in places]
                self._scores |= dict(zip(chosen, self._batch(chosen, int(lengths[places[0]])), strict=True))
                at += size
            print(f"{start + len(part):,} of {len(new):,} pairs", file=sys.stderr, flush=True)

    def _batch(self, pairs: Sequence[tuple[int, int]], width: int) -> list[float]:
        cls, sep = self._arrays["special"][:2].tolist()
        ids, kinds = np.zeros((2, len(pairs), width), np.int64)
        mask = np.zeros((len(pairs), width), bool)
        for row, (query, paper) in enumerate(pairs):
            first, second = self._lengths(query, paper)
            ids[row, 0], ids[row, first + 1], ids[row, first + second + 2] = cls, sep, sep
            ids[row, 1 : first + 1] = self._tokens("query", query)[:first]
            ids[row, first + 2 : first + second + 2] = self._tokens("text", paper)[:second]
            mask[row, : first + second + 3] = True
            kinds[row, first + 2 : first + second + 3] = 1
        tensors = [torch.from_numpy(array).to(self._device) for array in (ids, mask, kinds)]
        with torch.autocast(self._device.type, torch.bfloat16, enabled=self._device.type == "cuda"):
            scores: list[float] = self._model(*tensors).float().tolist()
        return scores

    def _lengths(self, query: int, paper: int) -> tuple[int, int]:
        first, second = len(self._tokens("query", query)), len(self._tokens("text", paper))
        return trimmed(min(first, self._query), min(second, self._paper), self._size - 3)

    def _tokens(self, name: str, at: int) -> IntArray:
        starts = self._arrays[f"{name}_at"]
        tokens: IntArray = self._arrays[name][starts[at] : starts[at + 1]]
        return tokens


def rerank(arrays: Arrays, scorer: PairScorer, seeds: Sequence[int] = (), total: int = 1000) -> Arrays:
    """The rankings after no navigation (``0``) and after each round (``1`` ...): papers and scores, padded with -1."""
    first = [row[row >= 0].astype(np.int64) for row in arrays["rows"]]
    scorer.read([(query, paper) for query, row in enumerate(first) for paper in row.tolist()])
    rankings = _table("0", [_ranked(scorer, query, row) for query, row in enumerate(first)], total)
    before = first
    for number, size in enumerate(seeds, 1):
        unions = [_union(arrays, query, row[:size], total) for query, row in enumerate(before)]
        scorer.read([(query, paper) for query, row in enumerate(unions) for paper in row.tolist()])
        ranked = [_ranked(scorer, query, row) for query, row in enumerate(unions)]
        rankings |= _table(str(number), ranked, total)
        before = [papers for papers, _ in ranked]
    return rankings


def _union(arrays: Arrays, query: int, top: IntArray, total: int) -> IntArray:
    """The top papers, and what they cite as far as the query may see it, those cited by the best first."""
    starts = arrays["cites_at"]
    cited = [arrays["cites"][starts[paper] : starts[paper + 1]] for paper in top.tolist()]
    targets = np.concatenate([np.zeros(0, np.int64), *cited]).astype(np.int64)
    dates = arrays["paper_date"][targets]
    targets = targets[(dates > 0) & (dates <= arrays["query_date"][query]) & (targets != arrays["citing"][query])]
    _, places = np.unique(targets, return_index=True)
    new = targets[np.sort(places)]
    new = new[~np.isin(new, top)][: max(0, total - len(top))]
    return np.concatenate([top, new])


def _ranked(scorer: PairScorer, query: int, papers: IntArray) -> tuple[IntArray, Float32Array]:
    scores = scorer.scores(query, papers)
    order = np.argsort(-scores, kind="stable")
    return papers[order], scores[order]


def _table(name: str, ranked: Sequence[tuple[IntArray, Float32Array]], total: int) -> Arrays:
    papers, scores = np.full((len(ranked), total), -1, np.int32), np.full((len(ranked), total), np.nan, np.float32)
    for row, (numbers, values) in enumerate(ranked):
        papers[row, : len(numbers)], scores[row, : len(numbers)] = numbers[:total], values[:total]
    return {f"{name} papers": papers, f"{name} scores": scores}


def load_classifier(folder: Path, device: torch.device) -> CrossEncoder:
    """The classifier whose training wrote its weights to a folder."""
    model = CrossEncoder(read_bert(folder))
    stored = load_file(folder / WEIGHTS)
    model.head.load_state_dict({name: stored[f"classifier.{name}"].float() for name in ("weight", "bias")})
    return model.to(device).eval()


def main() -> None:
    parser = argparse.ArgumentParser(description="Re-rank candidates with a classifier of pairs.")
    for name in ("pairs", "weights", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--seeds", type=int, nargs="*", default=[], help="kd of each round of navigation.")
    parser.add_argument("--budgets", type=int, nargs=2, default=[], help="Tokens of a query and of a paper.")
    args = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    arrays = load(args.pairs)
    scorer = PairScorer(arrays, load_classifier(args.weights, device), device, args.budgets)
    save(rerank(arrays, scorer, args.seeds), args.out)


if __name__ == "__main__":
    main()
