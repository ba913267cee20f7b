"""JPDRMM and SEMISER: training data, training, resumption, and the served models."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner

from citewell.cli.main import cli
from citewell.errors import CitewellError
from citewell.models.joint_snippets import JointSnippets, standardise
from citewell.models.semiser import Semiser
from citewell.models.semiser import max_cosine as served_max_cosine
from citewell.models.word_vectors import WordVectors
from citewell.train.key_term_data import KeyTerms, extract, sentences_of
from citewell.train.recipe import EvidenceRecipe, QuerySampling, load_recipe
from citewell.train.save import EpochCheckpoints
from citewell.train.sentence_data import SentenceData, load_or_collect
from citewell.train.sentence_measures import average_precision, measure
from citewell.train.sentence_pool import SentencePool

torch = pytest.importorskip("torch")
pytest.importorskip("gensim")

WORDS = "words = { size = 6, min_count = 1, epochs = 2 }"
JOINT = f"""
like = "jpdrmm"
{WORDS}
numbers = {{ steps = 6, queries = 3, max_sentences = 2, hidden = 4, dev_every = 2, dev_queries = 5, dev_depth = 6 }}
"""
WALKS = JOINT.replace('"jpdrmm"', '"jpdrmm-walks"') + "graph = { terms = 8, min_papers = 1, walks = 2, length = 5 }\n"
GRAPH = f"""{JOINT.replace('"jpdrmm"', '"jpdrmm-graph"')}
[graph]
terms = 8
min_papers = 1
length = 5
convolution = {{ pairs = 50, steps = 3 }}
"""
SEMISER = f"""
like = "semiser"
{WORDS}
numbers = {{ steps = 6, pairs = 8, sentences = 60, size = 5, hidden = 4, dev_every = 2, dev_queries = 5, dev_depth = 6 }}
"""
RECIPES = {"jpdrmm": JOINT, "jpdrmm-walks": WALKS, "jpdrmm-graph": GRAPH, "semiser": SEMISER}


@pytest.fixture(scope="module")
def cached(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("evidence")


@pytest.fixture(scope="module")
def data(set_folder: Path, cached: Path) -> SentenceData:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CITEWELL_CACHE", str(cached / "cache"))
        return load_or_collect(cached / "sentences.npz", [set_folder], QuerySampling(depth=10, samples={}, seed=0))


@pytest.fixture
def recipe_file(tmp_path: Path) -> Any:
    def write(name: str) -> Path:
        path = tmp_path / f"tiny-{name}.toml"
        path.write_text(RECIPES[name])
        return path

    return write


def training(name: str, data: SentenceData, path: Path, **numbers: Any) -> Any:
    """The training of a new model."""
    from citewell.train import joint_snippets, semiser

    module: Any = joint_snippets if name == "jpdrmm" else semiser
    recipe = load_recipe(str(path))
    assert isinstance(recipe, EvidenceRecipe)
    chosen = msgspec.convert({**recipe.numbers, **numbers}, module.Hyperparameters)
    vectors = np.random.default_rng(0).normal(size=(len(data.hashes) - 1, 6)).astype(np.float32)
    words = WordVectors.of(data.hashes[1:], data.papers_with[1:], len(data.paper_at) - 1, vectors)
    torch.manual_seed(3)
    labels = [] if name == "jpdrmm" else [terms(data, path.parent, chosen)]
    return module.Training(data, *labels, words, module.Network(words, chosen), chosen, torch.device("cpu"))


def terms(data: SentenceData, folder: Path, numbers: Any) -> KeyTerms:
    """The key terms of the sentences that a recipe learns from."""
    sentences = sentences_of(data, numbers.sentences, numbers.seed)
    return extract(data, sentences, numbers.terms, numbers.words, partial(EpochCheckpoints, folder / "terms"))


def test_sentence_data_has_train_and_dev_queries_with_candidates(data: SentenceData, set_folder: Path, cached: Path) -> None:
    assert len(data.queries("train")) == 12 and len(data.queries("dev")) == 3
    assert data.figures() == {"small": {"evidence": 12, "evidence sentences": 12}}
    for query in data.queries("train").tolist():
        papers, scores = data.candidates(query)
        (relevant,) = data.relevant(query)
        (relevant_sentences,) = data.relevant_sentences(query)
        assert list(scores) == sorted(scores, reverse=True) and len(papers) == 10
        assert relevant in papers and relevant_sentences == data.sentences(int(relevant))[2], (
            "the second sentence after the title"
        )
    with pytest.raises(CitewellError, match="from other sets or by another recipe"):
        load_or_collect(cached / "sentences.npz", [set_folder], QuerySampling(depth=9, samples={}, seed=0))


def test_train_queries_are_sampled_by_kind(set_folder: Path, tmp_path: Path) -> None:
    few = load_or_collect(tmp_path / "few.npz", [set_folder], QuerySampling(depth=5, samples={"": 4}, seed=0))
    assert len(few.queries("train")) == 4 and len(few.queries("dev")) == 3
    with pytest.raises(CitewellError, match="--set DIR"):
        load_or_collect(tmp_path / "none.npz", [], QuerySampling(depth=5, samples={}, seed=0))


def test_runs_contain_the_words_of_the_text(data: SentenceData) -> None:
    title, *others = data.sentences(0)
    words = data.runs([title, *others], 1000)
    assert [word for run in words for word in run] == [word for at in (title, *others) for word in data.sentence(at)]
    assert sum(map(len, data.runs([title, *others], 5))) == 5


def test_average_precision(data: SentenceData) -> None:
    assert average_precision(np.array([4, 7, 5]), np.array([7, 9])) == pytest.approx(0.25)
    assert average_precision(np.zeros(0, np.int64), np.array([1])) == 0.0

    def oracle(query: int, papers: Any) -> Any:
        relevant = data.relevant(query)
        relevant_sentences = data.relevant_sentences(query)
        sentences = [np.isin(np.array(data.sentences(paper))[1:], relevant_sentences).astype(np.float32) for paper in papers]
        return np.isin(papers, relevant).astype(np.float32), sentences

    scores = measure(data, oracle, 10, 80)
    assert scores == {"small evidence AP": pytest.approx(1.0), "small evidence sentences AP": pytest.approx(1.0)}


@pytest.mark.parametrize("name", ["jpdrmm", "semiser"])
def test_steps_lower_the_loss(name: str, data: SentenceData, recipe_file: Any) -> None:
    trained = training(name, data, recipe_file(name))
    optimizer = torch.optim.Adam(trained.model.parameters(), 0.01)

    def total() -> float:
        torch.manual_seed(9)
        with torch.no_grad():
            return sum(trained.loss().item() for _ in range(10))

    before = total()
    torch.manual_seed(1)
    for _ in range(60):
        optimizer.zero_grad()
        trained.loss().backward()
        optimizer.step()
    assert total() < 0.9 * before


def test_only_relevant_papers_that_bm25_retrieves_are_trained_on(data: SentenceData, recipe_file: Any) -> None:
    train_queries = data.queries("train").tolist()
    rows = data.arrays["candidates"].copy()
    for query in train_queries[1:]:
        rows[query][np.isin(rows[query], data.relevant(query))] = -1
    some = SentenceData({**data.arrays, "candidates": rows})
    assert training("jpdrmm", some, recipe_file("jpdrmm"))._train_queries == train_queries[:1]
    with pytest.raises(CitewellError, match="BM25 retrieves no relevant paper"):
        training("jpdrmm", SentenceData({**data.arrays, "candidates": rows * 0 - 1}), recipe_file("jpdrmm"))


def test_losses_are_weighted_by_the_recipe(data: SentenceData, recipe_file: Any) -> None:
    def loss(paper_loss: float, sentence_loss: float) -> float:
        trained = training("jpdrmm", data, recipe_file("jpdrmm"), paper_loss=paper_loss, sentence_loss=sentence_loss)
        torch.manual_seed(4)
        return trained.loss().item()

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


def test_unusable_options_are_errors(recipe_file: Any, set_folder: Path, tmp_path: Path) -> None:
    arguments = ["train", recipe_file("semiser"), "--set", set_folder, "--out", tmp_path / "out", "--encoder", set_folder]
    failed = CliRunner().invoke(cli, list(map(str, arguments)))
    assert isinstance(failed.exception, CitewellError) and "leave --encoder out" in str(failed.exception)
    path = tmp_path / "wrong.toml"
    path.write_text(SEMISER.replace("pairs = 8", "stops = 8"))
    failed = CliRunner().invoke(cli, ["train", str(path), "--set", str(set_folder), "--out", str(tmp_path / "out")])
    assert isinstance(failed.exception, CitewellError) and "[numbers]: Object contains unknown field" in str(failed.exception)


@pytest.mark.parametrize("name", ["jpdrmm", "semiser"])
def test_a_resumed_training_ends_with_the_same_weights(name: str, recipe_file: Any, set_folder: Path, tmp_path: Path) -> None:
    from citewell.train.from_evidence import train

    recipe = load_recipe(str(recipe_file(name)))
    assert isinstance(recipe, EvidenceRecipe)
    train(recipe, [set_folder], tmp_path / "whole", device="cpu")
    for moment in ("words", "network"):
        args = (recipe_file(name), set_folder, tmp_path / "killed", moment)
        command = [sys.executable, "-m", "tests.train.evidence_apart", *map(str, args)]
        assert subprocess.run(command, capture_output=True).returncode == -9
    train(recipe, [set_folder], tmp_path / "killed", device="cpu")
    for file in ("words.npz", "network.npz"):
        with np.load(tmp_path / "whole" / file) as whole, np.load(tmp_path / "killed" / file) as killed:
            assert set(whole.files) == set(killed.files)
            assert all((whole[part] == killed[part]).all() for part in whole.files)


def text_of(data: SentenceData, words: Any, spelling_of: dict[int, str]) -> str:
    return " ".join(spelling_of[int(data.hashes[word])] for word in words)


def spelling(set_folder: Path) -> dict[int, str]:
    """A word for each hash of the set's papers and queries."""
    from citewell.text.analysis import terms

    words: dict[int, str] = {}
    for name in ("papers", "evidence"):
        for line in (set_folder / f"{name}.jsonl").read_text().splitlines():
            words |= {term: word for term, (word, _) in terms(line).items()}
    return words


def test_served_jpdrmm_equals_the_trained_network(data: SentenceData, set_folder: Path, recipe_file: Any) -> None:
    trained = training("jpdrmm", data, recipe_file("jpdrmm"))
    query = int(data.queries("dev")[0])
    candidates, scores = data.candidates(query)
    papers = candidates[:4].tolist()
    spelling_of = spelling(set_folder)
    weights = {name: weight.numpy() for name, weight in trained.model.state_dict().items()}
    weights |= {"best": np.array(trained.numbers.best), "sentences": np.array(trained.numbers.sentences)}
    texts = [[text_of(data, data.sentence(at), spelling_of) for at in data.sentences(paper)] for paper in papers]
    query_text = text_of(data, data.query_words(query), spelling_of)
    scores, sentences = JointSnippets(trained.words, weights).scores(query_text, texts, standardise(scores[:4], scores))
    expected, sentence_scores = trained.score(query, papers)
    assert scores == pytest.approx(expected, abs=1e-4)
    for mine, theirs in zip(sentences, sentence_scores, strict=True):
        assert mine[1:] == pytest.approx(theirs, abs=1e-4), "without the title"


def test_served_semiser_equals_the_trained_network(data: SentenceData, set_folder: Path, recipe_file: Any) -> None:
    trained = training("semiser", data, recipe_file("semiser"))
    query = int(data.queries("dev")[1])
    papers = data.candidates(query)[0][:4].tolist()
    spelling_of = spelling(set_folder)
    vectors = trained.model.table.numpy()
    words = WordVectors(np.sort(data.hashes[1:]), np.ones(len(vectors), np.float32), vectors)
    served = Semiser(words, {name: weight.numpy() for name, weight in trained.model.state_dict().items()})
    query_text = served.query(text_of(data, data.query_words(query), spelling_of))
    for paper in papers:
        here = np.array(data.sentences(paper))
        expected = trained.score(query, trained.encode(here))
        texts = [text_of(data, data.sentence(at), spelling_of) for at in here.tolist()]
        assert served_max_cosine(query_text, served.sentences(texts)) == pytest.approx(expected, abs=1e-5)


def test_semiser_may_start_near_the_mean_of_its_words(data: SentenceData, recipe_file: Any) -> None:
    sentences = np.array(data.sentences(int(data.candidates(int(data.queries("dev")[1]))[0][0])))
    near = {}
    for start in ("identity", "random"):
        trained = training("semiser", data, recipe_file("semiser"), start=start, size=6)
        words = [trained._ids[data.sentence(at)] for at in sentences.tolist()]
        means = torch.stack([torch.nn.functional.normalize(trained.model.table[each].mean(0), dim=0) for each in words])
        near[start] = (trained.encode(sentences)[:, 0] * means).sum(1).mean().item()
    assert near["identity"] > 0.7 > abs(near["random"])


def test_each_pass_takes_every_sentence_once(data: SentenceData, recipe_file: Any) -> None:
    trained = training("semiser", data, recipe_file("semiser"), sentences=0, pairs=7)
    count = len(trained._terms)
    whole = count // 7
    first, second = ([trained._next() for _ in range(whole)] for _ in range(2))
    assert len(np.unique(np.concatenate(first))) == len(np.unique(np.concatenate(second))) == 7 * whole
    assert (np.concatenate(first) != np.concatenate(second)).any()
    resumed = training("semiser", data, recipe_file("semiser"), sentences=0, pairs=7)
    resumed.restore({**trained.state(), "done": whole})
    assert (resumed._next() == second[0]).all()
    assert set(trained._terms.sentences.tolist()) & set(data.paper_at.tolist()), "titles are sentences"


def test_key_terms_are_those_of_the_sentence_and_resume(data: SentenceData, tmp_path: Path, recipe_file: Any) -> None:
    recipe = load_recipe(str(recipe_file("semiser")))
    assert isinstance(recipe, EvidenceRecipe)
    numbers = msgspec.convert({**recipe.numbers, "sentences": 0}, semiser_numbers())
    made = terms(data, tmp_path, numbers)
    distinct = {tuple(data.sentence(at).tolist()) for at in range(len(data.sentence_at) - 1)} - {()}
    assert len({tuple(data.sentence(at).tolist()) for at in made.sentences.tolist()}) == len(made) <= len(distinct)
    for row, at in enumerate(made.sentences[:20].tolist()):
        listed = made.terms_of(row)
        assert 0 < len(listed) <= 5 and len(set(listed)) == len(listed)
        text = data.sentence(at).tolist()
        assert all(list(term) in [text[i : i + len(term)] for i in range(len(text))] for term in listed)
    stored = {path: path.stat().st_mtime_ns for path in (tmp_path / "terms").rglob("*.arrays")}
    again = terms(data, tmp_path, numbers)
    assert again.words.tolist() == made.words.tolist() and stored
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "terms").rglob("*.arrays")} == stored


def semiser_numbers() -> Any:
    from citewell.train.semiser import Hyperparameters

    return Hyperparameters


def test_the_pool_of_a_retriever_has_every_candidate_and_its_title(data: SentenceData) -> None:
    pool = SentencePool(data, 0, 5, 4)
    papers = {
        paper for each in pool.queries for paper in (*data.candidates(each)[0][:4].tolist(), *data.relevant(each).tolist())
    }
    assert set(pool.sentences.tolist()) == {at for paper in papers for at in data.sentences(paper)}

    def oracle(query: int) -> Any:
        titles = [data.sentences(int(paper))[0] for paper in data.relevant(query)]
        return np.isin(pool.sentences, titles) + 2.0 * np.isin(pool.sentences, data.relevant_sentences(query))

    figures = pool.measure(oracle)
    assert figures == {"small evidence AP": 1.0, "small evidence sentences AP": 1.0}, "a title counts for its paper alone"
    assert pool.measure(lambda query: -oracle(query))["small evidence AP"] < 1.0


def test_word_vectors_may_come_from_a_base(data: SentenceData, set_folder: Path, tmp_path: Path, recipe_file: Any) -> None:
    from safetensors.numpy import save_file

    from citewell.text.analysis import terms as hashed
    from citewell.train.words import SPECIAL, VECTORS, word_tokenizer
    from citewell.train.words_base import from_base

    base = tmp_path / "base"
    base.mkdir()
    words = ["harbour", "harbours", "quokka"]
    word_tokenizer(words).save(str(base / "tokenizer.json"))
    vectors = np.zeros((len(SPECIAL) + 3, 2), np.float16)
    vectors[len(SPECIAL) :] = [[1, 0], [0, 1], [5, 5]]
    save_file({VECTORS: vectors}, base / "model.safetensors")
    made = from_base(base, data)
    assert made.hashes.tolist() == list(hashed("harbour")), "no set has quokkas"
    assert made.vectors[1] == pytest.approx(np.array([7, 6]) / 13, abs=1e-3), "the frequent form counts more"
    recipe = load_recipe(str(recipe_file("semiser")))
    assert isinstance(recipe, EvidenceRecipe)
    from citewell.train.from_evidence import train

    train(msgspec.structs.replace(recipe, base=str(base)), [set_folder], tmp_path / "out", device="cpu")
    assert WordVectors.load(tmp_path / "out").vectors.shape == (2, 2)
    with pytest.raises(CitewellError, match="is not a base of words"):
        from_base(tmp_path, data)


def test_sets_without_evidence_add_their_texts(set_folder: Path, tmp_path: Path, data: SentenceData) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "set.toml").write_text('name = "other"\ntasks = ["paragraph"]\ntrain_until = 2018\ndev = [2019]\ntest = [2020]\n')
    papers = [
        {"id": "a", "title": "Quokkas", "abstract": "Quokkas smile. They hop.", "year": 2017},
        {"id": "b", "title": "Only a title", "year": 2017},
        {"id": "c", "title": "Late quolls", "abstract": "Quolls bite.", "year": 2020},
    ]
    (other / "papers.jsonl").write_text("".join(json.dumps(paper) + "\n" for paper in papers))
    (other / "distractors.jsonl").write_text(json.dumps({"id": "d", "title": "Numbats", "abstract": "Numbats dig."}) + "\n")
    paragraph = {"cited": ["b"], "topic_sentence": "Wombats burrow.", "text": "Bilbies too OTHERCIT ."}
    lines = [{"id": name, "citing": name, **paragraph} for name in ("a", "c")]
    (other / "paragraphs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    sampling = QuerySampling(depth=10, samples={}, seed=0)
    with pytest.raises(CitewellError, match="has no task 'evidence'"):
        load_or_collect(tmp_path / "strict.npz", [set_folder, other], sampling)
    both = load_or_collect(tmp_path / "both.npz", [set_folder, other], sampling, texts=True)
    more = range(len(data.paper_at) - 1, len(both.paper_at) - 1)
    assert [len(both.sentences(paper)) for paper in more] == [3, 2, 2, 3], "a, c, the distractor, and the paragraph of a"
    assert both.sets == data.sets and both.figures() == data.figures()
    spelled = {int(both.hashes[word]) for word in both.words[both.sentence_at[both.paper_at[len(data.paper_at) - 1]] :]}
    from citewell.text.analysis import terms as hashed

    assert set(hashed("quokkas smile wombats bilbies numbats quolls")) <= spelled
    assert spelled.isdisjoint(hashed("othercit"))
