"""The compiled steps of HyperDoc2Vec; `citewell.train.hyperdoc2vec` explains them.

Random numbers come from word2vec's generator, whose state is a parameter: the same state gives the same vectors. Negatives are
drawn from tables in which each document or word occurs in proportion to its probability.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from citewell.train.corpus import WordIds
from citewell.types import Float32Array, IntArray

State = npt.NDArray[np.uint64]


def _compiled(step: Callable[..., Any]) -> Callable[..., Any]:
    """The step as machine code, cached on disk if possible."""
    # Allow reordered sums: otherwise they are not vectorised, and ten times slower.
    try:
        return njit(cache=True, nogil=True, error_model="numpy", fastmath=True)(step)
    except RuntimeError:  # neither the package's folder nor the user's is writable
        return njit(nogil=True, error_model="numpy", fastmath=True)(step)


@_compiled
def random_below(state: State, below: int) -> int:
    """A random number below a bound; advances the state."""
    state[0] = state[0] * np.uint64(25214903917) + np.uint64(11)
    return int((state[0] >> np.uint64(16)) & np.uint64(0x7FFFFFFF)) % below


@_compiled
def negative_sampling(
    mean: Float32Array,
    error: Float32Array,
    out: Float32Array,
    target: int,
    table: WordIds,
    negatives: int,
    rate: float,
    state: State,
) -> None:
    """Pull the OUT vector of the target towards `mean` and push those of the negatives away; `error` moves the mean."""
    size = len(mean)
    error[:] = 0
    for draw in range(negatives + 1):
        place = target
        label = np.float32(1)
        if draw:
            place = table[random_below(state, len(table))]
            label = np.float32(0)
            if place == target:
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
    words: WordIds,
    doc: int,
    docs_in: Float32Array,
    words_in: Float32Array,
    words_out: Float32Array,
    keep: Float32Array,
    table: WordIds,
    window: int,
    negatives: int,
    rate: float,
    state: State,
) -> None:
    """One pass over a document: the document and the words around a position predict the word there."""
    chosen = np.empty(len(words), np.int32)
    size = 0
    for word in words:
        if keep[word] >= 1 or random_below(state, 65536) < keep[word] * np.float32(65536):
            chosen[size] = word
            size += 1
    mean = np.empty(docs_in.shape[1], np.float32)
    error = np.empty(docs_in.shape[1], np.float32)
    for at in range(size):
        reach = window - random_below(state, window)
        first, last = max(0, at - reach), min(size, at + reach + 1)
        mean[:] = docs_in[doc]
        for near in range(first, last):
            if near != at:
                mean += words_in[chosen[near]]
        mean /= np.float32(last - first)
        negative_sampling(mean, error, words_out, chosen[at], table, negatives, rate, state)
        docs_in[doc] += error
        for near in range(first, last):
            if near != at:
                words_in[chosen[near]] += error


@_compiled
def learn_citation(
    words: WordIds,
    citing: int,
    cited: int,
    docs_in: Float32Array,
    docs_out: Float32Array,
    words_in: Float32Array,
    table: WordIds,
    negatives: int,
    rate: float,
    state: State,
) -> None:
    """One citation: the citing document (none if negative) and the words around the citation predict the cited document."""
    mean = docs_in[max(citing, 0)].copy()
    if citing < 0:
        mean[:] = 0
    for word in words:
        mean += words_in[word]
    mean /= np.float32(len(words) + (citing >= 0))
    error = np.empty(docs_in.shape[1], np.float32)
    negative_sampling(mean, error, docs_out, cited, table, negatives, rate, state)
    if citing >= 0:
        docs_in[citing] += error
    for word in words:
        words_in[word] += error


@_compiled
def learn(
    order: IntArray,
    text_words: WordIds,
    text_starts: IntArray,
    context_words: WordIds,
    context_starts: IntArray,
    first_context: IntArray,
    cited: WordIds,
    docs_in: Float32Array,
    docs_out: Float32Array,
    words_in: Float32Array,
    words_out: Float32Array,
    keep: Float32Array,
    word_table: WordIds,
    doc_table: WordIds,
    own_table: WordIds,
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
    """Some documents: the text of each, then `own_passes` spans of it as if they cited the document, then its citations.

    Citations are repeated `passes` times; the contexts of each document begin at `first_context`.
    """
    for doc in order:
        text = text_words[text_starts[doc] : text_starts[doc + 1]]
        learn_text(text, doc, docs_in, words_in, words_out, keep, word_table, window, negatives, rate, state)
        if len(text):
            for _ in range(own_passes):
                start = random_below(state, max(1, len(text) - span + 1))
                near = text[start : start + span]
                learn_citation(near, -1, doc, docs_in, docs_out, words_in, own_table, doc_negatives, citation_rate, state)
        for _ in range(passes):
            for context in range(first_context[doc], first_context[doc + 1]):
                near = context_words[context_starts[context] : context_starts[context + 1]]
                learn_citation(
                    near, doc, cited[context], docs_in, docs_out, words_in, doc_table, doc_negatives, citation_rate, state
                )
