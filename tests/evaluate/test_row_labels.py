"""Each row of a study is what its label says: claims are compared with the stages, settings and recipe of its pipeline."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from citewell.evaluate import studies
from citewell.evaluate.reproduce import MEASURED, ReproducedRow
from citewell.evaluate.studies import Row, Table
from citewell.evaluate.study_columns import columns
from citewell.evaluate.study_grid import described, weights
from citewell.expand.navigate import Navigate
from citewell.fuse.ensemble import ScoreEnsemble
from citewell.fuse.semi_genetic import SemiGenetic
from citewell.pipeline.contract import Stage
from citewell.pipeline.pipeline import Pipeline
from citewell.pipeline.registry import definitions, pipeline
from citewell.rerank.cross_encoder import Rerank
from citewell.rerank.joint_snippets import JointSnippets
from citewell.rerank.semiser import SemiserSentences
from citewell.retrieve.bm25 import BM25
from citewell.retrieve.dense import Dense
from citewell.retrieve.embedded import PaperEmbeddings
from citewell.retrieve.semiser import Semiser
from citewell.retrieve.topics import LDA
from citewell.train.recipe import PackRecipe, load_recipe
from citewell.train.study_models import recipe_of


class Labelled(NamedTuple):
    """A row with what its claims are compared with."""

    table: Table
    row: Row
    pipeline: Pipeline
    recipe: dict[str, Any]
    """The sections of the recipe of its own weights; empty if it has none."""

    def first(self, kind: type[Stage], **values: object) -> bool:
        return isinstance(self.pipeline.stages[0], kind) and _has(self.pipeline.stages[0], values)

    def anywhere(self, kind: type[Stage], **values: object) -> bool:
        return any(isinstance(stage, kind) and _has(stage, values) for stage in self.pipeline.all_stages())


def _has(stage: Stage, values: dict[str, object]) -> bool:
    return all(getattr(stage, name) == value for name, value in values.items())


Check = Callable[[Labelled, "re.Match[str]"], bool]
STRATEGIES = {"prefiltered": "prefiltered", "graph": "graph", "most citations": "most-citations", "cited": "cited"}
FORMS = {
    "context": "title, context",
    "abstract": "abstract",
    "context, abstract": "context, abstract",
    "abstract, context": "abstract, context",
}


def _negatives(each: Labelled, match: re.Match[str]) -> bool:
    label = each.row.method.lower()
    strategy = next((value for word, value in STRATEGIES.items() if word in label), "random")
    negatives = each.recipe["negatives"]
    strict = "strict" in label or "strict regime" in each.table.caption
    return bool(
        negatives["strategy"].replace(" ", "-") == strategy
        and negatives["hard_only"] == ("alone" in label)
        and negatives["regime"] == ("strict" if strict else "standard")
    )


def _rounds(each: Labelled, match: re.Match[str]) -> bool:
    stages = [stage for stage in each.pipeline.stages if isinstance(stage, Navigate)]
    return sum(len(stage.seeds) for stage in stages) == int(match[1])


def _draws(each: Labelled, draws: int) -> bool:
    return each.first(SemiGenetic, draws=draws)


CLAIMS: list[tuple[str, str, Check]] = [
    ("k1 and b", r"b ([\d.]+), k1 ([\d.]+)", lambda each, m: each.first(BM25, b=float(m[1]), k1=float(m[2]))),
    (
        "BM25 alone",
        r"^(AUEB-NLP-5: )?BM25( \(Anserini\))?$",
        lambda each, m: each.first(BM25) and len(each.pipeline.stages) == 1,
    ),
    ("BM25, not re-ranked", r"not re-ranked", lambda each, m: each.first(BM25) and len(each.pipeline.stages) == 1),
    ("MAG-Cited", r"on MAG-Cited$", lambda each, m: each.first(BM25, fields={"own+cited": 1.0})),
    ("MAG", r"on MAG$", lambda each, m: each.first(BM25, fields={"own+citing": 1.0})),
    ("key terms", r"^key terms$", lambda each, m: each.first(BM25, form="key terms by part")),
    ("title", r"^title$", lambda each, m: each.first(BM25, form="title")),
    ("title and abstract", r"^title and abstract$", lambda each, m: each.first(BM25, form="text")),
    ("SPECTER's input", r"^SPECTER: (.+)$", lambda each, m: each.first(Dense, form=FORMS[m[1]])),
    ("a re-ranker", r"BM25 ?[+,] ?(?!b )\w*(BERT|mpnet|MiniLM|all-)", lambda each, m: each.anywhere(Rerank)),
    ("navigation", r"[Nn]avigation, ", lambda each, m: each.anywhere(Navigate) and each.anywhere(Rerank)),
    ("no navigation", r"no navigation", lambda each, m: not each.anywhere(Navigate)),
    ("rounds of navigation", r"^(\d) rounds?$", _rounds),
    ("the variant", r"^(Text\w+(?:-W?S)?)", lambda each, m: each.recipe["shape"]["variant"] == m[1].lower()),
    ("negatives and regime", r"^Text(Enh|BibEnh-WS|Con)", _negatives),
    ("triplets", r"by triplets", lambda each, m: each.recipe["numbers"]["loss"] == "triplet"),
    ("quadruplets", r"by quadruplets", lambda each, m: each.recipe["numbers"]["loss"] == "quadruplet"),
    ("a million draws", r"a million draws", lambda each, m: _draws(each, 1_000_000)),
    ("the expectation", r"the expectation", lambda each, m: _draws(each, 0)),
    ("20/20/60", r"20/20/60", lambda each, m: each.first(SemiGenetic, weights=(0.2, 0.2, 0.6))),
    ("equal weights", r"equal weights", lambda each, m: each.first(SemiGenetic, weights=())),
    ("LDA", r"^LDA$", lambda each, m: each.first(LDA, model="lda")),
    ("LDA-Mallet", r"^LDA-Mallet", lambda each, m: each.first(LDA) and not each.first(LDA, model="lda")),
    ("an embedding", r"^(Doc2Vec|Paper2Vec)$", lambda each, m: each.first(PaperEmbeddings, model=m[1].lower())),
    ("OUT", r"^HyperDoc2Vec, OUT", lambda each, m: each.first(PaperEmbeddings, vectors="out")),
    ("IN and OUT", r"^HyperDoc2Vec, IN and OUT", lambda each, m: each.first(PaperEmbeddings, vectors="in+out")),
    ("graph words", r"graph words", lambda each, m: each.anywhere(JointSnippets, model="jpdrmm-graph")),
    ("word2vec words", r"word2vec words", lambda each, m: each.anywhere(JointSnippets, model="jpdrmm")),
    ("then SEMISER", r"then SEMISER", lambda each, m: each.anywhere(SemiserSentences)),
    ("SEMISER", r": SEMISER", lambda each, m: each.first(Semiser)),
    ("the sum", r", sum$", lambda each, m: each.first(ScoreEnsemble, how="sum")),
    ("the maximum", r", maximum$", lambda each, m: each.first(ScoreEnsemble, how="max")),
]
"""What a label claims: a name, a pattern of labels, and the proof."""

BY_TABLE: list[tuple[str, str, Check]] = [
    ("the dense first stage", r"after SPECTER", lambda each, m: each.first(Dense) and _trained_after(each, "dense")),
    ("the first stage BM25", r"after BM25", lambda each, m: each.first(BM25) and _trained_after(each, "bm25")),
    ("re-ranking", r"\beach re-ranked by", lambda each, m: each.anywhere(Rerank)),
]
"""The same for what the name or the caption of a table claims of its rows."""

MODEL = re.compile(r"specter|scincl|scibert|biobert|ncbi|\bbert\b|roberta|mpnet|minilm", re.IGNORECASE)


def _trained_after(each: Labelled, stage: str) -> bool:
    return str(each.recipe["negatives"]["first_stage"]).startswith(stage)


def labelled() -> Iterator[Labelled]:
    for name in studies.names():
        for table in studies.load(name).tables:
            for row in table.rows:
                if row.pipeline in definitions():
                    yield Labelled(table, row, pipeline(row.pipeline, **row.settings), _recipe(row))


def _recipe(row: Row) -> dict[str, Any]:
    recipe = load_recipe(definitions()[row.pipeline]["recipe"]) if "recipe" in definitions()[row.pipeline] else None
    return {each: getattr(recipe, each) for each in ("shape", "negatives", "numbers")} if isinstance(recipe, PackRecipe) else {}


def false_claims(each: Labelled) -> list[str]:
    """The claims of a row's label and table that its pipeline does not bear out."""
    label = re.sub(r"^ours: ", "", each.row.method, flags=re.IGNORECASE)
    claims = [(name, match, check) for name, pattern, check in CLAIMS if (match := re.search(pattern, label))]
    where = f"{each.table.name} {each.table.caption}"
    claims += [(name, match, check) for name, pattern, check in BY_TABLE if (match := re.search(pattern, where))]
    return [name for name, match, check in claims if not check(each, match)]


def test_each_row_is_what_its_label_says() -> None:
    wrong = {(each.table.name, each.row.method, each.row.pipeline): false_claims(each) for each in labelled()}
    assert {row: claims for row, claims in wrong.items() if claims} == {}


def test_every_claim_is_made_by_some_row() -> None:
    """A pattern that no label matches any more proves nothing."""
    methods = [re.sub(r"^ours: ", "", each.row.method, flags=re.IGNORECASE) for each in labelled()]
    unused = [name for name, pattern, _ in CLAIMS if not any(re.search(pattern, method) for method in methods)]
    assert set(unused) <= {"LDA-Mallet", "BM25, not re-ranked"}


@pytest.mark.parametrize(
    ("method", "table", "name", "settings", "claim"),
    [
        ("BM25, b 0.75, k1 2.5", "Table 5.1", "bm25", {"k1": 1.5, "b": 0.75}, "k1 and b"),
        ("BM25", "Table 2", "navigate", {}, "BM25 alone"),
        ("BM25 on MAG-Cited", "Figure 7", "bm25-citing", {}, "MAG-Cited"),
        ("Navigation, SciBERT-Large", "Table 2", "navigate", {}, "navigation"),
        ("2 rounds", "Table 6", "navigate", {}, "rounds of navigation"),
        ("TextEnh, strict", "Table 5.4", "textenh", {}, "negatives and regime"),
        ("TextEnh, cited alone", "Table 5.5", "textenh-negatives-cited", {}, "negatives and regime"),
        ("TextBibEnh-WS", "Table 4.2", "textenh", {}, "the variant"),
        ("QPCR: tuned by quadruplets", "Table 6.2", "paragraph-triplet", {}, "quadruplets"),
        ("Hybrid, a million draws", "Table 2", "hybrid", {}, "a million draws"),
        ("Hybrid23, weights 20/20/60", "Figure 8", "hybrid23", {}, "20/20/60"),
        ("LDA-Mallet", "Figure 6", "lda", {}, "LDA-Mallet"),
        ("TextEnh, standard", "Table 5.4, after SPECTER", "textenh", {}, "the dense first stage"),
        ("SPECTER: abstract", "Table 5.2", "dense-context", {}, "SPECTER's input"),
    ],
)
def test_a_wrong_label_is_found(method: str, table: str, name: str, settings: dict[str, Any], claim: str) -> None:
    row = Row(method, pipeline=name, settings=settings)
    made = Labelled(Table(table, "", "local", ["RR"], ["MRR"], [row]), row, pipeline(name, **settings), _recipe(row))
    assert claim in false_claims(made)


def test_a_row_that_names_a_model_prints_the_weights_that_it_uses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CITEWELL_MODELS", str(tmp_path))
    for each in labelled():
        if not MODEL.search(each.row.method):
            continue
        assert weights(each.row), (each.table.name, each.row.method)
        for name in weights(each.row):
            recipe_name, _ = recipe_of(name)
            recipe = load_recipe(recipe_name) if recipe_name else None
            if isinstance(recipe, PackRecipe) and recipe.base:
                (tmp_path / name).mkdir(exist_ok=True)
                (tmp_path / name / "card.json").write_text(json.dumps({"recipe": {"base": recipe.base}}))
                assert f"{name} from {recipe.base}" in described(ReproducedRow(each.row, MEASURED))
            else:
                assert name in described(ReproducedRow(each.row, MEASURED))


UNAVAILABLE = {
    "Bhagavatula et al.": "the study quotes another paper, which has no figure for this set or depth",
    "ClusCite": "quoted from another paper, which has test figures only",
    "NCN": "the thesis prints dashes for ACL-ARC",
    "cited alone": "printed for ACL-ARC only",
    "graph neighbors": "printed for RefSeer only (alone, or in the strict table)",
    "cited": "the strict table prints the best strategies of each set",
    "AUEB-NLP-": "the body of the table is missing in the available text",
    "Best of the other participants": "the body of the table is missing in the available text",
}
"""Beginnings or parts of labels whose figures are not available, and why."""
OURS = re.compile(r"^ours\b|the expectation|equal weights", re.IGNORECASE)
"""Rows that the study does not have."""
WITHOUT_FIGURES = re.compile(r"without numbers|no figures|prints no|available text has no figures|close to zero", re.IGNORECASE)
"""Captions of tables that the study prints without figures."""
CURVES = {"Figure 5.1": "the thesis plots recall by depth without numbers"}
"""Names of tables whose figures are points of a plot."""


@pytest.mark.parametrize("name", studies.names())
def test_a_figure_is_unknown_only_where_the_study_does_not_print_it(name: str) -> None:
    for table in studies.load(name).tables:
        for row in table.rows:
            unknown = not row.values or any(map(math.isnan, row.values))
            printed = not WITHOUT_FIGURES.search(table.caption) and table.name not in CURVES
            if unknown and printed and not OURS.search(row.method):
                assert any(part in row.method for part in UNAVAILABLE), (table.name, row.method)


@pytest.mark.parametrize("name", studies.names())
def test_every_published_column_is_one_of_the_measures(name: str) -> None:
    for table in studies.load(name).tables:
        for column in columns(table):
            assert column.measure in table.measures, (table.name, column.name)
