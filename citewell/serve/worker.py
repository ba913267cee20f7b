"""A worker process: it handles one request at a time.

It exits when its standard input closes, so it does not outlive the server. A worker that is stuck in a request does not read
its input; a timer of the operating system ends it instead.
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
from citewell.serve import framing, memory
from citewell.serve.errors import ApiError, error_body
from citewell.serve.handlers import handle
from citewell.serve.library_follower import LibraryFollower
from citewell.serve.messages import WorkerRequest, WorkerResponse

_NICE = 5
_GRACE = 5.0
"""Extra seconds before the timer fires, so that the server, if it still runs, ends the process first."""
_UNREADABLE = "The library cannot be read. Run 'citewell library check' on the server's machine for details."


def respond(library: LibraryFollower, head: bytes, body: bytes) -> tuple[WorkerResponse, bytes]:
    """Handle one message; errors become an error response."""
    try:
        request = msgspec.json.decode(head, type=WorkerRequest)
        _exit_after(request.seconds + _GRACE if request.seconds else 0.0)
        return handle(request.handler, library.latest(), request.parameters, body)
    except ApiError as error:
        return _error(error.status, error.detail)
    except CitewellError as error:
        return _error(422, " ".join(str(error).split()))
    except (sqlite3.Error, DamagedFileError, OSError):
        traceback.print_exc()
        return _error(503, _UNREADABLE)
    except MemoryError:
        message = memory.exceeded(memory.current_limit())
        print(f"citewell serve: {message}", file=sys.stderr)
        return _error(503, message)
    except Exception as error:
        traceback.print_exc()
        return _error(500, f"Internal server error ({type(error).__name__}); the server's log has the details.")
    finally:
        _exit_after(0.0)


def _exit_after(seconds: float) -> None:
    """Let the operating system end this process after some seconds, whatever it is doing; 0 cancels that."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _error(status: int, detail: str) -> tuple[WorkerResponse, bytes]:
    return WorkerResponse(status), error_body(detail)


def main() -> None:
    tempfile.tempdir = sys.argv[2]
    memory.limit(int(sys.argv[3]))
    if sys.argv[4:] == ["nice"] and hasattr(os, "nice"):
        os.nice(_NICE)
    if hasattr(signal, "SIGALRM"):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
    responses = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output that a module prints must not end up among the responses
    library = LibraryFollower(Path(sys.argv[1]))
    while (message := framing.read(sys.stdin.buffer)) is not None:
        head, body = respond(library, *message)
        try:
            responses.write(framing.encode(msgspec.json.encode(head), body))
            responses.flush()
        except BrokenPipeError:
            break
    with suppress(OSError):  # the server deletes this folder, unless it was killed
        Path(tempfile.tempdir).rmdir()
    os._exit(0)
