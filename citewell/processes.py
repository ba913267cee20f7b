"""Starting Python processes that run a function of this package.

They are fresh interpreters, neither forked nor spawned: an open database must not be forked, and a user's script need not be
importable.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from citewell import threads

_ROOT = str(Path(__file__).parents[1])


def command(function: str, *arguments: str) -> list[str]:
    """The command line that calls `function`, written ``package.module:name``, with `arguments` in ``sys.argv``."""
    module, name = function.split(":")
    return [sys.executable, "-P", "-c", f"from {module} import {name}; {name}()", *arguments]


def environment(share: int | None = None) -> dict[str, str]:
    """The environment in which a new process finds this package where its parent did.

    `share`: how many threads it may compute with, where its parent divides the cores between several.
    """
    paths = os.pathsep.join(filter(None, [_ROOT, os.environ.get("PYTHONPATH")]))
    return {**os.environ, **threads.environment(share), "PYTHONPATH": paths}
