"""Starting processes of our own: fresh interpreters that read from the server and write to it."""

from __future__ import annotations

import asyncio

from citewell.processes import command, environment

_LONGEST_LINE = 1 << 24


async def started(module: str, *arguments: str) -> asyncio.subprocess.Process:
    """A process that runs the `main` of a module of this package; it ends when its input does."""
    return await asyncio.create_subprocess_exec(
        *command(f"citewell.serve.{module}:main", *arguments),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=_LONGEST_LINE,
        process_group=0,  # an interrupt at the keyboard is for the server, which then ends the others
        env=environment(),
    )
