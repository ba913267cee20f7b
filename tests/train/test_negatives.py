"""Which papers are held against the right ones, and which questions are trained on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from citewell.errors import CitewellError
from citewell.models.inputs import Inputs

torch = pytest.importorskip("torch")

Draws = Callable[..., Any]


@pytest.fixture(scope="module")
def arrays(packed: Path) -> Any:
    from citewell.train.packs import load

    return load(packed)


@pytest.fixture(scope="module")
def asking(arrays: Any) -> Any:
    from citewell.train.batches import Texts
    from citewell.train.pack_queries import Asking

    return Asking(arrays, Texts(arrays, Inputs(), torch.device("cpu")))


@pytest.fixture(scope="module")
def questions(arrays: Any) -> Any:
    """Every question of the train years that somebody dated."""
    return torch.from_numpy(np.flatnonzero((arrays["question_citing"] >= 0) & (arrays["question_split"] == 0)))


@pytest.fixture(scope="module")
def lists(arrays: Any, questions: Any) -> Any:
    """Of every other question a list: some papers that it may see, and for every fourth its answers."""
    from citewell.train.lists import Lists

    rows = torch.full((len(questions[::2]), 9), -1)
    for at, question in enumerate(questions[::2].tolist()):
        seen = [paper for paper in visible(arrays, question) if paper not in answers(arrays, question)][:5]
        found = seen + (answers(arrays, question) if at % 2 else [])
        rows[at, : len(found)] = torch.tensor(found)
    return Lists(questions[::2], rows)


@pytest.fixture(scope="module")
def make(arrays: Any, asking: Any, lists: Any) -> Draws:
    from citewell.train.negatives import Choice, Negatives

    def made(**choice: Any) -> Any:
        return Negatives(arrays, asking, Choice(**choice), lists)

    return made


def answers(arrays: Any, question: int) -> list[int]:
    starts = arrays["question_wanted_at"]
    found: list[int] = arrays["question_wanted"][starts[question] : starts[question + 1]].tolist()
    return found


def visible(arrays: Any, question: int) -> list[int]:
    there = (arrays["paper_date"] > 0) & (arrays["paper_date"] <= arrays["question_date"][question])
    there &= arrays["paper_sentence"] == 0
    return [paper for paper in np.flatnonzero(there).tolist() if paper != arrays["question_citing"][question]]


def links(arrays: Any, before: int) -> list[tuple[int, int]]:
    """Citing and cited of the papers of earlier years."""
    both = ((int(key) >> 32, int(key) & 0xFFFFFFFF) for key in arrays["cites"])
    return [(citing, cited) for citing, cited in both if 0 < arrays["paper_date"][citing] // 10_000 < before]


def expected_hard(arrays: Any, lists: Any, strategy: str, question: int) -> set[int]:
    """The obvious twin of each strategy."""
    year = int(arrays["question_date"][question]) // 10_000
    known = links(arrays, year)
    if strategy == "random":
        return set()
    if strategy == "prefiltered":
        return set(lists.of(torch.tensor([question]))[0].tolist()) - {-1}
    if strategy == "cited":
        return {cited for _, cited in known}
    if strategy == "most citations":
        times = sorted((-sum(cited == paper for _, cited in known), paper) for paper in {cited for _, cited in known})
        return {paper for count, paper in times if len(times) <= 5 or count <= times[4][0]}
    citing = int(arrays["question_citing"][question])
    first = {int(key) & 0xFFFFFFFF for key in arrays["cites"] if int(key) >> 32 == citing}
    second = {cited for start, cited in known if start in first} - first
    third = {cited for start, cited in known if start in second} - first - second
    return second | third


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("strategy", ["random", "prefiltered", "graph", "most citations", "cited"])
def test_every_strategy_draws_only_what_it_says(
    arrays: Any, lists: Any, questions: Any, make: Draws, strategy: str, alone: bool
) -> None:
    if alone and strategy == "random":
        with pytest.raises(CitewellError, match="no hard ones"):
            make(strategy=strategy, alone=True)
        return
    torch.manual_seed(1)
    found = make(strategy=strategy, alone=alone, first_stage="some", most=5).draw(questions, 6)
    of_hard = 0
    for question, row in zip(questions.tolist(), found.tolist(), strict=True):
        drawn = [paper for paper in row if paper >= 0]
        assert len(set(drawn)) == len(drawn)
        seen = set(visible(arrays, question)) - set(answers(arrays, question))
        assert set(drawn) <= seen, "no answer, not the citing paper, nothing from the future"
        hard = expected_hard(arrays, lists, strategy, question) & seen
        count = len(set(drawn) & hard)
        if strategy != "most citations":  # where several papers are cited alike, any of them may be among the most cited
            wanted = min(len(hard), 6 if alone else 3)
            assert count == wanted
            assert len(drawn) == (wanted if alone else min(6, wanted + len(seen - hard)))
        assert not alone or set(drawn) <= hard
        of_hard += count
    assert of_hard or strategy == "random"


def test_a_paper_that_is_cited_only_later_is_not_cited_yet(arrays: Any, questions: Any, make: Draws) -> None:
    negatives = make(strategy="cited")
    cited = negatives.cited(questions)
    first = questions.tolist()[0]
    later = {paper for _, paper in links(arrays, 3000)} - {paper for _, paper in links(arrays, 2017)}
    of_2017 = [row for row, question in enumerate(questions.tolist()) if arrays["question_date"][question] < 2018_0000]
    assert first >= 0 and later and of_2017
    assert not cited[of_2017][:, sorted(later)].any()


def test_the_strict_regime_keeps_the_pairs_that_the_first_stage_found(arrays: Any, lists: Any, questions: Any) -> None:
    from citewell.train.negatives import pairs

    asked, right = pairs(arrays, questions)
    everything = [(question, paper) for question in questions.tolist() for paper in answers(arrays, question)]
    assert list(zip(asked.tolist(), right.tolist(), strict=True)) == everything
    strict = pairs(arrays, questions, "strict", lists)
    expected = [(q, p) for q, p in everything if p in lists.of(torch.tensor([q]))[0].tolist()]
    assert list(zip(*(part.tolist() for part in strict), strict=True)) == expected
    assert 0 < len(expected) < len(everything)


def test_choices_that_cannot_be_are_refused() -> None:
    from citewell.train.negatives import Choice

    for wrong, said in (
        ({"strategy": "near"}, "there are random, prefiltered"),
        ({"regime": "lax"}, "standard, strict"),
        ({"strategy": "prefiltered"}, "need a first stage"),
        ({"regime": "strict"}, "need a first stage"),
    ):
        with pytest.raises(CitewellError, match=said):
            Choice(**wrong).check()


def test_lists_of_questions_that_have_none_are_empty(lists: Any, questions: Any) -> None:
    assert lists.known(questions).tolist() == [at % 2 == 0 for at in range(len(questions))]
    assert (lists.of(questions)[1::2] == -1).all() and (lists.of(questions)[::2, 0] >= 0).all()


def test_a_first_stage_is_asked_as_an_evaluation_asks(
    packed: Path, arrays: Any, set_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import shutil

    from citewell.evaluate.evaluation import Evaluation
    from citewell.train import prefilter as module
    from citewell.train.lists import Lists
    from citewell.train.packs import TASKS

    pack = Path(shutil.copy(packed, tmp_path / "pack.npz"))
    path = module.prefilter(pack, [set_folder], "local", "bm25", depth=15)
    lists = Lists.read(pack, arrays, "bm25", torch.device("cpu"))
    local = np.flatnonzero(arrays["question_task"] == TASKS.index("local"))
    assert lists.questions.tolist() == local.tolist() and path == tmp_path / "pack.bm25.npz"
    for question, row in zip(local.tolist(), lists.papers.tolist(), strict=True):
        found = [paper for paper in row if paper >= 0]
        assert set(found) <= set(visible(arrays, question)) and row[: len(found)] == found
        assert len(found) == len(set(found)) >= 10

    class Listener:
        """Keeps what the bench got for the dev questions."""

        def __init__(self) -> None:
            self.found: list[list[str]] = []

        def answers(self, wanted: Any) -> None: ...

        def rankings(self, system: str, runs: Any) -> None:
            self.found += [list(run)[:15] for run in runs[""].values()]

    listener = Listener()
    Evaluation(set_folder, "local", "dev").report(["bm25"], listener=listener)
    from citewell.evaluate.sets import DataSet

    names = [paper.id for paper in DataSet.open(set_folder).papers()]
    dev = [at for at, question in enumerate(local.tolist()) if arrays["question_split"][question] == 1]
    ours = [[names[paper] for paper in row if paper >= 0] for row in lists.papers[dev].tolist()]
    assert sorted(ours) == sorted(listener.found)

    def refuse(*given: Any, **named: Any) -> Any:
        raise AssertionError("what was found is not looked for again")

    monkeypatch.setattr(module, "SetLibraries", refuse)
    assert module.prefilter(pack, [set_folder], "local", "bm25", depth=15) == path
