"""What the gensim models share: word ids as names, one thread, and resumable state.

gensim runs one epoch at a time with one worker, so that the same seed gives the same vectors; a resumed training continues from
the arrays of the last complete epoch, including the random number generator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from citewell.arrays import Arrays
from citewell.progress import Progress
from citewell.train.save import EpochCheckpoints


def names(numbers: Iterable[int]) -> list[str]:
    """Word ids as gensim's words."""
    return [str(number) for number in numbers]


def run_epochs(
    model: Any,
    stage: str,
    epochs: int,
    rate: float,
    texts: Callable[[], Iterable[Any]],
    size: int,
    checkpoints: EpochCheckpoints,
    progress: Progress,
) -> None:
    """Train a word2vec or doc2vec model with a built vocabulary, from its last checkpoint."""
    done, arrays = checkpoints.load(stage)
    if done:
        _restore(model, arrays)
    progress.advance(done * size)
    for epoch in range(done, epochs):
        start, end = (max(0.01, 1 - at / epochs) * rate for at in (epoch, epoch + 1))
        model.train(texts(), total_examples=size, epochs=1, start_alpha=start, end_alpha=end)
        checkpoints.save(stage, epoch + 1, _state(model))
        progress.advance(size)


def _state(model: Any) -> Arrays:
    _, keys, place, *_ = model.random.get_state()
    arrays = {"words": model.wv.vectors, "out": model.syn1neg, "keys": keys, "place": np.array([place], np.int64)}
    return {**arrays, "docs": model.dv.vectors} if hasattr(model, "dv") else arrays


def _restore(model: Any, arrays: Arrays) -> None:
    model.wv.vectors[:] = arrays["words"]
    model.syn1neg[:] = arrays["out"]
    if "docs" in arrays:
        model.dv.vectors[:] = arrays["docs"]
    model.random.set_state(("MT19937", arrays["keys"], int(arrays["place"][0])))


def rows_by_number(model: Any, size: int) -> list[int]:
    """The rows of words in gensim's own order."""
    return [model.wv.key_to_index[str(number)] for number in range(size)]
