"""Removing citations leaves no trace of them."""

from __future__ import annotations

import gzip
import json
import random
import re
from itertools import islice
from pathlib import Path
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.evaluate.claims import label_sentences
from citewell.text.citation_removal import has_citation, has_integral_citation, remove_citations
from citewell.text.sentences import split_sentences

ELIFE = Path(__file__).parents[3] / "shared" / "data" / "elife"

FORMS = (
    " ( OTHERCIT )",
    " (OTHERCIT)",
    " [OTHERCIT]",
    " [ OTHERCIT , OTHERCIT ]",
    " OTHERCIT",
    " OTHERCIT , OTHERCIT and OTHERCIT",
    " (reviewed in OTHERCIT )",
    " (reviewed in [ OTHERCIT ])",
    " (e.g. OTHERCIT , but see OTHERCIT )",
    " (see OTHERCIT for a review)",
    " ( OTHERCIT ; OTHERCIT ; this study)",
    " (for reviews, see OTHERCIT and OTHERCIT )",
    " ( OTHERCIT , p. 12)",
)
"""Forms of citations that are not integral."""
TRACES = {
    "two spaces": r"\s\s",
    "a space before a stop": r"\s[,.;:)\]]",
    "a space behind a bracket": r"[(\[]\s",
    "empty brackets": r"\(\W*\)|\[\W*\]",
    "a dangling comma": r"[,;:][,;:.)\]]|[(\[][,;:]",
    "a preposition without its noun": r"\b(?:by|from|with|of|see)(?:[.;)]| (?:and|or|is|was|are|have|has)\b)",
    "an empty example": r"\((?:e\.g\.?|i\.e\.?|cf\.?|see|see also|reviewed in),?\)",
    "no full stop": r"[^.!?\"')\]\u201d\u2019]$",
}

_FORM = re.compile(r" ?(?:\([^()\[\]]*OTHERCIT[^()\[\]]*\)|\[[^()\[\]]*OTHERCIT[^()\[\]]*\])")
_CONTENT = re.compile(r"\d|(?!OTHERCIT)\b\w*[A-Z]")
"""Text in brackets that does not introduce a citation."""

plain_words = st.lists(
    st.sampled_from("boats gulls tides harbours count move slowly large grey nearby".split()), min_size=5, max_size=14
)


@given(plain_words, st.data())
def test_a_citation_is_removed_without_a_trace(words: list[str], data: st.DataObject) -> None:
    sentence = f"The {' '.join(words)} (Figure 2), early."
    ends = [
        word.end() for word in re.finditer(r"\b[a-z]+\b(?! \()", sentence) if "(" not in sentence[word.start() - 1 : word.end()]
    ]
    places = sorted(data.draw(st.sets(st.sampled_from([at for at in ends if at > 5]), min_size=1, max_size=3)), reverse=True)
    cited = sentence
    for at in places:
        cited = f"{cited[:at]}{data.draw(st.sampled_from(FORMS))}{cited[at:]}"
    assert has_citation(cited)
    assert remove_citations(cited) == sentence


@pytest.mark.parametrize(
    ("cited", "left"),
    [
        ("Boats drift (Figure 2; OTHERCIT ).", "Boats drift (Figure 2)."),
        ("Boats drift ( OTHERCIT ; Figure 2A,B).", "Boats drift (Figure 2A,B)."),
        ("Boats (large ones, OTHERCIT ) drift.", "Boats (large ones) drift."),
        ("Both (rowing [ OTHERCIT ] and sailing boats [ OTHERCIT ]) drift.", "Both (rowing and sailing boats) drift."),
        ("We used the counter (Counter by OTHERCIT ).", "We used the counter (Counter)."),
        ("Boats ( n = 4 ) drift , slowly .", "Boats (n = 4) drift, slowly."),
    ],
)
def test_other_text_in_the_brackets_stays(cited: str, left: str) -> None:
    assert remove_citations(cited) == left


@pytest.mark.parametrize(
    "sentence",
    [
        "Boats were counted as described by OTHERCIT .",
        "OTHERCIT found that gulls are no boats.",
        "Finally, OTHERCIT count gulls too.",
        "The count of OTHERCIT was too high.",
        "This is shown in [ OTHERCIT ] and elsewhere.",
    ],
)
def test_integral_citations(sentence: str) -> None:
    assert has_integral_citation(sentence)
    assert not label_sentences([sentence], "").judged[0]


def test_citations_that_are_not_integral() -> None:
    assert not has_integral_citation("Boats OTHERCIT drift, and gulls ( OTHERCIT ) do not.")
    assert not has_integral_citation("Boats drift by night.")


@given(st.text(max_size=300))
def test_tidying_is_idempotent(text: str) -> None:
    assert remove_citations(remove_citations(text)) == remove_citations(text)
    assert not has_citation(remove_citations(f"{text} OTHERCIT {text}"))


@pytest.fixture(scope="module")
def elife() -> list[tuple[str, bool]]:
    """Sentences of real papers with their marks, and whether they cite."""
    result = []
    with gzip.open(ELIFE / "paragraphs.jsonl.gz", "rt") as lines:
        for line in islice(lines, 0, 24_000, 12):
            sentences = split_sentences(json.loads(line)["text"])
            labelled = label_sentences(sentences, "")
            for sentence, cites, judged in zip(sentences, labelled.cites, labelled.judged, strict=True):
                result += [(sentence, bool(cites))] if judged else []
    return result


@pytest.mark.realdata
@pytest.mark.skipif(not ELIFE.exists(), reason="needs ../shared/data/elife")
@pytest.mark.slow
def test_traces_are_equally_rare_with_and_without_citations(elife: list[tuple[str, bool]]) -> None:
    texts = {kind: [remove_citations(text) for text, cites in elife if cites is kind] for kind in (True, False)}
    assert min(map(len, texts.values())) > 3000
    for name, pattern in TRACES.items():
        cited, uncited = (np.mean([bool(re.search(pattern, text)) for text in texts[kind]]) for kind in (True, False))
        assert cited <= uncited + 0.002, f"{name}: {cited:.4f} of those that cite, {uncited:.4f} of the others"


@pytest.mark.realdata
@pytest.mark.skipif(not ELIFE.exists(), reason="needs ../shared/data/elife")
@pytest.mark.slow
def test_a_classifier_cannot_tell_where_a_citation_was(elife: list[tuple[str, bool]]) -> None:
    """A typical citation is put into every other sentence that does not cite; a classifier of shapes must not see which."""
    forms = [form[0] for text, cites in elife if cites for form in _FORM.finditer(text) if not _CONTENT.search(form[0])]
    plain = [text for text, cites in elife if not cites and text.endswith(".")]
    draw = random.Random(1)
    draw.shuffle(plain)
    put = np.arange(len(plain)) % 2 == 0
    cited = [f"{text[:-1]}{draw.choice(forms)}." if here else text for text, here in zip(plain, put, strict=True)]
    assert len(set(forms)) > 20
    assert area_under_curve([text.replace("OTHERCIT", "") for text in cited], put) > 0.99
    assert area_under_curve([remove_citations(text) for text in cited], put) < 0.54


def area_under_curve(texts: list[str], kinds: npt.NDArray[np.bool_]) -> float:
    """Area under the ROC curve of a logistic regression trained on the shapes of one half and tested on the other."""
    shapes = [re.sub(r"\d+", "0", re.sub(r"[^\W\d_]+", "w", text)) for text in texts]
    rows = np.zeros((len(texts), 2048))
    for at, shape in enumerate(shapes):
        for piece in {shape[-5:], *(shape[begin : begin + 3] for begin in range(len(shape)))}:
            rows[at, crc32(piece.encode()) % rows.shape[1]] = 1
    rows = rows[:, rows.sum(axis=0) > 10]
    order = np.random.default_rng(1).permutation(len(rows))
    train_rows, test_rows = rows[order[::2]], rows[order[1::2]]
    train_labels, test_labels = kinds[order[::2]], kinds[order[1::2]]
    weights = np.zeros(rows.shape[1])
    for _ in range(200):
        weights += 2 * train_rows.T @ (train_labels - 1 / (1 + np.exp(-train_rows @ weights))) / len(train_rows)
    ranks = np.argsort(np.argsort(test_rows @ weights))
    positives = int(test_labels.sum())
    return float((ranks[test_labels].sum() - positives * (positives - 1) / 2) / (positives * (len(test_labels) - positives)))
