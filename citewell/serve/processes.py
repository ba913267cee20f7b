"""Start a process of this package that talks to the server over pipes."""

from __future__ import annotations

import asyncio

from citewell.processes import command, environment

_MAX_LINE_BYTES = 1 << 24


async def start(module: str, *arguments: str, threads: int | None = None) -> asyncio.subprocess.Process:
    """Run the `main` of a module of `citewell.serve` in a new process; it exits when its standard input closes.

    `threads` is the number that it computes with, if not the default.
    """
    return await asyncio.create_subprocess_exec(
        *command(f"citewell.serve.{module}:main", *arguments),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=_MAX_LINE_BYTES,
        start_new_session=True,  # Ctrl-C goes to the server alone, which then stops the others
        env=environment(threads),
    )
