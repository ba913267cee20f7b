"""Training data of sentence rankers: evidence queries with BM25's candidates, and every paper as sentences of words.

Everything is in arrays in one file. A paper is its title, then its sentences, as a stage reads it. Words have ids; the
positions of stop words and punctuation between them are kept, so that key terms can be extracted later.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from citewell.collection.local import LocalCollection
from citewell.errors import CitewellError
from citewell.evaluate.by_date import runners_by_date
from citewell.evaluate.names import Names
from citewell.evaluate.queries import JudgedQuery, judged_queries, sampled
from citewell.evaluate.runner import Runner
from citewell.evaluate.set_libraries import SetLibraries
from citewell.evaluate.sets import DataSet
from citewell.evaluate.strict import Timeline
from citewell.library.library import Library
from citewell.pipeline.registry import pipeline
from citewell.progress import SILENT, Progress
from citewell.rerank.joint_snippets import title_and_sentences
from citewell.retrieve.bm25 import BM25
from citewell.text.analysis import Vocabulary
from citewell.text.sgrank import runs
from citewell.train.fingerprints import fingerprint
from citewell.train.packs import SPLITS, Arrays, load, save
from citewell.train.recipe import QuerySampling
from citewell.train.set_texts import documents
from citewell.types import Float32Array, Float64Array, IntArray

_ORIGIN = "made_of"
_PAPERS_AT_ONCE = 500


class SentenceData:
    """The arrays of a file, by query, paper and sentence."""

    def __init__(self, arrays: Arrays) -> None:
        self.arrays = arrays
        self.sets: list[str] = arrays["sets"].tolist()
        self.hashes: IntArray = arrays["hashes"]
        self.words: IntArray = arrays["words"].astype(np.int64)
        """The words of all sentences, concatenated."""
        self.sentence_at: IntArray = arrays["sentence_at"]
        self.paper_at: IntArray = arrays["paper_at"]
        """The first sentence of each paper, which is its title."""

    def queries(self, split: str, place: int | None = None) -> IntArray:
        """The queries of a split, of all sets or of one."""
        here = self.arrays["question_split"] == SPLITS.index(split)
        return np.flatnonzero(here if place is None else here & (self.arrays["question_set"] == place))

    def query_words(self, query: int) -> IntArray:
        """The words of a query."""
        return self._part("question_words", "question_at", query).astype(np.int64)

    def relevant(self, query: int) -> IntArray:
        """The relevant papers of a query."""
        return self._part("wanted", "wanted_at", query)

    def relevant_sentences(self, query: int) -> IntArray:
        """The relevant sentences of a query."""
        return self._part("marked", "marked_at", query)

    def candidates(self, query: int) -> tuple[IntArray, Float32Array]:
        """BM25's top papers for a query, and their scores."""
        there = self.arrays["candidates"][query] >= 0
        return self.arrays["candidates"][query][there], self.arrays["candidates_bm25"][query][there]

    def sentences(self, paper: int) -> range:
        """The sentences of a paper, title first."""
        return range(int(self.paper_at[paper]), int(self.paper_at[paper + 1]))

    def sentence(self, sentence: int) -> IntArray:
        """The words of a sentence."""
        return self.words[self.sentence_at[sentence] : self.sentence_at[sentence + 1]]

    def runs(self, sentences: Iterable[int], limit: int) -> list[list[int]]:
        """The first `limit` words of sentences, split at stop words and punctuation."""
        parts: list[list[int]] = []
        for sentence in sentences:
            first, after = int(self.sentence_at[sentence]), int(self.sentence_at[sentence + 1])
            cuts = np.flatnonzero(self.arrays["begins"][first:after])
            pieces = np.split(self.words[first : min(after, first + limit)], cuts)
            parts += [piece.tolist() for piece in pieces if len(piece)]
            limit -= min(after - first, limit)
            if not limit:
                break
        return parts

    @cached_property
    def papers_with(self) -> IntArray:
        """The number of papers with each word."""
        owners = np.repeat(np.arange(len(self.paper_at) - 1), np.diff(self.sentence_at[self.paper_at]))
        both = np.unique(self.words * (len(self.paper_at) - 1) + owners)
        return np.bincount(both // max(1, len(self.paper_at) - 1), minlength=len(self.hashes))

    def idf(self) -> Float64Array:
        """The idf of each word."""
        return np.asarray(np.log((len(self.paper_at)) / (self.papers_with + 1)), np.float64)

    def figures(self) -> dict[str, dict[str, int]]:
        """The number of train queries of each set, and of their relevant sentences."""
        figures = {}
        for place, name in enumerate(self.sets):
            queries = self.queries("train", place).tolist()
            figures[name] = {
                "evidence": len(queries),
                "evidence sentences": sum(len(self.relevant_sentences(at)) for at in queries),
            }
        return figures

    def _part(self, name: str, starts: str, at: int) -> IntArray:
        return self.arrays[name][self.arrays[starts][at] : self.arrays[starts][at + 1]]


def load_or_collect(
    path: Path,
    sets: Sequence[Path],
    sampling: QuerySampling,
    progress: Progress = SILENT,
    replace: bool = False,
    texts: bool = False,
) -> SentenceData:
    """The data at `path`, collected from the sets if it does not exist; `replace` allows replacing data of other sets.

    With `texts`, sets without evidence add their texts.
    """
    made_of: list[Any] = [[fingerprint(DataSet.open(folder).files()) for folder in sets], msgspec.to_builtins(sampling)]
    origin = json.dumps([*made_of, "texts"] if texts else made_of)
    if path.exists() and str((arrays := load(path))[_ORIGIN]) == origin:
        return SentenceData(arrays)
    if path.exists() and not replace:
        raise CitewellError(f"{path} was made from other sets or by another recipe; remove it, or name another file")
    arrays = collect(sets, sampling, progress, texts)
    path.parent.mkdir(parents=True, exist_ok=True)
    save({**arrays, _ORIGIN: np.array(origin)}, path)
    return SentenceData(arrays)


def collect(sets: Sequence[Path], sampling: QuerySampling, progress: Progress = SILENT, texts: bool = False) -> Arrays:
    """The arrays of the training data of some sets; with `texts`, sets without evidence add their texts."""
    if not sets:
        raise CitewellError("name the sets to train on: --set DIR")
    collector = _Collector()
    for folder in sets:
        dataset = DataSet.open(folder)
        if "evidence" not in dataset.tasks and texts:
            progress.start(f"reading {dataset.name}", unit="documents")
            collector.add_texts(dataset, progress)
            continue
        if "evidence" not in dataset.tasks:
            raise CitewellError(f"the set {dataset.name} has no task 'evidence', which this recipe needs; leave it out")
        by_split = {split: _sampled_queries(dataset, split, sampling) for split in SPLITS}
        split_of = {judged.id: split for split, part in by_split.items() for judged in part}
        queries = [judged for part in by_split.values() for judged in part]
        progress.start("collecting candidates", len(queries), "queries")
        libraries = SetLibraries(Timeline(dataset, dataset.undated_split("train")))
        for runner, group in runners_by_date(queries, libraries, [pipeline("bm25")]):
            collector.add(dataset, runner, group, split_of, sampling.depth, progress)
    arrays = collector.arrays(sampling.depth)
    if not (arrays["question_split"] == SPLITS.index("train")).any():
        raise CitewellError("the sets have no evidence query of the split 'train'; name others")
    return arrays


def _sampled_queries(dataset: DataSet, split: str, sampling: QuerySampling) -> list[JudgedQuery]:
    """The queries of a split; those of the train split are sampled by kind."""
    all_queries = judged_queries(Timeline(dataset, dataset.undated_split(split)), "evidence", needed=False)
    for judged in all_queries:
        judged.id = f"{split} {judged.id}"
    if split != "train":
        return all_queries
    kinds = dict.fromkeys(judged.kind for judged in all_queries)
    parts = [[judged for judged in all_queries if judged.kind == kind] for kind in kinds]
    samples = (sampled(part, sampling.samples.get(kind), sampling.seed) for kind, part in zip(kinds, parts, strict=True))
    return list(chain.from_iterable(samples))


class _Collector:
    """The data collected so far."""

    def __init__(self) -> None:
        self._vocabulary = Vocabulary()
        self._sets: list[str] = []
        self._words = array("i")
        self._begins = bytearray()
        self._sentence_at = array("q", [0])
        self._paper_at = array("q", [0])
        self._query_words: list[list[int]] = []
        self._of: list[tuple[int, int]] = []
        self._relevant: list[list[int]] = []
        self._relevant_sentences: list[list[int]] = []
        self._candidates: list[tuple[list[int], list[float]]] = []

    def add(
        self,
        dataset: DataSet,
        runner: Runner,
        group: Sequence[JudgedQuery],
        splits: dict[str, str],
        depth: int,
        progress: Progress,
    ) -> None:
        """Add the papers of a set's library, and BM25's candidates for its queries."""
        collection = runner.request(group[0]).collection
        assert isinstance(collection, LocalCollection)
        library = collection.library
        places = {}
        for num, texts in _texts(library):
            places[num] = len(self._paper_at) - 1
            self._paper(texts)
        self._sets.append(dataset.name)
        names = Names(library, dataset.naming())
        for judged in group:
            request = runner.request(judged)
            ranking = BM25(size=depth).retrieve(request)
            self._query_words.append([word for run in runs(request.query.text(), self._vocabulary) for word in run])
            self._of.append((len(self._sets) - 1, SPLITS.index(splits[judged.id])))
            self._relevant.append([places[num] for num in runner.relevant_papers(judged)])
            self._candidates.append(([places[num] for num in ranking.papers.tolist()], ranking.scores.tolist()))
            self._relevant_sentences.append(sorted(self._sentences(library, names, judged, places)))
            progress.advance()

    def add_texts(self, dataset: DataSet, progress: Progress) -> None:
        """Add the texts of a set without evidence."""
        for texts in documents(dataset):
            self._paper(texts)
            progress.advance()

    def _paper(self, texts: Sequence[str]) -> None:
        for text in texts:
            for run in runs(text, self._vocabulary):
                self._words.extend(run)
                self._begins += b"\1" + bytes(len(run) - 1)
            self._sentence_at.append(len(self._words))
        self._paper_at.append(len(self._sentence_at) - 1)

    def _sentences(self, library: Library, names: Names, judged: JudgedQuery, places: dict[int, int]) -> Iterator[int]:
        """The positions of the relevant sentences of a query."""
        for name, texts in judged.sentences.items():
            number = names.number(name)
            if number is not None:
                here = [sentence.text for sentence in library.store.sentences(number)]
                yield from {self._paper_at[places[number]] + 1 + here.index(text) for text in texts if text in here}

    def arrays(self, depth: int) -> Arrays:
        rows = np.full((len(self._query_words), depth), -1, np.int32)
        scores = np.zeros((len(self._query_words), depth), np.float32)
        for at, (papers, values) in enumerate(self._candidates):
            rows[at, : len(papers)], scores[at, : len(papers)] = papers, values
        return {
            "sets": np.array(self._sets),
            "hashes": np.array(self._vocabulary.hashes, np.int64),
            "words": np.array(self._words, np.int32),
            "begins": np.frombuffer(bytes(self._begins), bool),
            "sentence_at": np.array(self._sentence_at, np.int64),
            "paper_at": np.array(self._paper_at, np.int64),
            "question_set": np.array([place for place, _ in self._of], np.int32),
            "question_split": np.array([split for _, split in self._of], np.int32),
            "candidates": rows,
            "candidates_bm25": scores,
            **_flatten("question_words", "question_at", self._query_words, np.int32),
            **_flatten("wanted", "wanted_at", self._relevant, np.int64),
            **_flatten("marked", "marked_at", self._relevant_sentences, np.int64),
        }


def _texts(library: Library) -> Iterator[tuple[int, list[str]]]:
    listed = library.index.listed("own").tolist()
    for start in range(0, len(listed), _PAPERS_AT_ONCE):
        yield from title_and_sentences(LocalCollection(library), listed[start : start + _PAPERS_AT_ONCE]).items()


def _flatten(name: str, starts: str, rows: Sequence[Sequence[int]], kind: type[np.generic]) -> Arrays:
    """Rows in one array, and their starts."""
    return {name: np.array(list(chain.from_iterable(rows)), kind), starts: np.cumsum([0, *map(len, rows)])}
