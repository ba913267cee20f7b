"""Which papers a question may see, and which may be held against it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from citewell.models.inputs import Inputs

torch = pytest.importorskip("torch")


@pytest.fixture
def training(packed: Path, base: Path, recipes_of: Callable[[str], dict[str, Any]]) -> Any:
    from citewell.train.encoder import Numbers, Training, numbers_of
    from citewell.train.packs import load

    recipe = recipes_of("encoder")
    numbers = numbers_of(Numbers, recipe, "numbers")
    return Training(load(packed), base, numbers, Inputs(**recipe["inputs"]), torch.device("cpu"))


def answers(training: Any, question: int) -> set[int]:
    starts = training.arrays["question_wanted_at"]
    return set(training.arrays["question_wanted"][starts[question] : starts[question + 1]].tolist())


def cited(training: Any, paper: int) -> set[int]:
    return {key & 0xFFFFFFFF for key in training.arrays["cites"].tolist() if key >> 32 == paper}


def test_mined_papers_are_wrong_and_not_from_the_future(training: Any) -> None:
    assert training.mine()["mined"] > 0
    asked = training.arrays
    for known, wrong in training._hard.values():
        assert len(known) and wrong.shape[1] == training.numbers.mined
        for question, papers in zip(known.tolist(), wrong.tolist(), strict=True):
            assert len(set(papers)) == len(papers)
            citing = int(asked["question_citing"][question])
            assert not set(papers) & (answers(training, question) | {citing, -1})
            assert citing < 0 or not set(papers) & cited(training, citing)
            assert all(asked["paper_date"][paper] <= asked["question_date"][question] for paper in papers)
            assert {int(asked["paper_set"][paper]) for paper in papers} == {int(asked["question_set"][question])}


def test_candidates_hold_an_answer_and_nothing_that_may_be_one(training: Any) -> None:
    assert training.mine(answers=True)["mined"] > 0
    for known, found in training._hard.values():
        for question, papers in zip(known.tolist(), found.tolist(), strict=True):
            citing = int(training.arrays["question_citing"][question])
            right = set(papers) & answers(training, question)
            assert right, "one whose answers are not found teaches nothing"
            assert citing < 0 or not (set(papers) - right) & cited(training, citing)


def test_a_question_that_has_too_few_wrong_papers_gets_none(training: Any) -> None:
    object.__setattr__(training.numbers, "mined", 23)  # of 2016 and 2017 there are 24 papers, some of which are right
    training.mine()
    dates = training.asking.date
    for known, wrong in training._hard.values():
        assert (wrong >= 0).all()
        assert (dates[known] // 10_000 >= 2018).all()


def test_the_best_are_by_score_and_the_rest_of_a_row_is_empty(training: Any) -> None:
    asking = training.asking
    group = next(group for group in asking.groups("dev") if group.name(training.arrays) == "small local")
    pool = asking.pool(group.set, group.sentences)
    vectors, asked = torch.randn(len(pool), 4), torch.randn(len(group.questions), 4)
    found = torch.cat(list(asking.best(group.questions, pool, vectors, lambda some: asked[: len(some)], len(pool))))
    for row, question in enumerate(group.questions.tolist()):
        date, citing = int(asking.date[question]), int(asking.citing[question])
        seen = [paper for paper in pool.tolist() if 0 < asking.paper_date[paper] <= date and paper != citing]
        scores = dict(zip(pool.tolist(), (vectors @ asked[row]).tolist(), strict=True))
        expected = sorted(seen, key=lambda paper: -scores[paper])
        assert found[row].tolist() == expected + [-1] * (len(pool) - len(seen))


def test_papers_that_may_answer_are_hidden_in_a_batch(training: Any) -> None:
    for _ in range(10):
        questions, papers, _, _, hidden = training.drawn_batch()
        for row, question in enumerate(questions.tolist()):
            citing = int(training.asking.citing[question])
            right = answers(training, question) | (cited(training, citing) | {citing} if citing >= 0 else set())
            assert papers[row].item() in answers(training, question) and not hidden[row, row]
            others = [column for column, paper in enumerate(papers.tolist()) if paper in right and column != row]
            assert sorted(others) == torch.nonzero(hidden[row]).flatten().tolist()


def test_every_question_is_in_one_group_of_its_split(training: Any) -> None:
    for split, number in (("train", 0), ("dev", 1)):
        groups = training.asking.groups(split)
        found = torch.cat([group.questions for group in groups]).sort().values.tolist()
        assert found == [at for at, each in enumerate(training.arrays["question_split"].tolist()) if each == number]
        assert sum(group.pairs for group in groups) == sum(len(answers(training, question)) for question in found)
    names = {group.name(training.arrays) for group in training.groups}
    assert {"small global", "small local", "small paragraph", "small evidence", "small evidence sentences"} == names


def test_what_dev_measures_is_recall_and_the_first_right_rank(training: Any) -> None:
    asking = training.asking
    group = next(group for group in asking.groups("dev") if group.name(training.arrays) == "small global")
    pool = asking.pool(group.set, group.sentences)
    perfect = torch.stack([asking.answers(group.questions, pool.expand(len(group.questions), -1)).float()])[0]
    place = {question: at for at, question in enumerate(group.questions.tolist())}

    def ask(some: Any) -> Any:
        return torch.eye(len(place))[[place[question] for question in some.tolist()]]

    measured = asking.measure(group, pool, perfect.T, ask, 1000)
    assert measured == {"R@10": 1.0, "RR": 1.0, "queries": len(group.questions)}
    assert asking.measure(group, pool, -perfect.T, ask, 1000)["RR"] < 0.1
