"""A pack: everything that a neural model is trained on, tokenised once, as plain arrays in one file.

The texts of papers, contexts and questions stand behind one another; papers and questions name theirs by row. So training needs
neither a tokeniser nor a library: only numpy, torch and the pack, and can run on a machine that has nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from citewell.models.inputs import Inputs, Reader, window_start
from citewell.train.packs import EMPTY, FOREVER, SPLITS, TASKS, Arrays
from citewell.train.pairs import Source

if TYPE_CHECKING:
    from citewell.evaluate.queries import JudgedQuery

_AT_ONCE = 20_000


class _Texts:
    """Texts by row, each once."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._rows: dict[tuple[str, int], int] = {("", 0): EMPTY}

    def row(self, text: str, size: int) -> int:
        """The row of a text of which `size` tokens are kept, those round the gap where it has one."""
        return self._rows.setdefault((text, size), len(self._rows)) if text else EMPTY

    def arrays(self) -> Arrays:
        """All tokens, where each text's begin, and the place of its gap."""
        wanted = list(self._rows)
        parts, places, mask = [], np.zeros(len(wanted), np.int16), self._reader.mask
        lengths = np.zeros(len(wanted), np.int64)
        for start in range(0, len(wanted), _AT_ONCE):
            some = wanted[start : start + _AT_ONCE]
            for at, (tokens, (_, size)) in enumerate(zip(self._reader.tokens([text for text, _ in some]), some, strict=True)):
                place = tokens.index(mask) if mask in tokens else 0
                first = window_start(place, len(tokens), size)
                kept = np.array(tokens[first : first + size], np.uint16)
                parts.append(kept)
                lengths[start + at] = len(kept)
                places[start + at] = place - first if len(kept) else 0
        starts = np.concatenate([[0], np.cumsum(lengths)])
        return {"tokens": np.concatenate(parts) if parts else np.zeros(0, np.uint16), "text_at": starts, "text_gap": places}


def pack(sources: Sequence[Source], reader: Reader, inputs: Inputs) -> Arrays:
    """The arrays of a pack."""
    texts = _Texts(reader)
    prefixes = [texts.row(f"{task}:", inputs.topic) for task in TASKS]
    papers, asked = _Rows(), _Rows()
    said: list[tuple[int, int, int]] = []
    cites: list[tuple[int, int]] = []
    for place, source in enumerate(sources):
        first = len(papers)
        for paper in source.papers:
            papers.add(
                title=texts.row(paper.title, inputs.paper),
                abstract=texts.row(paper.abstract, inputs.paper),
                date=_date(paper),
                set=place,
                sentence=0,
            )
        for text, year, cited in source.contexts:
            said += [(first + number, year, texts.row(text, inputs.context)) for number in cited]
        for title, abstract in source.abstracts:
            _ask_for_abstract(title, abstract, place, texts, inputs, papers, asked)
        _references(source, first, cites)
        for split, by_task in source.questions.items():
            for task, questions in by_task.items():
                for question in questions:
                    _ask(question, task, split, source, first, place, texts, inputs, papers, asked)
    return {
        **texts.arrays(),
        "prefixes": np.array(prefixes, np.int32),
        "sets": np.array([source.name for source in sources]),
        "train_until": np.array([source.train_until for source in sources], np.int32),
        **{f"paper_{name}": column for name, column in papers.columns().items()},
        **_said_by_paper(said, len(papers)),
        **{f"question_{name}": column for name, column in asked.columns().items()},
        "cites": np.unique(np.array([citing << 32 | cited for citing, cited in cites], np.int64)),
    }


class _Rows:
    """Columns that grow by a row at a time; a list in a row becomes two columns, all lists in a row and where each begins."""

    def __init__(self) -> None:
        self._rows: list[dict[str, Any]] = []

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, **row: Any) -> int:
        self._rows.append(row)
        return len(self._rows) - 1

    def columns(self) -> Arrays:
        found: Arrays = {}
        for name in self._rows[0] if self._rows else ():
            values = [row[name] for row in self._rows]
            if isinstance(values[0], list):
                found[f"{name}_at"] = np.cumsum([0, *map(len, values)])
                values = [each for some in values for each in some]
            found[name] = np.array(values, np.int32)
        return found


def _ask(
    question: JudgedQuery,
    task: str,
    split: str,
    source: Source,
    first: int,
    place: int,
    texts: _Texts,
    inputs: Inputs,
    papers: _Rows,
    asked: _Rows,
) -> None:
    """A question, and where sentences are marked a second one, whose answers are those sentences."""
    query = question.query
    citing = source.number.get(question.citing, -1)
    row = {
        "task": TASKS.index(task),
        "set": place,
        "split": SPLITS.index(split),
        "context": texts.row(query.context, inputs.context if task == "local" else inputs.topic),
        "title": texts.row(query.title, inputs.paper),
        "abstract": texts.row(query.abstract, inputs.paper),
        "citing": first + citing if citing >= 0 else -1,
        "date": question.date,
        "sentences": 0,
    }
    if wanted := sorted({first + source.number[name] for name in question.relevant if name in source.number}):
        asked.add(**row, wanted=wanted)
    if sentences := [text for marked in question.sentences.values() for text in marked]:
        new = [
            papers.add(title=EMPTY, abstract=texts.row(text, inputs.paper), date=0, set=place, sentence=1) for text in sentences
        ]
        asked.add(**(row | {"sentences": 1}), wanted=new)


def _ask_for_abstract(
    title: str, abstract: str, place: int, texts: _Texts, inputs: Inputs, papers: _Rows, asked: _Rows
) -> None:
    """A title as a question whose answer is its abstract."""
    asked.add(
        task=TASKS.index("evidence"),
        set=place,
        split=SPLITS.index("train"),
        context=texts.row(title, inputs.topic),
        title=EMPTY,
        abstract=EMPTY,
        citing=-1,
        date=FOREVER,
        sentences=1,
        wanted=[papers.add(title=EMPTY, abstract=texts.row(abstract, inputs.paper // 2), date=0, set=place, sentence=1)],
    )


def _references(source: Source, first: int, cites: list[tuple[int, int]]) -> None:
    for at, paper in enumerate(source.papers):
        names = (name for reference in paper.references for name in reference.ids)
        cites += [(first + at, first + source.number[name]) for name in names if name in source.number]


def _said_by_paper(said: Sequence[tuple[int, int, int]], papers: int) -> Arrays:
    """What is said of each paper, the earliest first."""
    ordered = np.array(sorted(said), np.int64).reshape(-1, 3)
    counts = np.bincount(ordered[:, 0], minlength=papers)
    return {
        "said_at": np.concatenate([[0], np.cumsum(counts)]),
        "said_year": ordered[:, 1].astype(np.int32),
        "said_text": ordered[:, 2].astype(np.int32),
    }


def _date(paper: Any) -> int:
    from citewell.evaluate.strict import when

    return when(paper)
