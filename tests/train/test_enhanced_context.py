"""Medić's re-ranker: the inputs of each variant, training, and the served model."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from citewell.errors import CitewellError
from citewell.models.enhanced_context import VARIANTS, Candidate, EnhancedContext, Shape, author_number
from citewell.papers import Query
from tests.evaluate.small_set import small_set

torch = pytest.importorskip("torch")

SIZES = {
    "words": 12,
    "hidden": 8,
    "context": 14,
    "text": 24,
    "people": 50,
    "author": 6,
    "authors": 3,
    "channels": 4,
    "years": 2,
}
RECIPE: dict[str, Any] = {
    "about": "A tiny re-ranker",
    "kind": "enhanced-context",
    "numbers": {"steps": 4, "pairs": 6, "negatives": 4, "dev_every": 2, "dev_queries": 6, "dev_depth": 8, "rate": 0.01},
    "shape": {"variant": "textbibenh-ws", **SIZES},
}


@pytest.fixture(scope="module")
def pack(packed: Path, set_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pack with its sidecar of authors."""
    from citewell.train.authors import write

    path = Path(shutil.copy(packed, tmp_path_factory.mktemp("enhanced") / "pack.npz"))
    write(path, [set_folder], 50)
    return path


def network(variant: str, **sizes: Any) -> Any:
    from citewell.train.enhanced_network import Network

    torch.manual_seed(3)
    return Network(Shape(variant, **{**SIZES, "vocabulary": 100, **sizes})).eval()


def text(*rows: list[int]) -> Any:
    from citewell.train.enhanced_network import Text

    width = max(map(len, rows))
    ids = torch.tensor([row + [0] * (width - len(row)) for row in rows])
    return Text(ids, torch.tensor([len(row) for row in rows]))


def queries(citing: list[int] = [7, 8, 9], context: list[int] = [4, 5, 6]) -> Any:  # noqa: B006
    from citewell.train.enhanced_network import QueryBatch

    return QueryBatch(text(context), torch.tensor([1]), text(citing))


def candidates(authors: list[int] = [1, 2, 0], cited: list[int] = [1, 0, 4]) -> Any:  # noqa: B006
    from citewell.train.enhanced_network import CandidateBatch

    authors_ = torch.tensor([authors, [3, 0, 0]])
    return CandidateBatch(text([10, 11, 12, 13], [14, 15]), authors_, torch.tensor([cited, [0, 0, 0]]).float())


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_variant_reads_only_its_own_inputs(variant: str) -> None:
    enhanced, bibliography, _ = VARIANTS[variant]
    model = network(variant)
    with torch.no_grad():
        scores = model(queries(), candidates())
        assert (model(queries(context=[4, 5, 3]), candidates()) != scores).all()
        assert bool((model(queries(citing=[20, 21]), candidates()) != scores).all()) == enhanced
        assert bool((model(queries(), candidates(authors=[5, 2, 0]))[0, 0] != scores[0, 0]).all()) == bibliography
        assert bool((model(queries(), candidates(cited=[9, 9, 90]))[0, 0] != scores[0, 0]).all()) == bibliography
    names = {name.partition(".")[0] for name in model.state_dict()}
    assert ("people" in names) == ("groups" in names) == ("bibliography" in names) == bibliography
    assert ("weighing" in names) == variant.endswith("-ws")


def test_weights_are_fixed_or_depend_on_the_context() -> None:
    model = network("textbibenh-s")
    with torch.no_grad():
        contexts, _ = model.contexts(queries())
        assert model.weights(contexts).tolist() == [[1.0, 1.0]]
        weighted = network("textbibenh-ws")
        one, other = (weighted.weights(weighted.contexts(queries(context=tokens))[0]) for tokens in ([4, 5, 6], [30, 5, 31]))
        assert not torch.equal(one, other) and torch.allclose(one.sum(), torch.tensor(1.0))
        same = weighted.weights(weighted.contexts(queries(citing=[30, 31]))[0])
        assert torch.equal(one, same), "only the context decides"


def test_attention_depends_on_the_gap_and_not_on_padding() -> None:
    from citewell.train.enhanced_network import QueryBatch

    model = network("textenh")
    with torch.no_grad():
        first, other = (model.contexts(QueryBatch(text([4, 5, 6]), torch.tensor([gap]), text([7])))[0] for gap in (0, 2))
        assert not torch.allclose(first, other)
        alone = torch.cat([model(queries(), candidates()._replace(text=text(row)))[0] for row in ([10, 11, 12, 13], [14, 15])])
        assert torch.allclose(model(queries(), candidates())[0], alone, atol=1e-6)


def test_authors_and_citation_counts_match_the_set(pack: Path) -> None:
    from citewell.train.enhanced_context import PackReader
    from citewell.train.packs import load
    from citewell.train.sidecars import sidecar_path

    arrays, bibliography = load(pack), load(sidecar_path(pack, "people"))
    reader = PackReader(arrays, bibliography, Shape(**SIZES), torch.device("cpu"))
    papers_of_set = small_set().papers
    numbers = torch.arange(len(papers_of_set))
    for before in (2016, 2018, 2020):
        cited = reader.cited(numbers, torch.full_like(numbers, before)).tolist()
        for paper, row in zip(papers_of_set, cited, strict=True):
            years = [other["year"] for other in papers_of_set if paper["id"] in other["references"] and other["year"] < before]
            assert row == [years.count(before - 1), years.count(before - 2), len(years)]
    authors = reader.papers(numbers, numbers).authors.tolist()
    assert authors == [[author_number(paper["authors"][0], 50), 0, 0] for paper in papers_of_set]
    assert author_number("Mira Holt", 50) == author_number("Holt, M.", 50) == author_number("M. Holt", 50)
    assert author_number("", 50) == 0 and len({author_number(f"A B{at}", 10) for at in range(200)}) == 9


def test_training_lowers_the_loss_and_keeps_the_best_weights(pack: Path, base: Path, tmp_path: Path) -> None:
    from citewell.train.curve import dev_figures
    from citewell.train.enhanced_context import Hyperparameters, NegativeSampling, Training, fit, load_bibliography
    from citewell.train.packs import load

    numbers = {**RECIPE["numbers"], "steps": 30, "dev_every": 10, "table": "base"}
    recipe = {**RECIPE, "numbers": numbers, "shape": {**RECIPE["shape"], "words": 32}}
    model = fit(pack, base, recipe, tmp_path, "cpu")
    assert model.shape.words == 32 and model.shape.vocabulary == 30522
    assert set(dev_figures(tmp_path)) == {"small local"}

    def loss(network: Any) -> float:
        arrays = load(pack)
        bibliography = load_bibliography(pack, arrays, network.shape)
        training = Training(
            arrays,
            network,
            Hyperparameters(**{**numbers, "pairs": 60}),
            NegativeSampling(),
            bibliography,
            None,
            torch.device("cpu"),
        )
        with torch.no_grad():
            return sum(training.loss().item() for _ in range(3))

    torch.manual_seed(1)
    assert loss(model.eval()) < 0.8 * loss(type(model)(model.shape).eval())


@pytest.mark.parametrize("times", [1])
def test_a_resumed_training_ends_with_the_same_weights(pack: Path, base: Path, tmp_path: Path, times: int) -> None:
    from citewell.train.checkpoints import Checkpoint
    from citewell.train.enhanced_context import fit

    once, again = tmp_path / "once", tmp_path / "again"
    fit(pack, base, RECIPE, once, "cpu")
    save = Checkpoint.save

    def save_and_stop(self: Any, state: Any) -> None:
        save(self, state)
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Checkpoint, "save", save_and_stop)
        fit(pack, base, RECIPE, again, "cpu")
    fit(pack, base, RECIPE, again, "cpu")
    with np.load(once / "network.npz") as one, np.load(again / "network.npz") as other:
        assert one.files == other.files and all((one[name] == other[name]).all() for name in one.files)


def test_missing_sidecars_are_errors(packed: Path, pack: Path, base: Path, tmp_path: Path) -> None:
    from citewell.train.enhanced_context import fit

    bare = Path(shutil.copy(packed, tmp_path / "bare.npz"))
    with pytest.raises(CitewellError, match=r"citewell\.train\.authors makes it"):
        fit(bare, base, RECIPE, tmp_path / "out", "cpu")
    with pytest.raises(CitewellError, match=r"citewell\.train\.prefilter makes it"):
        fit(pack, base, {**RECIPE, "negatives": {"regime": "strict", "first_stage": "bm25"}}, tmp_path / "out", "cpu")
    shape = {**RECIPE["shape"], "people": 60}
    with pytest.raises(CitewellError, match="another number of people"):
        fit(pack, base, {**RECIPE, "shape": shape}, tmp_path / "out", "cpu")


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_served_model_scores_like_the_trained_one(pack: Path, base: Path, tmp_path: Path, variant: str) -> None:
    pytest.importorskip("onnxruntime"), pytest.importorskip("onnx")
    from citewell.train.enhanced_context import Hyperparameters, NegativeSampling, Training, export, save
    from citewell.train.packs import TASKS, load
    from citewell.train.score_offline import load_network
    from citewell.train.sidecars import sidecar_path

    model = network(variant, vocabulary=30522)
    save(model, tmp_path / "weights")
    exact, model = model, load_network(tmp_path / "weights", torch.device("cpu"))
    for one, other in zip(exact.parameters(), model.parameters(), strict=True):
        assert torch.equal(one.half().float(), other)  # stored in half precision
    shutil.copyfile(base / "tokenizer.json", tmp_path / "weights" / "tokenizer.json")
    export(tmp_path / "weights", tmp_path / "served")
    served = EnhancedContext("mine", tmp_path / "served")
    arrays, bibliography = load(pack), load(sidecar_path(pack, "people"))
    training = Training(arrays, model, Hyperparameters(), NegativeSampling(), bibliography, None, torch.device("cpu"))
    papers_of_set = small_set()
    papers_of_set.papers[3]["abstract"] = ""  # as in the set
    years = {paper["id"]: paper["year"] for paper in papers_of_set.papers}
    of = {paper["id"]: paper for paper in papers_of_set.papers}
    local = np.flatnonzero((arrays["question_task"] == TASKS.index("local")) & (arrays["question_split"] == 0)).tolist()
    contexts = [context for context in papers_of_set.contexts if years[context["citing"]] <= 2018]
    assert len(local) == len(contexts)
    papers = torch.arange(0, 36, 3)[None]
    for number, context in list(zip(local, contexts, strict=True))[::13]:
        citing = of[context["citing"]]
        query = Query("local", citing["title"], citing["abstract"], context["text"])
        candidates = []
        for at in papers[0].tolist():
            paper = papers_of_set.papers[at]
            cited = [o["year"] for o in papers_of_set.papers if paper["id"] in o["references"] and o["year"] < citing["year"]]
            recent = [cited.count(citing["year"] - back) for back in (1, 2)]
            candidates.append(Candidate(paper["title"], paper["abstract"], paper["authors"], [*recent, len(cited)]))
        with torch.no_grad():
            ours = training.scores(torch.tensor([number]), papers, training.pack_queries.year[torch.tensor([number])])[
                0
            ].numpy()
        np.testing.assert_allclose(served.scores(query, candidates), ours, rtol=0, atol=1e-5)
    empty = served.scores(Query("local"), [Candidate(), Candidate("Anchor", "", ["Nobody"], [1])])
    assert np.isfinite(empty).all() and len(empty) == 2
