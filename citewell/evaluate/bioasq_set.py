"""Makes a data set of the evidence task from BioASQ's training file and a collection of papers.

The questions keep the order of the file. The last hundred are for dev, as in the AUEB studies; the test questions are those of
the golden files of test batches, or else the last hundred, and the hundred before them are for dev. A list of ids overrules
either. A question of a test file is left out of the training file. The collection is a library or PubMed files: the papers
that answer questions, and the others, among which they have to be found. A paper's title is its first sentence, because
snippets may be titles.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

from citewell.errors import CitewellError
from citewell.evaluate.bioasq_snippets import OFFSETS, TEXT, Span, locate
from citewell.evaluate.bioasq_training import TrainingFile, TrainingQuestion, read_training
from citewell.evaluate.build_set import checked, paper_record
from citewell.evaluate.set_files import new_folder, toml, write_lines
from citewell.evaluate.strict import has_only_title
from citewell.identifiers import recognise
from citewell.papers import Paper, Sentence
from citewell.progress import SILENT, Progress
from citewell.text.sentences import sentence_spans

HELD_OUT = 100
"""Questions of dev, and of test if there are no test files."""
_PUBMED = "pmid:"
_SHARES = 1 << 32


@dataclass
class Choices:
    """What goes into the set, and into which split."""

    name: str
    about: str = ""
    dev: int = HELD_OUT
    dev_ids: frozenset[str] = frozenset()
    """The questions for dev, if they are listed."""
    test_ids: frozenset[str] = frozenset()
    others: float = 1.0
    """The share of the papers that answer no question; which ones depends on their ids alone."""
    with_titles_only: bool = False
    """Whether papers without an abstract are in the set; the studies leave them out."""


@dataclass
class MadeSet:
    """The new set, and everything that is not in it."""

    folder: Path
    papers: int = 0
    relevant_papers: int = 0
    questions: dict[str, int] = field(default_factory=dict)
    """Split to number."""
    documents: int = 0
    """Relevant papers of all questions together."""
    snippets: dict[str, int] = field(default_factory=dict)
    """How they were located (``offsets``, ``text``) to their number."""
    left_out: dict[str, int] = field(default_factory=dict)
    """Reason to number."""
    problems: list[str] = field(default_factory=list)
    """One line for each record that could not be read."""


def make(
    training: Path, tests: Sequence[Path], papers: Iterable[Paper], folder: Path, choices: Choices, progress: Progress = SILENT
) -> MadeSet:
    """Make a set in the new folder `folder`."""
    folder = checked(folder, choices.name)
    files = [read_training(path) for path in (training, *tests)]
    questions = _with_splits(files, choices)
    made = MadeSet(folder, problems=[line for file in files for line in file.problems])
    wanted = {name for _, question, _ in questions for name in _documents(question)}
    counts: Counter[str] = Counter()
    counts["questions of the training file that a test file has"] = len(files[0].questions) - sum(
        kind == training.stem for _, _, kind in questions
    )
    known: dict[str, _Texts] = {}
    with new_folder(folder) as building:
        progress.start("writing papers", None, "papers")
        records = _papers(papers, wanted, choices, known, counts)
        made.papers = write_lines(building / "papers.jsonl.gz", records, progress)
        progress.start("mapping snippets", len(questions), "questions")
        lines = _evidence(questions, known, made, counts)
        count = write_lines(building / "evidence.jsonl.gz", lines, progress)
        progress.finish()
        if not count:
            raise CitewellError(
                f"none of the papers that answer the {len(questions):,} questions are in this collection;"
                " use PubMed files or a library that have them (citewell fetch gets them by their PubMed ids)"
            )
        head: dict[str, str | list[str]] = {"name": choices.name, "about": choices.about, "tasks": ["evidence"]}
        (building / "set.toml").write_text("".join(f"{key} = {toml(value)}\n" for key, value in head.items()), "utf-8")
    made.relevant_papers = len(known)
    made.left_out = {reason: number for reason, number in counts.items() if number}
    return made


# -- questions ------------------------------------------------------------------------------------------------------------

Assigned = tuple[str, TrainingQuestion, str]
"""Split, question, and the name of its file, which is its kind: ``citewell evaluate --kind`` takes one batch."""


def _with_splits(files: Sequence[TrainingFile], choices: Choices) -> list[Assigned]:
    """Each question once, with its split."""
    training, *tests = files
    in_tests = {question.id for file in tests for question in file.questions}
    for file in tests:
        if not any(question.documents for question in file.questions):
            raise CitewellError(f"{file.path} has no answers; use the golden file that BioASQ published after the challenge")
    own = [question for question in training.questions if question.id not in in_tests]
    if choices.dev_ids or choices.test_ids:
        listed = {**dict.fromkeys(choices.dev_ids, "dev"), **dict.fromkeys(choices.test_ids, "test")}
        if unknown := sorted(listed.keys() - {question.id for question in own}):
            raise CitewellError(f"{training.path} has no question {unknown[0]!r}, which is listed; correct the list")
        splits = [listed.get(question.id, "train") for question in own]
    else:
        splits = _by_order(len(own), choices.dev, 0 if tests else choices.dev)
    assigned: list[Assigned] = [(split, question, training.path.stem) for split, question in zip(splits, own, strict=True)]
    seen: set[str] = set()
    for file in tests:
        assigned += [("test", question, file.path.stem) for question in file.questions if question.id not in seen]
        seen |= {question.id for question in file.questions}
    return assigned


def _by_order(count: int, dev: int, test: int) -> list[str]:
    if dev + test >= count:
        raise CitewellError(f"there are {count:,} questions, too few to hold out {dev + test:,}; lower --dev")
    return ["train"] * (count - dev - test) + ["dev"] * dev + ["test"] * test


def _documents(question: TrainingQuestion) -> list[str]:
    """The ids of the relevant papers."""
    return list(dict.fromkeys(recognise(url) or url for url in question.documents))


# -- papers ---------------------------------------------------------------------------------------------------------------


@dataclass
class _Texts:
    """The texts of a paper that is relevant to a question, and its sentences in them."""

    texts: dict[str, str]
    sentences: list[Span]


def _papers(
    papers: Iterable[Paper], wanted: set[str], choices: Choices, known: dict[str, _Texts], counts: Counter[str]
) -> Iterator[dict[str, Any]]:
    """The lines of the papers; remembers the texts of those in `wanted`."""
    seen: set[str] = set()
    for paper in papers:
        name = next((each for each in paper.ids if each.startswith(_PUBMED)), "") or paper.id or next(iter(paper.ids), "")
        if not name or name in seen:
            counts["papers without an id" if not name else "further records of the same paper"] += 1
            continue
        relevant = name in wanted
        if not choices.with_titles_only and has_only_title(paper):
            counts["relevant papers that have only a title" if relevant else "other papers that have only a title"] += 1
            seen.add(name)
            continue
        if not relevant and not _drawn(name, choices.others):
            counts["other papers that were not drawn"] += 1
            continue
        seen.add(name)
        texts = {"title": paper.title, "abstract": paper.abstract}
        spans = _sentences(texts)
        if relevant:
            known[name] = _Texts(texts, spans)
        listed = [Sentence(texts[section][begin:end], section) for section, begin, end in spans]
        yield paper_record(paper, name, [], listed)


def _sentences(texts: dict[str, str]) -> list[Span]:
    """The title, and the sentences of the abstract."""
    title, abstract = texts["title"], texts["abstract"]
    spans = [Span("title", 0, len(title))] if title else []
    for start, end in sentence_spans(abstract):
        text = abstract[start:end]
        if text.strip():
            begin = start + len(text) - len(text.lstrip())
            spans.append(Span("abstract", begin, begin + len(text.strip())))
    return spans


def _drawn(name: str, share: float) -> bool:
    number = int.from_bytes(blake2b(name.encode(), digest_size=4).digest(), "little")
    return number < share * _SHARES


# -- evidence -------------------------------------------------------------------------------------------------------------


def _evidence(
    questions: Sequence[Assigned], known: dict[str, _Texts], made: MadeSet, counts: Counter[str]
) -> Iterator[dict[str, Any]]:
    """The lines of the questions that have a paper in the set; counts them, and what could not be mapped."""
    made.snippets = dict.fromkeys((OFFSETS, TEXT), 0)
    made.questions = dict.fromkeys(("train", "dev", "test"), 0)
    for split, question, kind in questions:
        names = _documents(question)
        documents = [name for name in names if name in known]
        counts["relevant papers that the collection lacks, or has without an abstract"] += len(names) - len(documents)
        sentences = _located(question, known, made, counts)
        documents += [name for name in sentences if name not in documents]
        if not documents:
            counts["questions without a paper in the collection"] += 1
            continue
        made.questions[split] += 1
        made.documents += len(documents)
        yield {
            "id": question.id,
            "question": question.body.strip(),
            "documents": documents,
            "snippets": [{"paper": name, "sentences": sorted(places)} for name, places in sentences.items()],
            "split": split,
            "kind": kind,
            "type": question.type,
        }


def _located(question: TrainingQuestion, known: dict[str, _Texts], made: MadeSet, counts: Counter[str]) -> dict[str, set[int]]:
    """The sentences of a question's snippets by paper."""
    sentences: dict[str, set[int]] = {}
    for snippet in question.snippets:
        name = recognise(snippet.document) or snippet.document
        if name not in known:
            counts["snippets of papers that are not in the set"] += 1
            continue
        located = locate(snippet, known[name].texts, known[name].sentences)
        if located is None or not located.sentences:
            counts["snippets whose text is not in the paper"] += 1
            continue
        made.snippets[located.how] += 1
        sentences.setdefault(name, set()).update(located.sentences)
    return sentences
