"""What the models that gensim trains have in common: words by number, one thread, and a state that can be kept.

gensim is run an epoch at a time by one worker, so that the same seed gives the same vectors, and a training that was killed
goes on from the arrays of its last whole epoch, generator included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from citewell.arrays import Arrays
from citewell.train.monitoring import Watcher
from citewell.train.save import Checkpoints


def names(numbers: Iterable[int]) -> list[str]:
    """Words as gensim wants them."""
    return [str(number) for number in numbers]


def run_epochs(
    model: Any,
    stage: str,
    epochs: int,
    rate: float,
    texts: Callable[[], Iterable[Any]],
    size: int,
    checkpoints: Checkpoints,
    watcher: Watcher,
) -> None:
    """Train a word2vec or doc2vec model whose vocabulary is built, from its last checkpoint on."""
    done, arrays = checkpoints.load(stage)
    if done:
        _restore(model, arrays)
    watcher.trained(done * size)
    for epoch in range(done, epochs):
        start, end = (max(0.01, 1 - at / epochs) * rate for at in (epoch, epoch + 1))
        model.train(texts(), total_examples=size, epochs=1, start_alpha=start, end_alpha=end)
        checkpoints.save(stage, epoch + 1, _state(model))
        watcher.trained(size)


def _state(model: Any) -> Arrays:
    _, keys, place, *_ = model.random.get_state()
    found = {"words": model.wv.vectors, "out": model.syn1neg, "keys": keys, "place": np.array([place], np.int64)}
    return {**found, "docs": model.dv.vectors} if hasattr(model, "dv") else found


def _restore(model: Any, arrays: Arrays) -> None:
    model.wv.vectors[:] = arrays["words"]
    model.syn1neg[:] = arrays["out"]
    if "docs" in arrays:
        model.dv.vectors[:] = arrays["docs"]
    model.random.set_state(("MT19937", arrays["keys"], int(arrays["place"][0])))


def rows_by_number(model: Any, size: int) -> list[int]:
    """Where gensim keeps each word; it sorts them by its own count."""
    return [model.wv.key_to_index[str(number)] for number in range(size)]
