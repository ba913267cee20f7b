"""The steps of HyperDoc2Vec, compiled; `citewell.train.hyperdoc2vec` says what they are for.

Random numbers come from word2vec's own generator, whose state is handed in: the same state gives the same vectors. Documents
and words to tell apart from the right one are drawn from tables, in which each stands as often as it is to be drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from citewell.train.corpus import Numbers, Places

Floats = npt.NDArray[np.float32]
State = npt.NDArray[np.uint64]


def _compiled(step: Callable[..., Any]) -> Callable[..., Any]:
    """The step as machine code, kept on disk where there is a place for it."""
    # Sums of products may be reordered: without that they are not vectorised, and ten times slower.
    try:
        return njit(cache=True, nogil=True, error_model="numpy", fastmath=True)(step)
    except RuntimeError:  # neither the package's folder nor the user's can be written to
        return njit(nogil=True, error_model="numpy", fastmath=True)(step)


@_compiled
def drawn(state: State, below: int) -> int:
    """A random number below a bound; the state moves on."""
    state[0] = state[0] * np.uint64(25214903917) + np.uint64(11)
    return int((state[0] >> np.uint64(16)) & np.uint64(0x7FFFFFFF)) % below


@_compiled
def tell_apart(
    mean: Floats, error: Floats, out: Floats, right: int, table: Numbers, negatives: int, rate: float, state: State
) -> None:
    """Pull the OUT vector of what is right towards `mean`, push those of drawn ones away; `error` is what moves the mean."""
    size = len(mean)
    error[:] = 0
    for draw in range(negatives + 1):
        place = right
        label = np.float32(1)
        if draw:
            place = table[drawn(state, len(table))]
            label = np.float32(0)
            if place == right:
                continue
        row = out[place]
        product = np.float32(0)
        for at in range(size):
            product += mean[at] * row[at]
        step = np.float32((label - 1 / (1 + math.exp(-product))) * rate)
        for at in range(size):
            error[at] += step * row[at]
            row[at] += step * mean[at]


@_compiled
def learn_text(
    words: Numbers,
    doc: int,
    docs_in: Floats,
    words_in: Floats,
    words_out: Floats,
    keep: Floats,
    table: Numbers,
    window: int,
    negatives: int,
    rate: float,
    state: State,
) -> None:
    """One pass over a document's words: the document and the words round a place foretell the word in it."""
    kept = np.empty(len(words), np.int32)
    size = 0
    for word in words:
        if keep[word] >= 1 or drawn(state, 65536) < keep[word] * np.float32(65536):
            kept[size] = word
            size += 1
    mean = np.empty(docs_in.shape[1], np.float32)
    error = np.empty(docs_in.shape[1], np.float32)
    for at in range(size):
        reach = window - drawn(state, window)
        first, last = max(0, at - reach), min(size, at + reach + 1)
        mean[:] = docs_in[doc]
        for near in range(first, last):
            if near != at:
                mean += words_in[kept[near]]
        mean /= np.float32(last - first)
        tell_apart(mean, error, words_out, kept[at], table, negatives, rate, state)
        docs_in[doc] += error
        for near in range(first, last):
            if near != at:
                words_in[kept[near]] += error


@_compiled
def learn_citation(
    words: Numbers,
    citing: int,
    cited: int,
    docs_in: Floats,
    docs_out: Floats,
    words_in: Floats,
    table: Numbers,
    negatives: int,
    rate: float,
    state: State,
) -> None:
    """One citation: the citing document (none where negative) and the words round the place foretell the cited document."""
    mean = docs_in[max(citing, 0)].copy()
    if citing < 0:
        mean[:] = 0
    for word in words:
        mean += words_in[word]
    mean /= np.float32(len(words) + (citing >= 0))
    error = np.empty(docs_in.shape[1], np.float32)
    tell_apart(mean, error, docs_out, cited, table, negatives, rate, state)
    if citing >= 0:
        docs_in[citing] += error
    for word in words:
        words_in[word] += error


@_compiled
def learn(
    order: Places,
    text_words: Numbers,
    text_starts: Places,
    context_words: Numbers,
    context_starts: Places,
    first_context: Places,
    cited: Numbers,
    docs_in: Floats,
    docs_out: Floats,
    words_in: Floats,
    words_out: Floats,
    keep: Floats,
    word_table: Numbers,
    doc_table: Numbers,
    own_table: Numbers,
    window: int,
    negatives: int,
    doc_negatives: int,
    passes: int,
    own_passes: int,
    span: int,
    rate: float,
    citation_rate: float,
    state: State,
) -> None:
    """Some documents, each its text, then `own_passes` times a span of it as if it cited the document, then `passes` times its
    citations; the contexts of each begin at `first_context`."""
    for doc in order:
        text = text_words[text_starts[doc] : text_starts[doc + 1]]
        learn_text(text, doc, docs_in, words_in, words_out, keep, word_table, window, negatives, rate, state)
        if len(text):
            for _ in range(own_passes):
                start = drawn(state, max(1, len(text) - span + 1))
                near = text[start : start + span]
                learn_citation(near, -1, doc, docs_in, docs_out, words_in, own_table, doc_negatives, citation_rate, state)
        for _ in range(passes):
            for context in range(first_context[doc], first_context[doc + 1]):
                near = context_words[context_starts[context] : context_starts[context + 1]]
                learn_citation(
                    near, doc, cited[context], docs_in, docs_out, words_in, doc_table, doc_negatives, citation_rate, state
                )
