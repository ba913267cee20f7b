"""How well the model finds sentences that need a citation, compared with cue words, on published papers.

python -m benchmarks.missing_citations SET [--split test|dev] [--sample N] [--articles DIR]

A sentence that cites is a positive, with its citation removed; a sentence that does not cite is a negative. SET gives the
paragraphs of its split's years. DIR has whole articles in JATS XML; those in the train years of SET are left out.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from pathlib import Path

from citewell.evaluate.claims import (
    LabelledBlock,
    articles,
    average_precision,
    count_cues,
    labelled_paragraphs,
    precision_recall_f1,
    score_blocks,
    threshold_for,
)
from citewell.evaluate.sets import DataSet
from citewell.models.claims import KINDS, Claims, load, section_kind
from citewell.text.citation_removal import has_citation, has_integral_citation


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", type=Path)
    parser.add_argument("--split", choices=["dev", "test"], default="test")
    parser.add_argument("--sample", type=int, help="number of paragraphs, drawn with seed 0")
    parser.add_argument("--articles", type=Path, metavar="DIR")
    given = parser.parse_args()
    dataset = DataSet.open(given.set)
    paragraphs = list(labelled_paragraphs(dataset, dataset.years[given.split]))
    if given.sample and given.sample < len(paragraphs):
        paragraphs = random.Random(0).sample(paragraphs, given.sample)
    years = ", ".join(map(str, dataset.years[given.split]))
    print(f"{dataset.name} {given.split} ({years}), {len(paragraphs):,} paragraphs, {_describe(paragraphs)}")
    _report(load(), paragraphs)
    if given.articles:
        _report_articles(dataset, given.articles)


def _report_articles(dataset: DataSet, folder: Path) -> None:
    trained = dataset.split("dev").links_until or 0
    years = {name: paper.year or 0 for paper in dataset.papers() for name in paper.ids}
    selected, left_out = [], 0
    for paper, parts in articles(folder):
        known = next((years[name] for name in paper.ids if name in years), None)
        if known is not None and known <= trained:
            left_out += 1
        else:
            selected.append((known or paper.year or 0, parts))
    paragraphs = [part for _, parts in selected for part in parts]
    listed = ", ".join(str(year) for year, _ in sorted(selected, key=lambda pair: pair[0]))
    print(f"\nwhole articles: {len(selected)} ({listed}), {left_out} of the train years left out, {_describe(paragraphs)}")
    _report(load(), paragraphs)


def _describe(paragraphs: Sequence[LabelledBlock]) -> str:
    texts = [(text, ok) for each in paragraphs for text, ok in zip(each.block.sentences, each.judged, strict=True)]
    words = sum(has_integral_citation(text) for text, _ in texts)
    cite = sum(has_citation(text) for text, _ in texts)
    count = sum(ok for _, ok in texts)
    return f"{len(texts):,} sentences of which {count:,} count; of {cite:,} that cite {words:,} need the mark as a word"


def _report(model: Claims, paragraphs: Sequence[LabelledBlock]) -> None:
    print("| section | sentences | that cite | method | AP | P | R | F1 |\n|---|---:|---:|---|---:|---:|---:|---:|")
    groups = {"all": list(paragraphs)}
    for kind in KINDS:
        groups[kind or "no heading"] = [each for each in paragraphs if section_kind(each.block.section) == kind]
    for name, group in groups.items():
        if any(each.judged.any() for each in group):
            _rows(model, name, group)


def _rows(model: Claims, name: str, group: Sequence[LabelledBlock]) -> None:
    cites, scores = score_blocks(model, group)
    cues = count_cues(group)
    limits = model.thresholds
    as_precise = threshold_for(cites, scores, precision_recall_f1(cites, cues, 1.0)["P"])
    for method, values, threshold in (
        ("every sentence", cues, 0.0),
        ("cue words", cues, 1.0),
        (f"model, from {limits.best_f1:.2f}", scores, limits.best_f1),
        (f"model, from {limits.high_precision:.2f}", scores, limits.high_precision),
        ("model, as precise as cue words", scores, as_precise),
    ):
        if name != "all" and method in ("every sentence", "model, as precise as cue words"):
            continue
        shown = precision_recall_f1(cites, values, threshold)
        average = cites.mean() if method == "every sentence" else average_precision(cites, values)
        figures = " | ".join(f"{value:.3f}" for value in (average, *shown.values()))
        print(f"| {name} | {len(cites):,} | {cites.mean():.3f} | {method} | {figures} |")


if __name__ == "__main__":
    main()
