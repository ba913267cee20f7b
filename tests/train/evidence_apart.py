"""Train on evidence in a process that kills itself: python -m tests.train.evidence_apart RECIPE SET OUT words|network."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from citewell.train.from_evidence import train
from citewell.train.recipe import EvidenceRecipe, load_recipe

if __name__ == "__main__":
    name, folder, out, moment = sys.argv[1:]
    recipe = load_recipe(name)
    assert isinstance(recipe, EvidenceRecipe)

    def die_after_save(kind: Any) -> None:
        save = kind.save

        def save_and_die(self: Any, *args: Any) -> None:
            save(self, *args)
            os.kill(os.getpid(), signal.SIGKILL)

        kind.save = save_and_die

    if moment == "words":
        from citewell.train.save import EpochCheckpoints

        die_after_save(EpochCheckpoints)
    else:
        from citewell.train.checkpoints import Checkpoint

        die_after_save(Checkpoint)
    train(recipe, [Path(folder)], Path(out), device="cpu")
