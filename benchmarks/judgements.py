"""What simulated judges teach the learned combination: `citewell train ltr --judgements` on a set.

    python -m benchmarks.judgements SET [--queries 1000] [--features FILE]

The gaps are a sample of the set's dev years without those that the shipped model was trained on. A judge sees the ten best
papers of BM25, of both encoders and of the shipped model, and marks those relevant that the gap cites ("cites"), or of these
only the ones of at most three years ("recent"), a taste that the shipped model does not have. The corrected model learns from
some gaps, and both models rank 300 others, of which every paper that the judge would accept counts. --features keeps the
features of the gaps, which take most of the time, for another run.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from citewell.cli.progress import TerminalProgress
from citewell.evaluate.evaluation import Evaluation
from citewell.evaluate.queries import JudgedQuery, sampled
from citewell.evaluate.significance import randomisation
from citewell.fuse.ltr import Ensemble
from citewell.models import weights
from citewell.train.judged_examples import JudgedExamples
from citewell.train.ltr import Examples, collect
from citewell.train.ltr_data import ltr_stage
from citewell.train.ltr_judgements import Learner, load, measures, scores_of
from citewell.train.recipe import JudgementHyperparameters, LtrRecipe, load_recipe

_SYSTEMS = ("bm25-contexts rank", "dense-citewell rank", "static-citewell rank")
_SHOWN = 10
_TESTED = 300
_RECENT = 3


class _Unseen(Evaluation):
    """The dev queries that the shipped model was not trained on."""

    recipe: LtrRecipe

    def queries(self) -> list[JudgedQuery]:
        whole = replace(self, sample=None)
        queries = Evaluation.queries(whole)
        used = {judged.id for judged in sampled(queries, self.recipe.sample, self.recipe.seed)}
        return sampled([judged for judged in queries if judged.id not in used], self.sample, self.seed)


def gaps(folder: Path, queries: int, recipe: LtrRecipe) -> Examples:
    """The candidates of the gaps that have a relevant one."""
    evaluation = _Unseen(folder, "local", "dev", queries, 7)
    evaluation.recipe = recipe
    with TerminalProgress() as progress:
        examples = collect(evaluation, ltr_stage(recipe.pipeline), progress)
    assert examples is not None
    return examples


def judged_by(judge: str, gaps: Examples, base: Ensemble) -> tuple[Examples, npt.NDArray[np.bool_]]:
    """The gaps with the labels of a judge, and the candidates that the judge saw."""
    labels = gaps.labels.astype(bool)
    if judge == "recent":
        labels &= gaps.rows[:, gaps.names.index("age")] <= _RECENT
    ranks = gaps.rows[:, [gaps.names.index(name) for name in _SYSTEMS]]
    seen = (ranks <= np.log(_SHOWN) + 1e-6).any(axis=1)
    scores = scores_of(base, gaps)
    start = 0
    for size in gaps.sizes.tolist():
        seen[start + np.argsort(-scores[start : start + size], kind="stable")[:_SHOWN]] = True
        start += size
    return replace(gaps, labels=labels.astype(np.int8)), seen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", type=Path)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--judged", type=int, nargs="+", default=[25, 50, 100, 200])
    parser.add_argument("--features", type=Path)
    options = parser.parse_args()
    recipe = load_recipe("ltr")
    assert isinstance(recipe, LtrRecipe) and recipe.judgements is not None
    if options.features and options.features.exists():
        examples = Examples.load(options.features)
    else:
        examples = gaps(options.set, options.queries, recipe)
        if options.features:
            with options.features.open("wb") as stream:
                examples.save(stream)
    base = load(weights.folder("ltr"), "local")
    print("| judge | judged gaps | nDCG@10 before | after | p |\n|---|---:|---:|---:|---:|")
    for judge in ("cites", "recent"):
        truth, seen = judged_by(judge, examples, base)
        for count in options.judged:
            print(f"| {judge} {_row(truth, seen, count, base, recipe.judgements, recipe.seed)}", flush=True)


def _row(
    truth: Examples,
    seen: npt.NDArray[np.bool_],
    count: int,
    base: Ensemble,
    settings: JudgementHyperparameters,
    seed: int,
) -> str:
    """The last columns of the table: both models on the tested gaps, after learning from as many judged ones."""
    owners = np.repeat(np.arange(len(truth.sizes)), truth.sizes)
    marks = truth.labels * seen
    reachable, accepted = (
        np.bincount(owners, weights=labels, minlength=len(truth.sizes)) > 0 for labels in (truth.labels, marks)
    )
    order = np.random.default_rng(seed).permutation(np.flatnonzero(reachable))
    tested, rest = np.isin(np.arange(len(truth.sizes)), order[:_TESTED]), order[_TESTED:]
    learned = np.isin(np.arange(len(truth.sizes)), rest[accepted[rest]][:count])
    part = replace(truth, labels=marks.astype(np.int8)).select(learned)
    judged = JudgedExamples(part, seen[learned[owners]], [str(at) for at in range(len(part.sizes))])
    correction = Learner(base, judged, [], settings, seed).correction(np.ones(len(part.sizes), bool))
    others = truth.select(tested)
    everything = np.ones(len(others.labels), bool)
    scores = scores_of(base, others)
    before, after = (measures(each, others, everything)["nDCG@10"] for each in (scores, scores + scores_of(correction, others)))
    p = float(randomisation((after - before)[:, None], seed)[0])
    return f"| {len(part.sizes)} | {before.mean():.3f} | {after.mean():.3f} | {p:.4f} |"


if __name__ == "__main__":
    main()
