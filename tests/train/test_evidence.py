"""JPDRMM and SEMISER: what they learn from, how they learn, killed and resumed, and their served twins."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner

from citewell.cli.main import cli
from citewell.errors import CitewellError
from citewell.models.joint_snippets import JointSnippets, against_candidates
from citewell.models.semiser import Semiser
from citewell.models.semiser import nearness as served_nearness
from citewell.models.word_vectors import WordVectors
from citewell.train.recipe import Asking, EvidenceRecipe, GraphNumbers, load_recipe
from citewell.train.sentence_data import Lessons, lessons_at
from citewell.train.sentence_measures import average_precision, measured
from citewell.train.term_graph import linked, walk

torch = pytest.importorskip("torch")
pytest.importorskip("gensim")

WORDS = "words = { size = 6, min_count = 1, epochs = 2 }"
JOINT = f"""
like = "jpdrmm"
{WORDS}
numbers = {{ steps = 6, questions = 3, longest = 2, hidden = 4, dev_every = 2, dev_questions = 5, dev_depth = 6 }}
"""
GRAPH = JOINT.replace('"jpdrmm"', '"jpdrmm-graph"') + "graph = { terms = 8, fewest = 1, walks = 2, length = 5 }\n"
SEMISER = f"""
like = "semiser"
{WORDS}
numbers = {{ steps = 6, pairs = 8, drawn = 60, size = 5, hidden = 4, dev_every = 2, dev_questions = 5, dev_depth = 6 }}
"""
RECIPES = {"jpdrmm": JOINT, "jpdrmm-graph": GRAPH, "semiser": SEMISER}


@pytest.fixture(scope="module")
def cached(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("evidence")


@pytest.fixture(scope="module")
def lessons(set_folder: Path, cached: Path) -> Lessons:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CITEWELL_CACHE", str(cached / "cache"))
        return lessons_at(cached / "lessons.npz", [set_folder], Asking(depth=10, drawn={}, seed=0))


@pytest.fixture
def recipe_file(tmp_path: Path) -> Any:
    def written(name: str) -> Path:
        path = tmp_path / f"tiny-{name}.toml"
        path.write_text(RECIPES[name])
        return path

    return written


def training(name: str, lessons: Lessons, path: Path, **numbers: Any) -> Any:
    """What draws batches, with a new model."""
    from citewell.train import joint_snippets, semiser

    module: Any = {"jpdrmm": joint_snippets, "semiser": semiser}[name]
    recipe = load_recipe(str(path))
    assert isinstance(recipe, EvidenceRecipe)
    chosen = msgspec.convert({**recipe.numbers, **numbers}, module.Numbers)
    vectors = np.random.default_rng(0).normal(size=(len(lessons.hashes) - 1, 6)).astype(np.float32)
    words = WordVectors.of(lessons.hashes[1:], lessons.papers_with[1:], len(lessons.paper_at) - 1, vectors)
    torch.manual_seed(3)
    return module.Training(lessons, words, module.Network(words, chosen), chosen, torch.device("cpu"))


def test_lessons_are_train_and_dev_questions_with_their_candidates(lessons: Lessons, set_folder: Path, cached: Path) -> None:
    assert len(lessons.questions("train")) == 12 and len(lessons.questions("dev")) == 3
    assert lessons.figures() == {"small": {"evidence": 12, "evidence sentences": 12}}
    for question in lessons.questions("train").tolist():
        papers, scores = lessons.candidates(question)
        (wanted,) = lessons.wanted(question)
        (marked,) = lessons.marked(question)
        assert list(scores) == sorted(scores, reverse=True) and len(papers) == 10
        assert wanted in papers and marked == lessons.sentences(int(wanted))[2], "the second sentence after the title"
    with pytest.raises(CitewellError, match="of other sets or by another recipe"):
        lessons_at(cached / "lessons.npz", [set_folder], Asking(depth=9, drawn={}, seed=0))


def test_of_a_kind_of_questions_so_many_are_drawn(set_folder: Path, tmp_path: Path) -> None:
    few = lessons_at(tmp_path / "few.npz", [set_folder], Asking(depth=5, drawn={"": 4}, seed=0))
    assert len(few.questions("train")) == 4 and len(few.questions("dev")) == 3
    with pytest.raises(CitewellError, match="--set DIR"):
        lessons_at(tmp_path / "none.npz", [], Asking(depth=5, drawn={}, seed=0))


def test_runs_of_words_are_those_of_the_text(lessons: Lessons) -> None:
    title, *others = lessons.sentences(0)
    words = lessons.runs([title, *others], 1000)
    assert [word for run in words for word in run] == [word for at in (title, *others) for word in lessons.sentence(at)]
    assert sum(map(len, lessons.runs([title, *others], 5))) == 5


def test_average_precision_is_that_of_the_bench(lessons: Lessons) -> None:
    assert average_precision(np.array([4, 7, 5]), np.array([7, 9])) == pytest.approx(0.25)
    assert average_precision(np.zeros(0, np.int64), np.array([1])) == 0.0

    def knowing(question: int, papers: Any) -> Any:
        wanted = lessons.wanted(question)
        marked = lessons.marked(question)
        sentences = [np.isin(np.array(lessons.sentences(paper))[1:], marked).astype(np.float32) for paper in papers]
        return np.isin(papers, wanted).astype(np.float32), sentences

    found = measured(lessons, knowing, 10, 80)
    assert found == {"small evidence AP": pytest.approx(1.0), "small evidence sentences AP": pytest.approx(1.0)}


def of_papers(*papers: list[list[int]]) -> Lessons:
    """Lessons without questions: papers of one sentence each, given by its runs."""
    runs = [run for paper in papers for run in paper]
    starts = np.cumsum([0, *(sum(map(len, paper)) for paper in papers)])
    arrays = {
        "sets": np.array(["made"]),
        "hashes": np.arange(20),
        "words": np.array([word for run in runs for word in run]),
        "begins": np.array([at == 0 for run in runs for at in range(len(run))]),
        "sentence_at": starts,
        "paper_at": np.arange(len(papers) + 1),
    }
    return Lessons(arrays)


def test_walks_go_along_links_that_enough_papers_stand_for() -> None:
    lessons = of_papers([[1], [2]], [[1], [2], [3]], [[4], [3], [1]], [[5, 6], [7]], *([[at]] for at in range(8, 18)))
    graph = GraphNumbers(terms=8, reach=100, fewest=2, walks=1, length=6, back=0.5, out=2.0)
    links = linked(lessons, graph)
    assert {term: found.known for term, found in links.items()} == {
        (1,): {(2,), (3,)},
        (2,): {(1,)},
        (3,): {(1,)},
    }
    assert (5, 6) in linked(lessons, msgspec.structs.replace(graph, fewest=1))[7,].known
    path = walk(links, (2,), graph, Random(1))
    assert len(path) == 6 and all(after in links[before].known for before, after in pairwise(path))
    with pytest.raises(CitewellError, match="lower 'fewest'"):
        linked(lessons, msgspec.structs.replace(graph, fewest=3))


def test_a_walk_rather_goes_where_it_is_told() -> None:
    from citewell.train.term_graph import Links

    near = {(1,): ((2,), (3,)), (2,): ((1,), (3,)), (3,): ((1,), (2,), (4,)), (4,): ((3,),)}
    links = {term: Links(list(others), list(range(1, len(others) + 1)), frozenset(others)) for term, others in near.items()}
    never_back = GraphNumbers(terms=1, reach=1, fewest=1, walks=1, length=3, back=0.0, out=1.0)
    for seed in range(20):
        first, _, third = walk(links, (1,), never_back, Random(seed))
        assert first != third


@pytest.mark.parametrize("name", ["jpdrmm", "semiser"])
def test_steps_lower_the_loss(name: str, lessons: Lessons, recipe_file: Any) -> None:
    made = training(name, lessons, recipe_file(name))
    optimizer = torch.optim.Adam(made.model.parameters(), 0.01)

    def total() -> float:
        torch.manual_seed(9)
        with torch.no_grad():
            return sum(made.loss().item() for _ in range(10))

    before = total()
    torch.manual_seed(1)
    for _ in range(60):
        optimizer.zero_grad()
        made.loss().backward()
        optimizer.step()
    assert total() < 0.9 * before


def test_only_right_papers_that_bm25_finds_are_learned_from(lessons: Lessons, recipe_file: Any) -> None:
    asked = lessons.questions("train").tolist()
    rows = lessons.arrays["candidates"].copy()
    for question in asked[1:]:
        rows[question][np.isin(rows[question], lessons.wanted(question))] = -1
    some = Lessons({**lessons.arrays, "candidates": rows})
    assert training("jpdrmm", some, recipe_file("jpdrmm"))._asked == asked[:1]
    with pytest.raises(CitewellError, match="BM25 finds no right paper"):
        training("jpdrmm", Lessons({**lessons.arrays, "candidates": rows * 0 - 1}), recipe_file("jpdrmm"))


def test_each_loss_counts_as_much_as_the_recipe_says(lessons: Lessons, recipe_file: Any) -> None:
    def loss(papers: float, snippets: float) -> float:
        made = training("jpdrmm", lessons, recipe_file("jpdrmm"), papers=papers, snippets=snippets)
        torch.manual_seed(4)
        return made.loss().item()

    assert loss(0.0, 0.0) == 0.0
    assert loss(2.0, 3.0) == pytest.approx(2 * loss(1.0, 0.0) + 3 * loss(0.0, 1.0), rel=1e-5)


@pytest.mark.parametrize("name", RECIPES)
def test_the_command_trains_and_exports(name: str, recipe_file: Any, set_folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "models" / name
    arguments = ["train", recipe_file(name), "--set", set_folder, "--out", out, "--device", "cpu", "--json"]
    done = CliRunner().invoke(cli, list(map(str, arguments)), catch_exceptions=False)
    about = json.loads(done.stdout)
    assert set(about["dev"]) == {"small evidence", "small evidence sentences"} and set(about["dev"]["small evidence"]) == {"AP"}
    assert {path.name for path in out.iterdir()} - {"training.lock"} == {"words.npz", "network.npz", "card.json", "weights"}
    assert {path.name for path in (out / "weights").iterdir()} == {"curve.csv", "recipe.json", "sets.json"}
    assert WordVectors.load(out).vectors.shape[1] == 6


def test_options_that_do_not_fit_are_refused(recipe_file: Any, set_folder: Path, tmp_path: Path) -> None:
    arguments = ["train", recipe_file("semiser"), "--set", set_folder, "--out", tmp_path / "out", "--encoder", set_folder]
    failed = CliRunner().invoke(cli, list(map(str, arguments)))
    assert isinstance(failed.exception, CitewellError) and "leave --encoder out" in str(failed.exception)
    path = tmp_path / "wrong.toml"
    path.write_text(SEMISER.replace("pairs = 8", "stops = 8"))
    failed = CliRunner().invoke(cli, ["train", str(path), "--set", str(set_folder), "--out", str(tmp_path / "out")])
    assert isinstance(failed.exception, CitewellError) and "[numbers]: Object contains unknown field" in str(failed.exception)


@pytest.mark.parametrize("name", ["jpdrmm", "semiser"])
def test_killed_it_goes_on_to_the_same_weights(name: str, recipe_file: Any, set_folder: Path, tmp_path: Path) -> None:
    from citewell.train.from_evidence import train

    recipe = load_recipe(str(recipe_file(name)))
    assert isinstance(recipe, EvidenceRecipe)
    train(recipe, [set_folder], tmp_path / "whole", device="cpu")
    for moment in ("words", "network"):
        given = (recipe_file(name), set_folder, tmp_path / "killed", moment)
        command = [sys.executable, "-m", "tests.train.evidence_apart", *map(str, given)]
        assert subprocess.run(command, capture_output=True).returncode == -9
    train(recipe, [set_folder], tmp_path / "killed", device="cpu")
    for file in ("words.npz", "network.npz"):
        with np.load(tmp_path / "whole" / file) as whole, np.load(tmp_path / "killed" / file) as killed:
            assert set(whole.files) == set(killed.files)
            assert all((whole[part] == killed[part]).all() for part in whole.files)


def text_of(lessons: Lessons, words: Any, spelt: dict[int, str]) -> str:
    return " ".join(spelt[int(lessons.hashes[word])] for word in words)


def spelling(set_folder: Path) -> dict[int, str]:
    """A word for each hash of the set's papers and questions."""
    from citewell.text.analysis import terms

    found: dict[int, str] = {}
    for name in ("papers", "evidence"):
        for line in (set_folder / f"{name}.jsonl").read_text().splitlines():
            found |= {term: word for term, (word, _) in terms(line).items()}
    return found


def test_jpdrmm_is_served_as_it_was_trained(lessons: Lessons, set_folder: Path, recipe_file: Any) -> None:
    made = training("jpdrmm", lessons, recipe_file("jpdrmm"))
    question = int(lessons.questions("dev")[0])
    candidates, scores = lessons.candidates(question)
    papers = candidates[:4].tolist()
    spelt = spelling(set_folder)
    weights = {name: weight.numpy() for name, weight in made.model.state_dict().items()}
    weights |= {"best": np.array(made.numbers.best), "sentences": np.array(made.numbers.sentences)}
    texts = [[text_of(lessons, lessons.sentence(at), spelt) for at in lessons.sentences(paper)] for paper in papers]
    asked = text_of(lessons, lessons.asked(question), spelt)
    found, sentences = JointSnippets(made.words, weights).scores(asked, texts, against_candidates(scores[:4], scores))
    expected, of_sentences = made.judge(question, papers)
    assert found == pytest.approx(expected, abs=1e-4)
    for mine, theirs in zip(sentences, of_sentences, strict=True):
        assert mine[1:] == pytest.approx(theirs, abs=1e-4), "all but the title"


def test_semiser_is_served_as_it_was_trained(lessons: Lessons, set_folder: Path, recipe_file: Any) -> None:
    made = training("semiser", lessons, recipe_file("semiser"))
    question = int(lessons.questions("dev")[1])
    papers = lessons.candidates(question)[0][:4].tolist()
    spelt = spelling(set_folder)
    vectors = made.model.table.numpy()
    words = WordVectors(np.sort(lessons.hashes[1:]), np.ones(len(vectors), np.float32), vectors)
    served = Semiser(words, {name: weight.numpy() for name, weight in made.model.state_dict().items()})
    asked = served.question(text_of(lessons, lessons.asked(question), spelt))
    best, sentences = made.judge(question, papers)
    for paper, expected in zip(papers, sentences, strict=True):
        texts = [text_of(lessons, lessons.sentence(at), spelt) for at in lessons.sentences(paper)[1:]]
        assert served_nearness(asked, served.sentences(texts)) == pytest.approx(expected, abs=1e-5)
    assert best == pytest.approx([part.max() for part in sentences])
