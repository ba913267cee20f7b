"""Background jobs: work that takes longer than a request may. Importing files is the only kind so far.

Uploaded files are on disk, flushed, before the server acknowledges them: each job has a folder inside the library's folder,
and the server chooses all names in it. One process runs one job at a time and reports its progress. However the server ends,
the next server resumes an unfinished job after its last committed batch.
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

from citewell import threads
from citewell.errors import CitewellError
from citewell.files import sync_folder, write_atomically
from citewell.serve.errors import ApiError
from citewell.serve.processes import start

FOLDER = "jobs"
_RECORD = "job.json"
_LOCK = "server.lock"
_MAX_FINISHED = 100
_MAX_WAITING = 50
_RETRY_SECONDS = 1.0
"""The pause before a job is tried again while another process writes to the library."""
_MAX_ATTEMPTS = 3
"""How often a job's process may end without a result (killed, out of memory) before the job fails."""
_CHUNK = 1 << 20


class Job(msgspec.Struct):
    """One job, as its record on disk stores it."""

    id: str
    kind: str = "add"
    state: str = "waiting"
    done: int = 0
    total: int = 0
    message: str = ""
    result: dict[str, Any] | None = None
    names: list[str] = []
    """The client's names of the files; on disk they have other names."""

    def public(self) -> dict[str, Any]:
        """What the API returns."""
        fields: dict[str, Any] = msgspec.to_builtins(self)
        fields.pop("names")
        return fields


class Report(msgspec.Struct):
    """One line of output of a job's process."""

    done: int = 0
    total: int = 0
    message: str = ""
    busy: bool = False
    """Another process is writing to the library."""
    error: str = ""
    result: dict[str, Any] | None = None


class Jobs:
    """The jobs of one library."""

    def __init__(self, library: Path, memory_bytes: int = 0) -> None:
        self._library = library
        self._memory_bytes = memory_bytes
        self._folder = library / FOLDER
        self._jobs: dict[str, Job] = {}
        self._queue: asyncio.Queue[Job] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None
        self._lock = FileLock(self._folder / _LOCK)
        self.writable = os.access(library, os.W_OK)

    def lock(self) -> None:
        """Lock the library's jobs against other servers."""
        if not self.writable:
            return
        self._folder.mkdir(0o700, exist_ok=True)
        with suppress(OSError):  # one that an earlier version made; uploads are private, whoever may read the library
            self._folder.chmod(0o700)
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise CitewellError(
                f"another 'citewell serve' already serves the library in {self._library}; use that one or stop it"
            ) from None

    def start(self) -> None:
        """Resume the jobs that an earlier server left unfinished."""
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
            else:  # a killed server may not have done this
                _delete_files(self._folder / job.id)
        self._task = asyncio.create_task(self._run_all())

    async def stop(self) -> None:
        """Stop the running job; what it has committed stays, and the next server does the rest."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._lock.release()

    def list(self) -> list[dict[str, Any]]:
        """All jobs, the newest first."""
        return [job.public() for job in reversed(self._jobs.values())]

    def get(self, id: str) -> dict[str, Any]:
        if id not in self._jobs:
            raise ApiError(404, f"There is no job {id!r}; GET /api/jobs lists all jobs.")
        return self._jobs[id].public()

    async def add(self, files: Sequence[tuple[str, BinaryIO]]) -> str:
        """Store the files (the client's name and the content of each) and queue their import; returns the job's id."""
        if not self.writable:
            raise ApiError(409, "The library's folder is read-only; start the server with another --library.")
        if self._queue.qsize() >= _MAX_WAITING:
            raise ApiError(503, "Too many imports are waiting; try again when some have finished.")
        job = Job(f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(4)}", names=[name for name, _ in files])
        try:
            job.total = await asyncio.to_thread(self._store, job, [stream for _, stream in files])
        except OSError as error:
            detail = f"The files could not be stored ({error.strerror}); free some disk space and send them again."
            raise ApiError(507, detail) from None
        self._jobs[job.id] = job
        self._queue.put_nowait(job)
        return job.id

    def _store(self, job: Job, streams: Sequence[BinaryIO]) -> int:
        """Write and flush the files, then the record; the folder gets its final name when all are complete."""
        folder = self._folder / f"{job.id}.part"
        folder.mkdir(0o700)
        size = 0
        try:
            for path, stream in zip(_files(folder, job), streams, strict=True):
                with path.open("wb") as out:
                    shutil.copyfileobj(stream, out, _CHUNK)
                    size += out.tell()
                    out.flush()
                    os.fsync(out.fileno())
            _write_record(folder, job)
            folder.rename(self._folder / job.id)
        except BaseException:  # on a full disk above all, these files must not stay
            shutil.rmtree(folder, ignore_errors=True)
            raise
        sync_folder(self._folder)
        return size

    # -- running ----------------------------------------------------------------------------------------------------

    async def _run_all(self) -> None:
        while True:
            job = await self._queue.get()
            try:
                _finish(job, await self._run(job))
            except Exception as error:  # the next job may succeed
                traceback.print_exc()
                job.state, job.message = "failed", f"The import could not be started ({error}); send the files again."
            await asyncio.to_thread(self._close, job)

    async def _run(self, job: Job) -> Report:
        """Run a job until its process reports a result. A process that ends without one may have been killed."""
        for _ in range(_MAX_ATTEMPTS):
            while (last := await self._run_once(job)) is not None and last.busy:
                job.state, job.message = "waiting", last.message
                await asyncio.sleep(_RETRY_SECONDS)
            if last is not None:
                return last
            job.state, job.message = "waiting", "The import process ended; starting it again"
            await asyncio.sleep(_RETRY_SECONDS)
        return Report(
            error=f"The import process ended {_MAX_ATTEMPTS} times without a result; send the files again, fewer at a time."
        )

    async def _run_once(self, job: Job) -> Report | None:
        """Run a job in a new process; returns its final report, or None if it ended without one."""
        job.state = "running"
        last = None
        files = map(str, _files(self._folder / job.id, job))
        process = await start("import_job", str(self._memory_bytes), str(self._library), *files, threads=threads.share(2))
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

    def _close(self, job: Job) -> None:
        """Record the end of a job and delete its files and the oldest finished jobs."""
        folder = self._folder / job.id
        with suppress(OSError):  # on a full disk the next server repeats the job, which changes nothing
            _write_record(folder, job)
            _delete_files(folder)
        for name in [name for name, each in self._jobs.items() if each.state in ("done", "failed")][:-_MAX_FINISHED]:
            del self._jobs[name]
            shutil.rmtree(self._folder / name, ignore_errors=True)


def _write_record(folder: Path, job: Job) -> None:
    write_atomically(folder / _RECORD, msgspec.json.encode(job))


def _files(folder: Path, job: Job) -> list[Path]:
    """The paths of a job's files. They contain the job's id, because a resumed `add` recognises a file by its name too."""
    return [folder / f"{job.id}-{number}" for number in range(len(job.names))]


def _delete_files(folder: Path) -> None:
    """Delete everything of a job but its record: uploads, and temporary files of a killed process."""
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        elif path.name != _RECORD:
            path.unlink(missing_ok=True)


def _finish(job: Job, last: Report) -> None:
    job.result = last.result
    _restore_names(job)
    if last.error:
        job.state, job.message = "failed", last.error
    else:
        job.state, job.message, job.done = "done", last.message, job.total


def _restore_names(job: Job) -> None:
    """Use the client's file names in the reported problems."""
    for problem in (job.result or {}).get("problems", []):
        number = Path(problem["file"]).name.rpartition("-")[2]
        problem["file"] = job.names[int(number)]
