"""Vectors computed in the background, by a process that outlives the command that started it.

One such process works for a library at a time; a second one finds the lock taken and exits. The first checks for more work
after it has released the lock: it sees papers committed before that check itself, and for those committed later the lock is
free. So none is missed between the two.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

from filelock import FileLock, Timeout

from citewell.errors import CitewellError
from citewell.library.library import Library
from citewell.library.vectors.status import encode_with_progress, lacking
from citewell.library.vectors.store import FOLDER
from citewell.processes import command, environment

SWITCH = "CITEWELL_BACKGROUND"
"""The environment variable that, set to ``off``, prevents such processes."""
LOG = "background.log"
_LOCK = "background.lock"
_NICE = 10


def encode_in_background(library: Library) -> bool:
    """Start computing missing vectors; returns whether a process was started.

    Without installed encoder weights nothing is started.
    """
    if os.environ.get(SWITCH) == "off" or not lacking(library):
        return False
    folder = library.folder / FOLDER
    folder.mkdir(exist_ok=True)
    with (folder / LOG).open("ab") as log:
        subprocess.Popen(
            command("citewell.library.vectors.background:main", str(library.folder)),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,  # so that it survives the terminal
            env=environment(),
        )
    return True


def keep_up(library: Library) -> int:
    """Compute missing vectors until none is missing, unless another process does; returns how many papers were encoded."""
    made = 0
    while pairs := lacking(library):
        try:
            with FileLock(library.folder / FOLDER / _LOCK, timeout=0):
                made += sum(encode_with_progress(library, name, text) for name, text in pairs)
        except Timeout:
            break
    return made


def main() -> None:
    """The background process; its output goes to the log."""
    if hasattr(os, "nice"):
        os.nice(_NICE)
    try:
        with Library(sys.argv[1]) as library:
            _say(f"{keep_up(library):,} papers encoded")
    except CitewellError as error:
        _say(str(error))
        sys.exit(1)


def _say(line: str) -> None:
    print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} process {os.getpid()}: {line}", flush=True)
