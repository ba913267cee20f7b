"""Learning to rank from judgements: goes on from a trained model, and keeps the result only where it is better.

A few hundred judgements cannot replace the hundreds of thousands of citations that the trained model has learned from. So they
only correct it: boosting continues from the model's scores with a few small trees. Cross-validation tells whether that helps:
the queries of a draft are in one fold, each fold is ranked by trees that have not seen it, and the new model is kept if its
nDCG@10 on these held-out queries is significantly higher than the trained model's. Candidates that nobody judged count as
irrelevant with a small weight: without them, accepted suggestions alone would teach nothing, and trees that see only the
judged papers, which are the top ones, are free to reorder all others.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from citewell import __version__
from citewell.errors import CitewellError
from citewell.evaluate.sets import DataSet
from citewell.evaluate.significance import randomisation
from citewell.files import replaced
from citewell.fuse.ltr import Ensemble
from citewell.judgements import Judgement
from citewell.library.library import Library
from citewell.models import weights
from citewell.models.ltr_network import Network, network_path
from citewell.models.trees import Trees
from citewell.pipeline.pipeline import Pipeline
from citewell.progress import SILENT, Progress
from citewell.train.card import CARD, LICENCE, write_json
from citewell.train.judged_examples import JudgedExamples, Left, collect_judged, combine
from citewell.train.ltr import Examples, lightgbm_settings, trees_of
from citewell.train.ltr_data import EXAMPLES, LtrTraining, check_installed, ltr_stage
from citewell.train.recipe import JudgementHyperparameters, LtrRecipe

BASE = "base"
"""The key of the card of a model of this kind that names the folder of the model that it went on from."""
_CUTOFF = 10
_AT_ONCE = 4_096
"""Candidates that are scored at a time."""
Values = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Trial:
    """The held-out comparison of one task."""

    queries: int
    drafts: int
    judged: int
    relevant: int
    before: dict[str, float]
    after: dict[str, float]
    gain: float
    """The mean gain in nDCG@10."""
    p: float
    better: bool


def train_on_judgements(
    recipe: LtrRecipe,
    judgements: Sequence[Judgement],
    library: Library,
    sets: Sequence[Path],
    out: Path,
    anyway: bool = False,
    progress: Progress = SILENT,
) -> dict[str, Any]:
    """Learn from judgements, and write a model for the tasks in which it is better than the trained one; returns a summary.

    `anyway`: write the new model also where it is not better.
    """
    started = time.monotonic()
    settings = recipe.judgements
    if settings is None:
        raise CitewellError(f"the recipe {recipe.name!r} has no section [judgements], so it cannot learn from judgements")
    check_installed(msgspec.structs.replace(recipe, network=None))
    stage = ltr_stage(recipe.pipeline)
    base = base_folder(stage.model)
    if out.resolve() == base.resolve():
        raise CitewellError(f"{out} has the model that this training goes on from; choose another folder with --out")
    queries = combine(judgements)
    if not queries:
        raise CitewellError("the judgements name no paper that is relevant or irrelevant; judge some suggestions first")
    Pipeline("", "", (stage,)).prepare(library, (), progress)
    collected, left = collect_judged(queries, library, stage, progress)
    training = LtrTraining(recipe, stage, [DataSet.open(folder) for folder in sets], out, progress)
    if sets:
        (out / EXAMPLES).mkdir(parents=True, exist_ok=True)
    summaries: dict[str, dict[str, Any]] = {}
    models: dict[str, Trees] = {}
    for task, judged in collected.items():
        if len(judged.examples.sizes) < settings.minimum or not (base / f"{task}.npz").is_file():
            continue
        more = [part for dataset in training.datasets if (part := training.examples(dataset, task)) is not None]
        learner = Learner(load(base, task), judged, more, settings, recipe.seed)
        progress.start(f"cross-validation ({task})", settings.folds, "folds")
        trial = learner.trial(progress)
        summaries[task] = asdict(trial)
        if trial.better or anyway:
            models[task] = learner.model()
    _check_enough(collected, summaries, settings.minimum, left)
    if models:
        _write(out, base, models, recipe, summaries)
    return {
        "recipe": recipe.name,
        "base": str(base),
        "out": str(out),
        "written": sorted(models),
        "tasks": summaries,
        "too_few": {task: len(each.examples.sizes) for task, each in collected.items() if task not in summaries},
        "left_out": left.lines(),
        "seconds": round(time.monotonic() - started, 1),
    }


def base_folder(model: str) -> Path:
    """The folder of the trained model that judgements correct.

    It is the one that serves now, or, if that was itself learned from judgements, the one that it went on from: judgements of
    an earlier training must not count twice.
    """
    folder = weights.folder(model)
    try:
        card = json.loads((folder / CARD).read_text("utf-8"))
    except (OSError, ValueError):
        card = {}
    if BASE not in card:
        return folder
    earlier = Path(card[BASE])
    return earlier if earlier.is_dir() else Path(weights.__file__).parent / model


def load(folder: Path, task: str) -> Ensemble:
    """The model of a task in a folder."""
    path = folder / f"{task}.npz"
    network = network_path(path)
    return Ensemble(Trees.load(path), Network.load(network) if network.is_file() else None)


class Learner:
    """Learns the correction of one task's model."""

    def __init__(
        self, base: Ensemble, judged: JudgedExamples, more: Sequence[Examples], settings: JudgementHyperparameters, seed: int
    ) -> None:
        examples = judged.examples
        if any(part.names != base.trees.names for part in (examples, *more)):
            raise CitewellError(
                "the trained model has other features than the pipeline of the recipe; run 'citewell train ltr' first"
            )
        self._base, self._judged, self._settings, self._seed = base, judged, settings, seed
        self._scores = scores_of(base, examples)
        self._more = Examples.joined(more) if more else None
        self._more_scores = scores_of(base, self._more) if self._more is not None else np.zeros(0)

    def trial(self, progress: Progress = SILENT) -> Trial:
        """Compare the corrected model with the trained one on queries that it was not corrected by."""
        examples, judged = self._judged.examples, self._judged.judged
        corrected = self._scores.copy()
        for fold in self._folds():
            rows = np.repeat(fold, examples.sizes)
            corrected[rows] += scores_of(self.correction(~fold), examples.select(fold))
            progress.advance()
        progress.finish()
        before, after = (measures(scores, examples, judged) for scores in (self._scores, corrected))
        differences = after["nDCG@10"] - before["nDCG@10"]
        gain, p = float(differences.mean()), float(randomisation(differences[:, None], self._seed)[0])
        return Trial(
            len(examples.sizes),
            len(set(self._judged.drafts)),
            int(judged.sum()),
            int(examples.labels.sum()),
            _means(before),
            _means(after),
            round(gain, 4),
            round(p, 4),
            gain > 0 and p <= self._settings.p,
        )

    def model(self) -> Trees:
        """The trees of the trained model and the correction, scaled so that it counts the same next to a network."""
        share = self._base.network.share if self._base.network is not None else 0.0
        correction = self.correction(np.ones(len(self._judged.examples.sizes), bool))
        return self._base.trees.plus(correction, 1.0 + share)

    def _folds(self) -> list[npt.NDArray[np.bool_]]:
        """Which queries each fold has; the queries of one draft are in one fold, unless there are fewer drafts than folds."""
        drafts = self._judged.drafts
        groups = drafts if len(set(drafts)) >= self._settings.folds else [str(at) for at in range(len(drafts))]
        names = sorted(set(groups))
        order = np.random.default_rng(self._seed).permutation(len(names)) % self._settings.folds
        fold_of = dict(zip(names, order.tolist(), strict=True))
        member = np.array([fold_of[group] for group in groups])
        return [member == fold for fold in range(self._settings.folds) if (member == fold).any()]

    def correction(self, chosen: npt.NDArray[np.bool_]) -> Trees:
        """Trees that go on from the scores of the trained model, learned from the chosen queries."""
        import lightgbm

        examples, judged = self._judged.examples, self._judged.judged
        rows = np.repeat(chosen, examples.sizes)
        if not self._settings.unjudged:
            rows &= judged
        owners = np.repeat(np.arange(len(examples.sizes)), examples.sizes)
        sizes = np.bincount(owners[rows], minlength=len(examples.sizes))
        part = Examples(examples.names, examples.rows[rows], examples.labels[rows], sizes[sizes > 0])
        emphasis, scores = np.where(judged[rows], 1.0, self._settings.unjudged), self._scores[rows]
        if self._more is not None:
            part = Examples.joined([part, self._more])
            emphasis = np.concatenate([emphasis, np.ones(len(self._more.labels))])
            scores = np.concatenate([scores, self._more_scores])
        parameters = dict(self._settings.trees)
        rounds = int(parameters.pop("rounds"))
        data = lightgbm.Dataset(part.rows, part.labels, group=part.sizes, weight=emphasis, init_score=scores)
        booster = lightgbm.train(lightgbm_settings(parameters, self._seed), data, rounds)
        return trees_of(booster, examples.names)


def scores_of(model: Ensemble | Trees, examples: Examples) -> Values:
    """The score of each candidate; a part of them at a time, because each row has a number for each tree."""
    parts = range(0, len(examples.rows), _AT_ONCE)
    return np.concatenate([model.scores(examples.rows[at : at + _AT_ONCE].astype(np.float64)) for at in parts])


def measures(scores: Values, examples: Examples, judged: npt.NDArray[np.bool_]) -> dict[str, Values]:
    """The measures of each query: over all candidates, of which unjudged ones count as irrelevant, and over the judged ones.

    The second is NaN for queries without a paper that was judged irrelevant.
    """
    names = ("nDCG@10", "RR", "nDCG@10 (judged)")
    values: dict[str, list[float]] = {name: [] for name in names}
    start = 0
    for size in examples.sizes.tolist():
        here = slice(start, start + size)
        start += size
        order = np.argsort(-scores[here], kind="stable")
        labels, marked = examples.labels[here][order], judged[here][order]
        alone = labels[marked]
        values[names[0]].append(_ndcg(labels))
        values[names[1]].append(1.0 / (1 + int(np.argmax(labels))))
        values[names[2]].append(_ndcg(alone) if not alone.all() else np.nan)
    return {name: np.array(column) for name, column in values.items()}


def _means(values: dict[str, Values]) -> dict[str, float]:
    """The mean of each measure over the queries that have it; measures that no query has are left out."""
    present = {name: column[~np.isnan(column)] for name, column in values.items()}
    return {name: round(float(column.mean()), 4) for name, column in present.items() if len(column)}


def _ndcg(labels: npt.NDArray[np.int8]) -> float:
    discounts = 1.0 / np.log2(np.arange(_CUTOFF) + 2)
    top = labels[:_CUTOFF]
    best = discounts[: min(_CUTOFF, int(labels.sum()))].sum()
    return float((top * discounts[: len(top)]).sum() / best)


def _check_enough(collected: dict[str, JudgedExamples], done: dict[str, Any], minimum: int, left: Left) -> None:
    if done:
        return
    counts = ", ".join(f"{task} {len(each.examples.sizes)}" for task, each in collected.items()) or "none"
    reasons = "".join(f"; {line}" for line in left.lines())
    raise CitewellError(
        f"too few judged queries with a relevant candidate ({counts}): at least {minimum} of one task are needed;"
        f" judge more suggestions, or lower 'minimum' in a recipe of your own{reasons}"
    )


def _write(out: Path, base: Path, models: dict[str, Trees], recipe: LtrRecipe, summaries: dict[str, dict[str, Any]]) -> None:
    """Write the new trees, and copy everything else of the base, so that the folder serves all tasks."""
    out.mkdir(parents=True, exist_ok=True)
    kept = {path.name for path in base.iterdir() if path.suffix in (".npz", ".json") and path.name != CARD}
    for path in out.glob("*.npz"):
        if path.name not in kept:  # of an earlier training that went on from another model
            path.unlink()
    for path in sorted(base / name for name in kept):
        if path.stem not in models:
            with replaced(out / path.name) as part:
                shutil.copyfile(path, part)
    for task, trees in models.items():
        with replaced(out / f"{task}.npz") as part, part.open("wb") as stream:
            trees.save(stream)
        (out / f"{task}.json").write_text(json.dumps(summaries[task], indent=1) + "\n", encoding="utf-8")
    card = {
        "what": "learning to rank, corrected by what people said about suggestions",
        "recipe": msgspec.to_builtins(recipe),
        BASE: str(base),
        "tasks": {task: summaries[task] for task in models},
        "citewell": __version__,
        "licence": LICENCE,
    }
    write_json(out / CARD, card)
