"""Starting processes of our own: fresh interpreters that read from the server and write to it."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

_LONGEST_LINE = 1 << 24


async def started(module: str, *arguments: str) -> asyncio.subprocess.Process:
    """A process that runs the `main` of a module of this package; it ends when its input does."""
    paths = os.pathsep.join(filter(None, [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH")]))
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *("-P", "-c", f"from citewell.serve.{module} import main; main()", *arguments),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=_LONGEST_LINE,
        process_group=0,  # an interrupt at the keyboard is for the server, which then ends the others
        env={**os.environ, "PYTHONPATH": paths},
    )
