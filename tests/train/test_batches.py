"""Texts that are put together on the device, token for token against those that are read one by one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from citewell.models.inputs import Inputs, PaperText, Reader
from tests.evaluate.small_set import small_set

torch = pytest.importorskip("torch")
tokenizers = pytest.importorskip("tokenizers")

INPUTS = Inputs(query=48, context=24, topic=14, title=8, paper=64, paper_title=8, contexts=3, window=10)
LONG = "the harbour pilot reads the tide table before every voyage " * 30


@pytest.fixture(scope="module")
def reader(minilm: Path) -> Reader:
    tokenizer = tokenizers.Tokenizer.from_file(str(minilm / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return Reader(tokenizer, INPUTS)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory):  # type: ignore[no-untyped-def]
    """Papers with more contexts than fit, without abstract, without title, with long texts; long questions."""
    from citewell.train.pairs import read_source

    made = small_set()
    made.papers[0] |= {"title": LONG, "abstract": LONG}
    made.papers[1] |= {"abstract": ""}
    made.papers[2] |= {"title": "", "abstract": "only an abstract"}
    made.papers[40] |= {"abstract": LONG}
    for number in range(9):
        text = f"{LONG[: 40 * number]} number {number} TARGETCIT {LONG[: 300 - 30 * number]}"
        made.contexts.append({"id": f"x{number}", "citing": "p2018-3", "cited": ["p2016-0"], "text": text, "section": ""})
    made.contexts.append({"id": "y", "citing": "p2018-3", "cited": ["p2016-0"], "text": f"no gap here {LONG}", "section": ""})
    for number, paper in enumerate(made.papers[30:36]):
        topic = LONG if number == 1 else paper["title"]
        made.paragraphs.append(
            {"id": f"t{number}", "citing": paper["id"], "cited": paper["references"], "topic_sentence": topic}
        )
    return read_source(made.write(tmp_path_factory.mktemp("twin")))


def shown(tokens, row: int) -> list[int]:  # type: ignore[no-untyped-def]
    found: list[int] = tokens.ids[row][tokens.mask[row]].tolist()
    return found


def test_questions_are_laid_out_as_the_reader_does(source, reader: Reader) -> None:  # type: ignore[no-untyped-def]
    from citewell.train.batches import Texts
    from citewell.train.packing import pack

    texts = Texts(pack([source], reader, INPUTS), INPUTS, torch.device("cpu"))
    asked = [
        question
        for by_task in source.questions.values()
        for questions in by_task.values()
        for question in questions
        for _ in range(2 if question.sentences else 1)
        if any(name in source.number for name in question.wanted)
    ]
    assert {question.query.task for question in asked} == {"global", "local", "paragraph", "evidence"}
    made = texts.questions(torch.arange(len(asked)))
    for row, question in enumerate(asked):
        assert shown(made, row) == reader.query(question.query)


@pytest.mark.parametrize("before", [0, 2017, 2018, 2019])
@pytest.mark.parametrize("contexts", [0, 1, 3])
def test_papers_are_laid_out_as_the_reader_does(  # type: ignore[no-untyped-def]
    source, reader: Reader, minilm: Path, before: int, contexts: int
) -> None:
    from citewell.train.batches import Texts
    from citewell.train.packing import pack

    inputs = replace(INPUTS, contexts=contexts)
    twin = Reader(reader._tokenizer, inputs)
    texts = Texts(pack([source], twin, inputs), inputs, torch.device("cpu"))
    said: list[list[tuple[int, str]]] = [[] for _ in source.papers]
    first: dict[str, int] = {}
    for text, year, cited in source.contexts:
        first.setdefault(text, len(first))
        for paper in cited:
            said[paper].append((year, text))
    numbers = torch.arange(len(source.papers))
    made = texts.papers(numbers, torch.full_like(numbers, before))
    for row, paper in enumerate(source.papers):
        told = sorted((pair for pair in said[row] if pair[0] < before), key=lambda pair: (pair[0], first[pair[1]]))
        expected = twin.papers([PaperText(paper.title, paper.abstract, [text for _, text in told])])[0]
        assert shown(made, row) == expected
    if before == 2019 and contexts == 3:
        assert max(map(len, said)) > 3 and len(shown(made, 0)) == INPUTS.paper


def test_contexts_that_are_drawn_come_from_earlier_years_in_the_order_of_time(source, reader: Reader) -> None:  # type: ignore[no-untyped-def]
    from citewell.train.batches import Texts
    from citewell.train.packing import pack

    arrays = pack([source], reader, INPUTS)
    texts = Texts(arrays, INPUTS, torch.device("cpu"))
    numbers = torch.arange(len(source.papers)).repeat(20)
    for before in (2016, 2017, 2018, 2019):
        rows = texts.said(numbers, torch.full_like(numbers, before), drawn=True)
        for paper, row in zip(numbers.tolist(), rows.tolist(), strict=True):
            place = slice(arrays["said_at"][paper], arrays["said_at"][paper + 1])
            years = dict(zip(arrays["said_text"][place].tolist(), arrays["said_year"][place].tolist(), strict=True))
            told = [text for text in row if text]
            assert all(years[text] < before for text in told)
            assert told == sorted(told, key=lambda text: years[text]) and len(set(told)) == len(told)
            assert len(told) == min(INPUTS.contexts, sum(year < before for year in years.values()))
