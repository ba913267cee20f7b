"""Packing: everything that a neural model is trained on, tokenised once, as arrays in one file.

The texts of papers, contexts and queries are concatenated; papers and queries refer to them by row. So training needs neither a
tokeniser nor a library, and can run on a machine that has only numpy and torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from citewell.models.inputs import Inputs, TokenReader, window_start
from citewell.train.packs import EMPTY, FOREVER, SPLITS, TASKS, Arrays
from citewell.train.pairs import Source

if TYPE_CHECKING:
    from citewell.evaluate.queries import JudgedQuery

_TEXT_BATCH = 20_000


class _Texts:
    """Texts by row, without duplicates."""

    def __init__(self, reader: TokenReader) -> None:
        self._reader = reader
        self._rows: dict[tuple[str, int], int] = {("", 0): EMPTY}

    def row(self, text: str, size: int) -> int:
        """The row of a text, of which `size` tokens are kept, around the gap if it has one."""
        return self._rows.setdefault((text, size), len(self._rows)) if text else EMPTY

    def arrays(self) -> Arrays:
        """All tokens, the start of each text, and the position of its gap."""
        texts = list(self._rows)
        parts, places, mask = [], np.zeros(len(texts), np.int16), self._reader.mask
        lengths = np.zeros(len(texts), np.int64)
        for start in range(0, len(texts), _TEXT_BATCH):
            batch = texts[start : start + _TEXT_BATCH]
            for at, (tokens, (_, size)) in enumerate(zip(self._reader.tokens([text for text, _ in batch]), batch, strict=True)):
                place = tokens.index(mask) if mask in tokens else 0
                first = window_start(place, len(tokens), size)
                window = np.array(tokens[first : first + size], np.uint16)
                parts.append(window)
                lengths[start + at] = len(window)
                places[start + at] = place - first if len(window) else 0
        starts = np.concatenate([[0], np.cumsum(lengths)])
        return {"tokens": np.concatenate(parts) if parts else np.zeros(0, np.uint16), "text_at": starts, "text_gap": places}


def pack(sources: Sequence[Source], reader: TokenReader, inputs: Inputs) -> Arrays:
    """The arrays of a pack."""
    texts = _Texts(reader)
    prefixes = [texts.row(f"{task}:", inputs.topic) for task in TASKS]
    papers, queries = _Rows(), _Rows()
    contexts: list[tuple[int, int, int]] = []
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
            contexts += [(first + number, year, texts.row(text, inputs.context)) for number in cited]
        for title, abstract in source.abstracts:
            _add_abstract(title, abstract, place, texts, inputs, papers, queries)
        _references(source, first, cites)
        for split, by_task in source.queries.items():
            for task, judged_queries in by_task.items():
                for judged in judged_queries:
                    _add_query(judged, task, split, source, first, place, texts, inputs, papers, queries)
    return {
        **texts.arrays(),
        "special": np.array(reader.special[:3], np.int32),
        "context_characters": np.array(inputs.context_characters, np.int32),
        "context_mark": np.array(reader.context_mark, np.int32),
        "context_mark_name": np.array(inputs.context_mark),
        "prefixes": np.array(prefixes, np.int32),
        "sets": np.array([source.name for source in sources]),
        "train_until": np.array([source.train_until for source in sources], np.int32),
        **{f"paper_{name}": column for name, column in papers.columns().items()},
        **_contexts_by_paper(contexts, len(papers)),
        **{f"question_{name}": column for name, column in queries.columns().items()},
        "cites": np.unique(np.array([citing << 32 | cited for citing, cited in cites], np.int64)),
    }


class _Rows:
    """Columns that grow by rows; a column of lists becomes two, the concatenated lists and their starts."""

    def __init__(self) -> None:
        self._rows: list[dict[str, Any]] = []

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, **row: Any) -> int:
        self._rows.append(row)
        return len(self._rows) - 1

    def columns(self) -> Arrays:
        columns: Arrays = {}
        for name in self._rows[0] if self._rows else ():
            values = [row[name] for row in self._rows]
            if isinstance(values[0], list):
                columns[f"{name}_at"] = np.cumsum([0, *map(len, values)])
                values = [value for group in values for value in group]
            columns[name] = np.array(values, np.int32)
        return columns


def _add_query(
    judged: JudgedQuery,
    task: str,
    split: str,
    source: Source,
    first: int,
    place: int,
    texts: _Texts,
    inputs: Inputs,
    papers: _Rows,
    queries: _Rows,
) -> None:
    """Add a query, and if its sentences are labelled a second one whose relevant items are those sentences."""
    query = judged.query
    citing = source.number.get(judged.citing, -1)
    row = {
        "task": TASKS.index(task),
        "set": place,
        "split": SPLITS.index(split),
        "context": texts.row(inputs.gap_text(query.context), inputs.context)
        if task == "local"
        else texts.row(query.context, inputs.topic),
        "title": texts.row(query.title, inputs.paper),
        "abstract": texts.row(query.abstract, inputs.paper),
        "citing": first + citing if citing >= 0 else -1,
        "date": judged.date,
        "sentences": 0,
    }
    if relevant := sorted({first + source.number[name] for name in judged.relevant if name in source.number}):
        queries.add(**row, wanted=relevant)
    if sentences := [text for texts_ in judged.sentences.values() for text in texts_]:
        added = [
            papers.add(title=EMPTY, abstract=texts.row(text, inputs.paper), date=0, set=place, sentence=1) for text in sentences
        ]
        queries.add(**(row | {"sentences": 1}), wanted=added)


def _add_abstract(title: str, abstract: str, place: int, texts: _Texts, inputs: Inputs, papers: _Rows, queries: _Rows) -> None:
    """Add a title as a query whose relevant item is its abstract."""
    queries.add(
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


def _contexts_by_paper(contexts: Sequence[tuple[int, int, int]], papers: int) -> Arrays:
    """The cited contexts of each paper, earliest first."""
    ordered = np.array(sorted(contexts), np.int64).reshape(-1, 3)
    counts = np.bincount(ordered[:, 0], minlength=papers)
    return {
        "said_at": np.concatenate([[0], np.cumsum(counts)]),
        "said_year": ordered[:, 1].astype(np.int32),
        "said_text": ordered[:, 2].astype(np.int32),
    }


def _date(paper: Any) -> int:
    from citewell.evaluate.strict import when

    return when(paper)
