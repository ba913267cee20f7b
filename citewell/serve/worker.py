"""A process that answers, one request at a time.

It ends when its input does, so it does not outlive the server. One that chokes on a request does not look at its input; there
the operating system ends it by a timer, as the server would have done.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
import tempfile
import traceback
from contextlib import suppress
from pathlib import Path

import msgspec

from citewell.arrays import DamagedFileError
from citewell.errors import CitewellError
from citewell.serve import frames
from citewell.serve.answering import answer
from citewell.serve.following import Following
from citewell.serve.messages import Asked, RefusedError, Reply

_NICE = 5
_GRACE = 5.0
"""Seconds by which the server, where there is one, is first to end a process that takes too long."""
_UNREADABLE = "the library cannot be read; 'citewell library check', run where the server is, tells more"


def reply(library: Following, head: bytes, body: bytes) -> tuple[Reply, bytes]:
    """The answer to one message, or the reason why there is none."""
    try:
        asked = msgspec.json.decode(head, type=Asked)
        _end_after(asked.seconds + _GRACE if asked.seconds else 0.0)
        return answer(asked.what, library.latest(), asked.given, body)
    except RefusedError as error:
        return _refusal(error.status, error.detail)
    except (sqlite3.Error, DamagedFileError, OSError):
        traceback.print_exc()
        return _refusal(503, _UNREADABLE)
    except CitewellError as error:
        return _refusal(422, str(error))
    except Exception:
        traceback.print_exc()
        return _refusal(500, "the server has met an error of its own; its log tells more")
    finally:
        _end_after(0.0)


def _end_after(seconds: float) -> None:
    """Have this process ended in so many seconds, whatever it is at; 0: not any more."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _refusal(status: int, detail: str) -> tuple[Reply, bytes]:
    return Reply(status), msgspec.json.encode({"detail": detail})


def main() -> None:
    tempfile.tempdir = sys.argv[2]
    if sys.argv[3:] == ["nice"] and hasattr(os, "nice"):
        os.nice(_NICE)
    if hasattr(signal, "SIGALRM"):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what some module prints must not be taken for an answer
    library = Following(Path(sys.argv[1]))
    while (message := frames.read(sys.stdin.buffer)) is not None:
        head, body = reply(library, *message)
        try:
            replies.write(frames.packed(msgspec.json.encode(head), body))
            replies.flush()
        except BrokenPipeError:
            break
    with suppress(OSError):  # the server has been killed, or it would have done this
        Path(tempfile.tempdir).rmdir()
    os._exit(0)
