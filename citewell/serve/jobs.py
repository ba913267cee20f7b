"""Jobs: what takes longer than a request may. There is one kind so far, the adding of files.

What was uploaded is on disk, flushed, before it is acknowledged: a folder for each job in the library's own, named by us, as
are the files in it. A process of its own works at one job at a time, and reports how far it is. Whatever ends the server, a job
that was not done is taken up by the next one, and goes on where the last batch was committed.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
from filelock import FileLock, Timeout

from citewell.errors import CitewellError
from citewell.library.index.manifest import sync_folder
from citewell.serve.messages import RefusedError
from citewell.serve.processes import started

FOLDER = "jobs"
_RECORD = "job.json"
_LOCK = "server.lock"
_REMEMBERED = 100
_MOST_WAITING = 50
_AGAIN_AFTER = 1.0
"""Seconds after which a job that found another process writing tries again."""
_TRIES = 3
"""So many processes may end without a word, killed or out of memory, before a job counts as failed."""
_CHUNK = 1 << 20


class Job(msgspec.Struct):
    """One job, as its record on disk has it."""

    id: str
    kind: str = "add"
    state: str = "waiting"
    done: int = 0
    total: int = 0
    message: str = ""
    result: dict[str, Any] | None = None
    names: list[str] = []
    """What the client calls the files; they are called otherwise on disk."""

    def shown(self) -> dict[str, Any]:
        shown: dict[str, Any] = msgspec.to_builtins(self)
        shown.pop("names")
        return shown


class Report(msgspec.Struct):
    """A line from the process that works at a job."""

    done: int = 0
    total: int = 0
    message: str = ""
    busy: bool = False
    """Another process is writing to the library."""
    error: str = ""
    result: dict[str, Any] | None = None


class Jobs:
    """The jobs of one library."""

    def __init__(self, library: Path) -> None:
        self._library = library
        self._folder = library / FOLDER
        self._jobs: dict[str, Job] = {}
        self._queue: asyncio.Queue[Job] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None
        self._lock = FileLock(self._folder / _LOCK)
        self.writable = os.access(library, os.W_OK)

    def claim(self) -> None:
        """Keep other servers from this library's jobs, or say that one has them."""
        if not self.writable:
            return
        self._folder.mkdir(exist_ok=True)
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise CitewellError(
                f"another 'citewell serve' has the library in {self._library} already; use that one, or stop it"
            ) from None

    def start(self) -> None:
        """Take up what an earlier server has left."""
        if not self.writable:
            return
        for folder in sorted(self._folder.iterdir()):
            if folder.name.endswith(".part"):  # never acknowledged
                shutil.rmtree(folder, ignore_errors=True)
            elif (folder / _RECORD).is_file():
                with suppress(msgspec.DecodeError):
                    job = msgspec.json.decode((folder / _RECORD).read_bytes(), type=Job)
                    self._jobs[job.id] = job
        for job in self._jobs.values():
            if job.state in ("waiting", "running"):
                job.state = "waiting"
                self._queue.put_nowait(job)
            else:  # a server that was killed may have had no time for this
                _clear(self._folder / job.id)
        self._task = asyncio.create_task(self._work())

    async def stop(self) -> None:
        """End the job at work; what it has committed stays, and the rest is taken up by the next server."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._lock.release()

    def list(self) -> list[dict[str, Any]]:
        return [job.shown() for job in reversed(self._jobs.values())]

    def find(self, name: str) -> dict[str, Any]:
        if name not in self._jobs:
            raise RefusedError(404, f"there is no job {name!r}; GET /api/jobs lists them")
        return self._jobs[name].shown()

    async def add(self, files: Sequence[tuple[str, BinaryIO]]) -> str:
        """Take files in; returns the name of the job when they are safely on disk."""
        if not self.writable:
            raise RefusedError(409, "the library's folder cannot be written to; start the server with another --library")
        if self._queue.qsize() >= _MOST_WAITING:
            raise RefusedError(503, "too many files are waiting to be added; try again when some are done")
        job = Job(f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(4)}", names=[name for name, _ in files])
        try:
            job.total = await asyncio.to_thread(self._put_down, job, [stream for _, stream in files])
        except OSError as error:
            raise RefusedError(
                507, f"the files cannot be kept: {error.strerror}; free some space and send them again"
            ) from None
        self._jobs[job.id] = job
        self._queue.put_nowait(job)
        return job.id

    def _put_down(self, job: Job, streams: Sequence[BinaryIO]) -> int:
        """Write the files and then the record, all flushed, under a name that is no job's until they are complete."""
        folder = self._folder / f"{job.id}.part"
        folder.mkdir()
        size = 0
        try:
            for path, stream in zip(_files(folder, job), streams, strict=True):
                with path.open("wb") as out:
                    shutil.copyfileobj(stream, out, _CHUNK)
                    size += out.tell()
                    _flush(out)
            self._write(folder, job)
            folder.rename(self._folder / job.id)
        except BaseException:  # a full disk above all, which these files must not keep full
            shutil.rmtree(folder, ignore_errors=True)
            raise
        sync_folder(self._folder)
        return size

    def _write(self, folder: Path, job: Job) -> None:
        temporary = folder / f"{_RECORD}.part"
        with temporary.open("wb") as out:
            out.write(msgspec.json.encode(job))
            _flush(out)
        temporary.rename(folder / _RECORD)
        sync_folder(folder)

    # -- working ----------------------------------------------------------------------------------------------------

    async def _work(self) -> None:
        while True:
            job = await self._queue.get()
            try:
                _end(job, await self._last_report(job))
            except Exception as error:  # whatever it is, the next job may fare better
                traceback.print_exc()
                job.state, job.message = "failed", f"no process could work at it ({error}); send the files again"
            await asyncio.to_thread(self._put_away, job)

    async def _last_report(self, job: Job) -> Report:
        """Work at a job until a process has said how it ends. One that ends without a word may have been killed with us."""
        for _ in range(_TRIES):
            while (last := await self._worked_at(job)) is not None and last.busy:
                job.state, job.message = "waiting", last.message
                await asyncio.sleep(_AGAIN_AFTER)
            if last is not None:
                return last
            job.state, job.message = "waiting", "the process that was at it has ended; another takes it up"
            await asyncio.sleep(_AGAIN_AFTER)
        return Report(
            error=f"{_TRIES} processes that were at it have ended without a word; send the files again, fewer at a time"
        )

    async def _worked_at(self, job: Job) -> Report | None:
        """Let a process work at a job; what it says last, None where it was not given the time to say it."""
        job.state = "running"
        last = None
        process = await started("adding", str(self._library), *map(str, _files(self._folder / job.id, job)))
        assert process.stdout is not None
        try:
            while line := await process.stdout.readline():
                report = msgspec.json.decode(line, type=Report)
                if report.busy or report.error or report.result is not None:
                    last = report
                else:
                    job.done, job.total, job.message = report.done, report.total, report.message
            await process.wait()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return last

    def _put_away(self, job: Job) -> None:
        """Note how a job ended, and delete what was uploaded for it; the oldest jobs are forgotten."""
        folder = self._folder / job.id
        with suppress(OSError):  # a full disk: then the next server does it again, which changes nothing
            self._write(folder, job)
            _clear(folder)
        for name in [name for name, each in self._jobs.items() if each.state in ("done", "failed")][:-_REMEMBERED]:
            del self._jobs[name]
            shutil.rmtree(self._folder / name, ignore_errors=True)


def _files(folder: Path, job: Job) -> list[Path]:
    """Where the files of a job lie. The job's name is in theirs: an add that goes on knows a file by its name, too."""
    return [folder / f"{job.id}-{number}" for number in range(len(job.names))]


def _clear(folder: Path) -> None:
    """Delete all of a job but its record: what was uploaded, and what a process that was killed has left."""
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        elif path.name != _RECORD:
            path.unlink(missing_ok=True)


def _end(job: Job, last: Report) -> None:
    job.result = last.result
    _name_back(job)
    if last.error:
        job.state, job.message = "failed", last.error
    else:
        job.state, job.message, job.done = "done", last.message, job.total


def _name_back(job: Job) -> None:
    """Call files what the client calls them where a problem is told."""
    for problem in (job.result or {}).get("problems", []):
        number = Path(problem["file"]).name.rpartition("-")[2]
        problem["file"] = job.names[int(number)]


def _flush(out: BinaryIO) -> None:
    out.flush()
    os.fsync(out.fileno())
