"""Questions of sets with BM25's candidates, and every paper as sentences of words: what models that rank sentences learn from.

All is kept as plain arrays in one file. A paper is its title, then its sentences, as a stage reads it; words have numbers, and
it is known where a stop word or a punctuation mark stood between two of them, so that key terms can be told later.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from citewell.collection.local import LocalCollection
from citewell.errors import CitewellError
from citewell.evaluate.by_date import runners_by_date
from citewell.evaluate.names import Names
from citewell.evaluate.outcomes import Watcher
from citewell.evaluate.queries import JudgedQuery, judged_queries, sampled
from citewell.evaluate.runner import Runner
from citewell.evaluate.set_libraries import SetLibraries
from citewell.evaluate.sets import DataSet
from citewell.evaluate.strict import Timeline
from citewell.library.add import Progress
from citewell.library.library import Library
from citewell.pipeline.registry import pipeline
from citewell.rerank.joint_snippets import title_and_sentences
from citewell.retrieve.bm25 import BM25
from citewell.text.analysis import Vocabulary
from citewell.text.sgrank import runs
from citewell.train.fingerprints import digest
from citewell.train.packs import SPLITS, Arrays, load, save
from citewell.train.recipe import Asking

_MADE_OF = "made_of"
_PAPERS_AT_ONCE = 500

Numbers = npt.NDArray[np.int64]


class Lessons:
    """The arrays of a file, by question, paper and sentence."""

    def __init__(self, arrays: Arrays) -> None:
        self.arrays = arrays
        self.sets: list[str] = arrays["sets"].tolist()
        self.hashes: Numbers = arrays["hashes"]
        self.words: Numbers = arrays["words"].astype(np.int64)
        """Those of all sentences, one after the other."""
        self.sentence_at: Numbers = arrays["sentence_at"]
        self.paper_at: Numbers = arrays["paper_at"]
        """The first sentence of each paper, its title."""

    def questions(self, split: str, place: int | None = None) -> Numbers:
        """The questions of a split, of all sets or of one."""
        here = self.arrays["question_split"] == SPLITS.index(split)
        return np.flatnonzero(here if place is None else here & (self.arrays["question_set"] == place))

    def asked(self, question: int) -> Numbers:
        """The words of a question."""
        return self._part("question_words", "question_at", question).astype(np.int64)

    def wanted(self, question: int) -> Numbers:
        """The papers that answer a question."""
        return self._part("wanted", "wanted_at", question)

    def marked(self, question: int) -> Numbers:
        """The sentences that answer a question."""
        return self._part("marked", "marked_at", question)

    def candidates(self, question: int) -> tuple[Numbers, npt.NDArray[np.float32]]:
        """BM25's best papers for a question, and its scores of them."""
        there = self.arrays["candidates"][question] >= 0
        return self.arrays["candidates"][question][there], self.arrays["candidates_bm25"][question][there]

    def sentences(self, paper: int) -> range:
        """The sentences of a paper, its title first."""
        return range(int(self.paper_at[paper]), int(self.paper_at[paper + 1]))

    def sentence(self, sentence: int) -> Numbers:
        """The words of a sentence."""
        return self.words[self.sentence_at[sentence] : self.sentence_at[sentence + 1]]

    def runs(self, sentences: Iterable[int], most: int) -> list[list[int]]:
        """Of the words of sentences the first ones, cut where a stop word or a punctuation mark stood."""
        found: list[list[int]] = []
        for sentence in sentences:
            first, after = int(self.sentence_at[sentence]), int(self.sentence_at[sentence + 1])
            cuts = np.flatnonzero(self.arrays["begins"][first:after])
            parts = np.split(self.words[first : min(after, first + most)], cuts)
            found += [part.tolist() for part in parts if len(part)]
            most -= min(after - first, most)
            if not most:
                break
        return found

    @cached_property
    def papers_with(self) -> Numbers:
        """In how many papers each word is."""
        owners = np.repeat(np.arange(len(self.paper_at) - 1), np.diff(self.sentence_at[self.paper_at]))
        both = np.unique(self.words * (len(self.paper_at) - 1) + owners)
        return np.bincount(both // max(1, len(self.paper_at) - 1), minlength=len(self.hashes))

    def rarity(self) -> npt.NDArray[np.float64]:
        """The idf of each word."""
        return np.asarray(np.log((len(self.paper_at)) / (self.papers_with + 1)), np.float64)

    def figures(self) -> dict[str, dict[str, int]]:
        """Of each set how many questions there are to train on, and how many sentences are marked in their answers."""
        found = {}
        for place, name in enumerate(self.sets):
            asked = self.questions("train", place).tolist()
            found[name] = {"evidence": len(asked), "evidence sentences": sum(len(self.marked(at)) for at in asked)}
        return found

    def _part(self, name: str, starts: str, at: int) -> Numbers:
        return self.arrays[name][self.arrays[starts][at] : self.arrays[starts][at + 1]]


def lessons_at(
    path: Path,
    sets: Sequence[Path],
    asking: Asking,
    progress: Progress | None = None,
    watcher: Watcher | None = None,
    ours: bool = False,
) -> Lessons:
    """The lessons of a file, made of the sets if there is none yet; one that was made of others is replaced if it is `ours`."""
    made_of = json.dumps([[digest(DataSet.open(folder).files()) for folder in sets], msgspec.to_builtins(asking)])
    if path.exists() and str((arrays := load(path))[_MADE_OF]) == made_of:
        return Lessons(arrays)
    if path.exists() and not ours:
        raise CitewellError(f"{path} was made of other sets or by another recipe; remove it, or name another file")
    arrays = collect(sets, asking, progress, watcher)
    path.parent.mkdir(parents=True, exist_ok=True)
    save({**arrays, _MADE_OF: np.array(made_of)}, path)
    return Lessons(arrays)


def collect(sets: Sequence[Path], asking: Asking, progress: Progress | None = None, watcher: Watcher | None = None) -> Arrays:
    """The arrays of the lessons of some sets."""
    if not sets:
        raise CitewellError("name the sets to train on: --set DIR")
    made = _Collected()
    for folder in sets:
        dataset = DataSet.open(folder)
        if "evidence" not in dataset.tasks:
            raise CitewellError(f"the set {dataset.name} has no task 'evidence', which this recipe learns from; leave it out")
        asked = {split: _asked(dataset, split, asking) for split in SPLITS}
        of = {question.id: split for split, found in asked.items() for question in found}
        together = [question for found in asked.values() for question in found]
        if watcher:
            watcher.asking(len(together))
        libraries = SetLibraries(Timeline(dataset, dataset.undated_split("train")))
        for runner, group in runners_by_date(together, libraries, [pipeline("bm25")]):
            made.take(dataset, runner, group, of, asking.depth, watcher)
    arrays = made.arrays(asking.depth)
    if not (arrays["question_split"] == SPLITS.index("train")).any():
        raise CitewellError("the sets have no evidence question of the split 'train'; name others")
    return arrays


def _asked(dataset: DataSet, split: str, asking: Asking) -> list[JudgedQuery]:
    """The questions of a split, of the train split as many of each kind as are to be drawn."""
    found = judged_queries(Timeline(dataset, dataset.undated_split(split)), "evidence", needed=False)
    for question in found:
        question.id = f"{split} {question.id}"
    if split != "train":
        return found
    kinds = dict.fromkeys(question.kind for question in found)
    parts = [[question for question in found if question.kind == kind] for kind in kinds]
    drawn = (sampled(part, asking.drawn.get(kind), asking.seed) for kind, part in zip(kinds, parts, strict=True))
    return list(chain.from_iterable(drawn))


class _Collected:
    """What is known of the sets so far."""

    def __init__(self) -> None:
        self._vocabulary = Vocabulary()
        self._sets: list[str] = []
        self._words: list[int] = []
        self._begins: list[bool] = []
        self._sentence_at = [0]
        self._paper_at = [0]
        self._asked: list[list[int]] = []
        self._of: list[tuple[int, int]] = []
        self._wanted: list[list[int]] = []
        self._marked: list[list[int]] = []
        self._candidates: list[tuple[list[int], list[float]]] = []

    def take(
        self,
        dataset: DataSet,
        runner: Runner,
        group: Sequence[JudgedQuery],
        splits: dict[str, str],
        depth: int,
        watcher: Watcher | None,
    ) -> None:
        """The papers of a set's library, and what BM25 finds there for its questions."""
        collection = runner.request(group[0]).collection
        assert isinstance(collection, LocalCollection)
        library = collection.library
        places = {}
        for num, texts in _texts(library):
            places[num] = len(self._paper_at) - 1
            self._paper(texts)
        self._sets.append(dataset.name)
        names = Names(library, dataset.naming())
        for question in group:
            request = runner.request(question)
            ranking = BM25(size=depth).retrieve(request)
            self._asked.append([word for run in runs(request.query.text(), self._vocabulary) for word in run])
            self._of.append((len(self._sets) - 1, SPLITS.index(splits[question.id])))
            self._wanted.append([places[num] for num in runner.relevant_papers(question)])
            self._candidates.append(([places[num] for num in ranking.papers.tolist()], ranking.scores.tolist()))
            self._marked.append(sorted(self._sentences(library, names, question, places)))
            if watcher:
                watcher.asked(1)

    def _paper(self, texts: Sequence[str]) -> None:
        for text in texts:
            for run in runs(text, self._vocabulary):
                self._words += run
                self._begins += [True, *[False] * (len(run) - 1)]
            self._sentence_at.append(len(self._words))
        self._paper_at.append(len(self._sentence_at) - 1)

    def _sentences(self, library: Library, names: Names, question: JudgedQuery, places: dict[int, int]) -> Iterator[int]:
        """Where the marked sentences of a question stand."""
        for name, texts in question.sentences.items():
            number = names.number(name)
            if number is not None:
                here = [sentence.text for sentence in library.store.sentences(number)]
                yield from {self._paper_at[places[number]] + 1 + here.index(text) for text in texts if text in here}

    def arrays(self, depth: int) -> Arrays:
        rows = np.full((len(self._asked), depth), -1, np.int32)
        scores = np.zeros((len(self._asked), depth), np.float32)
        for at, (papers, values) in enumerate(self._candidates):
            rows[at, : len(papers)], scores[at, : len(papers)] = papers, values
        return {
            "sets": np.array(self._sets),
            "hashes": np.array(self._vocabulary.hashes, np.int64),
            "words": np.array(self._words, np.int32),
            "begins": np.array(self._begins, bool),
            "sentence_at": np.array(self._sentence_at, np.int64),
            "paper_at": np.array(self._paper_at, np.int64),
            "question_set": np.array([place for place, _ in self._of], np.int32),
            "question_split": np.array([split for _, split in self._of], np.int32),
            "candidates": rows,
            "candidates_bm25": scores,
            **_flat("question_words", "question_at", self._asked, np.int32),
            **_flat("wanted", "wanted_at", self._wanted, np.int64),
            **_flat("marked", "marked_at", self._marked, np.int64),
        }


def _texts(library: Library) -> Iterator[tuple[int, list[str]]]:
    listed = library.index.listed("own").tolist()
    for start in range(0, len(listed), _PAPERS_AT_ONCE):
        yield from title_and_sentences(LocalCollection(library), listed[start : start + _PAPERS_AT_ONCE]).items()


def _flat(name: str, starts: str, rows: Sequence[Sequence[int]], kind: type[np.generic]) -> Arrays:
    """Rows behind one another, and where each begins."""
    return {name: np.array(list(chain.from_iterable(rows)), kind), starts: np.cumsum([0, *map(len, rows)])}
