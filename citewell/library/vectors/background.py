"""Vectors made in the background, by a process of its own that outlives the command which started it.

One such process works for a library at a time; a second one sees that by a lock, and leaves. The first looks for more to do
after it has let go of the lock: papers that were committed before its last look it sees itself, and for those committed later
the lock is free. So none is forgotten between the two.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

from filelock import FileLock, Timeout

from citewell.errors import CitewellError
from citewell.library.library import Library
from citewell.library.vectors.status import encode_openly, lacking
from citewell.library.vectors.store import FOLDER
from citewell.processes import command, environment

SWITCH = "CITEWELL_BACKGROUND"
"""The environment variable that, set to ``off``, keeps processes from being started."""
LOG = "background.log"
_LOCK = "background.lock"
_NICE = 10


def encode_in_background(library: Library) -> bool:
    """Start making the vectors that the library lacks; returns whether there is something to make, and someone to make it.

    Where the encoders' weights are not installed, nothing is started.
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
            start_new_session=True,  # so that it stays when the terminal goes
            env=environment(),
        )
    return True


def keep_up(library: Library) -> int:
    """Make what vectors the library lacks until it lacks none, unless another process does; returns how many were made."""
    made = 0
    while pairs := lacking(library):
        try:
            with FileLock(library.folder / FOLDER / _LOCK, timeout=0):
                made += sum(encode_openly(library, name, text) for name, text in pairs)
        except Timeout:
            break
    return made


def main() -> None:
    """The process; what it prints goes to the log."""
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
