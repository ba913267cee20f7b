"""Train a model in a process of its own that kills itself after N epochs: python -m tests.train.training_apart DIR RECIPE N."""

from __future__ import annotations

import os
import signal
import sys

from citewell.library import Library
from citewell.train.save import EpochCheckpoints
from citewell.train.training import train

if __name__ == "__main__":
    folder, recipe, epochs = sys.argv[1:]
    save = EpochCheckpoints.save

    def save_and_die(self: EpochCheckpoints, stage: str, done: int, arrays: dict[str, object]) -> None:
        save(self, stage, done, arrays)  # type: ignore[arg-type]
        if done == int(epochs):
            os.kill(os.getpid(), signal.SIGKILL)

    EpochCheckpoints.save = save_and_die  # type: ignore[assignment,method-assign]
    train(Library(folder), recipe)
