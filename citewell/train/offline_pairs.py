"""Offline scoring of pairs: everything that a classifier of pairs reads for the queries of an evaluation, in one file.

A transformer of 110 million parameters takes minutes per query on a CPU. ``make`` writes the queries, the candidates of a first
stage, the texts of all papers and the citations between them, as each query may see them. A machine with a GPU re-ranks the
candidates, with or without rounds of navigation (`citewell.train.score_pairs`). ``run`` turns its rankings into runs, which
``citewell evaluate --run`` measures::

    python -m citewell.train.offline_pairs make data/cs pairs.npz --recipe nogueira-mpnet --encoder mpnet --sample 200
    python -m citewell.train.score_pairs pairs.npz weights rankings.npz --seeds 300 700 900
    python -m citewell.train.offline_pairs run pairs.npz rankings.npz runs/mpnet
"""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np

from citewell.errors import CitewellError
from citewell.evaluate.by_date import runners_by_date
from citewell.evaluate.evaluation import Evaluation
from citewell.evaluate.strict import goes_back, when
from citewell.evaluate.trec import strictly_falling, write_run
from citewell.models.inputs import Inputs, TokenReader
from citewell.models.onnx import tokenizer
from citewell.pipeline.pipeline import Pipeline
from citewell.pipeline.registry import pipeline
from citewell.progress import SILENT, Progress
from citewell.train.offline_scoring import Announced, flat
from citewell.train.packs import Arrays, load, save
from citewell.types import IntArray

NO_PAPER = -1
"""Padding in a row of candidates."""


def collect_pairs(
    evaluation: Evaluation, first: Pipeline, depth: int, inputs: Inputs, base: Path, progress: Progress = SILENT
) -> Arrays:
    """The arrays: papers with their dates, texts and citations; queries with their dates, texts and candidates."""
    reader = TokenReader(tokenizer(base), inputs)
    queries = sorted(evaluation.queries(), key=lambda judged: judged.date)
    libraries = evaluation.libraries()
    papers = list(evaluation.dataset.papers())
    numbers = {name: at for at, paper in enumerate(papers) for name in (*paper.ids, paper.id) if name}
    rows = np.full((len(queries), depth), NO_PAPER, np.int32)
    rows_by_query = {judged.id: at for at, judged in enumerate(queries)}
    names: dict[int, str] = {}
    progress.start("collecting candidates", len(queries), "queries")
    for runner, group in runners_by_date(queries, libraries, [first]):
        for judged in group:
            found = runner.ids(first.rank(runner.request(judged)).papers[:depth].tolist())
            row = [numbers[name] for name in found if name in numbers]
            rows[rows_by_query[judged.id], : len(row)] = row
            names |= dict(zip(row, (name for name in found if name in numbers), strict=True))
            progress.advance()
    dates = np.array([when(paper) for paper in papers])
    citations = _citations(evaluation, dates, numbers, libraries.links_until)
    reached = np.zeros(len(papers), bool)  # the other papers are never read
    reached[np.concatenate([rows[rows != NO_PAPER], citations["cites"]])] = True
    texts = [(paper.title, paper.abstract) if read else ("", "") for paper, read in zip(papers, reached, strict=True)]
    return {
        "queries": np.array([judged.id for judged in queries]),
        "query_date": np.array([judged.date for judged in queries], np.int32),
        "citing": np.array([numbers.get(judged.citing, NO_PAPER) for judged in queries], np.int32),
        "rows": rows,
        "papers": np.array([names.get(at, paper.id or next(iter(paper.ids), "")) for at, paper in enumerate(papers)]),
        "paper_date": dates.astype(np.int32),
        "inputs": np.array([inputs.query, inputs.paper, inputs.pair], np.int32),
        "special": np.array(reader.special[:3], np.int32),
        **citations,
        **flat("query", reader.plain([(judged.query.title, judged.query.abstract) for judged in queries], inputs.query)),
        **flat("text", reader.plain(texts, inputs.paper)),
    }


def _citations(evaluation: Evaluation, dates: IntArray, numbers: dict[str, int], until: int | None) -> Arrays:
    """What each paper cites, if its citations may be seen: those of papers up to a year, to papers that are not newer."""
    counts, cited = [], []
    for at, paper in enumerate(evaluation.dataset.papers()):
        seen = dates[at] and (until is None or dates[at] // 10_000 <= until)
        references = [numbers[name] for reference in paper.references for name in reference.ids if name in numbers]
        own = [other for other in dict.fromkeys(references) if seen and other != at and goes_back(dates[at], dates[other])]
        counts.append(len(own))
        cited += own
    return {"cites_at": np.cumsum([0, *counts]), "cites": np.array(cited, np.int32)}


def to_run(arrays: Arrays, rankings: Arrays, name: str) -> dict[str, dict[str, float]]:
    """One of the rankings as a run."""
    ranked, scores = rankings[f"{name} papers"], rankings[f"{name} scores"]
    if len(ranked) != len(arrays["queries"]):
        raise CitewellError("the rankings are of other pairs; score these")
    run = {}
    for query, papers, values in zip(arrays["queries"].tolist(), ranked, scores, strict=True):
        present = papers != NO_PAPER
        falling = strictly_falling(values[present].astype(np.float32)).tolist()
        run[query] = dict(zip(arrays["papers"][papers[present]].tolist(), falling, strict=True))
    return run


@click.group()
def main() -> None:
    """Re-rank on a GPU what takes a CPU days."""


@main.command("make")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("pairs", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--recipe", required=True, help="A recipe of a classifier: its inputs say how much is read.")
@click.option("--encoder", type=click.Path(exists=True, file_okay=False, path_type=Path), help="The base of the classifier.")
@click.option("--split", default="test", show_default=True)
@click.option("--sample", type=int, help="Number of queries, sampled at random.")
@click.option("--seed", default=0, show_default=True)
@click.option("--first-stage", default="bm25", show_default=True, help="The pipeline that retrieves the candidates.")
@click.option("--depth", default=1000, show_default=True)
def make_command(
    folder: Path,
    pairs: Path,
    recipe: str,
    encoder: Path | None,
    split: str,
    sample: int | None,
    seed: int,
    first_stage: str,
    depth: int,
) -> None:
    """Write the pairs for the queries of the set in FOLDER."""
    from citewell.train.from_sets import base_folder
    from citewell.train.recipe import PackRecipe, load_recipe
    from citewell.train.training import train_missing

    chosen = load_recipe(recipe)
    if not isinstance(chosen, PackRecipe) or chosen.kind != "classifier":
        raise CitewellError(f"the recipe {recipe!r} is not for a classifier; name one that begins with 'nogueira'")
    evaluation = Evaluation(folder, "global", split, sample, seed, train=train_missing)
    base, inputs = base_folder(chosen, encoder), Inputs(**chosen.inputs)
    save(collect_pairs(evaluation, pipeline(first_stage), depth, inputs, base, Announced()), pairs)


@main.command("run")
@click.argument("pairs", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("rankings", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("prefix")
def run_command(pairs: Path, rankings: Path, prefix: str) -> None:
    """Turn rankings into runs in TREC's format: PREFIX-0.run without navigation, PREFIX-1.run after one round, and so on."""
    arrays, ranked = load(pairs), load(rankings)
    for name in sorted({key.split()[0] for key in ranked}):
        path = Path(f"{prefix}-{name}.run")
        with path.open("w", encoding="utf-8") as stream:
            write_run(stream, path.stem, to_run(arrays, ranked, name))


if __name__ == "__main__":
    main()
