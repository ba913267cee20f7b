"""Kills citewell at random moments while it changes a small library.

Commands run in random order: add, add after an edit with --sync, remove, rebuild, encode, and serve with an upload. Each is
killed by SIGKILL at a random moment and then run again to its end. The library must be sound after the kill and after the
second run, and in the end it must be the one that is built afresh from its files.

Commands come in rounds, each on a library of its own. The moments of a round are not exactly repeatable, its commands are. A
round whose library differs in the end is run once more without kills, to tell what the kills have to do with it.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

from benchmarks import kill_files
from citewell.errors import CitewellError
from citewell.library.library import Library
from citewell.library.store import schema
from citewell.processes import environment

OPERATIONS = ("add", "edit", "remove", "rebuild", "encode", "serve")
_KILLS_PER_ROUND = 20
_PATIENCE = 180.0
"""Seconds after which a command counts as one that never ends."""
# The real commands, with batches so small that even a small file takes several commits, segments and merges.
_PROGRAM = """
from citewell.library import add as adding
from citewell.library.index import indexer
adding._BATCH_RECORDS = 5
indexer._WORTH_A_WORKER = 20
indexer._STACK_HEIGHT = 2
from citewell.cli.main import main
main()
"""


@dataclass(frozen=True, slots=True)
class KillFailure:
    """What was wrong after a kill, or at the end of a round."""

    round: int
    operation: str
    reason: str
    folder: str
    """The library, its files and the log of its commands."""


@dataclass(slots=True)
class KillResult:
    """What a number of rounds came to."""

    kills: Counter[str] = field(default_factory=Counter)
    failures: list[KillFailure] = field(default_factory=list)
    rounds: int = 0


class _FailedError(Exception):
    """A promise that is not kept."""


@dataclass(frozen=True, slots=True)
class _Kill:
    """When a command is killed, in seconds, and whether its child processes are killed with it."""

    after: float
    with_children: bool


def run_kills(seed: str, count: int, workers: int, deadline: float, folder: Path) -> KillResult:
    """Rounds until there are `count` kills or the `deadline` of `time.monotonic` has come; failed ones are left in `folder`."""
    result = KillResult()
    sizes = [min(_KILLS_PER_ROUND, count - first) for first in range(0, count, _KILLS_PER_ROUND)]
    with ThreadPoolExecutor(workers) as pool:
        for each in pool.map(lambda number: _round(seed, number, sizes[number], deadline, folder), range(len(sizes))):
            result.kills += each.kills
            result.failures += each.failures
            result.rounds += each.rounds
            print(f"kills: {result.kills.total():,}, {len(result.failures)} failures", file=sys.stderr, flush=True)
    return result


def _round(seed: str, number: int, kills: int, deadline: float, folder: Path) -> KillResult:
    """One round; its folder is deleted if nothing fails."""
    if time.monotonic() >= deadline:
        return KillResult()
    home = folder / f"kills-{seed}-{number}"
    shutil.rmtree(home, ignore_errors=True)
    library = KilledLibrary(home, f"{seed} {number}")
    result = KillResult(library.kills, rounds=1)
    try:
        library.run(kills, deadline)
        library.require_as_built_afresh()
    except _FailedError as error:
        reason = str(error)
        if library.operation == "end":
            reason += f"; {_without_kills(seed, number, len(library.log), home / 'without-kills')}"
        result.failures.append(KillFailure(number, library.operation, reason, str(home)))
        (home / "log.txt").write_text("\n".join([*library.log, reason, ""]), "utf-8")
    else:
        shutil.rmtree(home)
    return result


def _without_kills(seed: str, number: int, operations: int, folder: Path) -> str:
    """Whether the same commands give the same difference when none is killed."""
    library = KilledLibrary(folder, f"{seed} {number}")
    try:
        library.run_undisturbed(operations)
        library.require_as_built_afresh()
    except _FailedError as error:
        return f"without kills, too: {error}"
    return "without kills it is the same"


class KilledLibrary:
    """A library, its files, and the commands that change it."""

    def __init__(self, home: Path, seed: str) -> None:
        self.home = home
        self.folder = home / "library"
        self.files = [home / name for name in kill_files.NAMES]
        self.uploads: list[Path] = []
        self.kills: Counter[str] = Counter()
        self.operation = ""
        self.log: list[str] = []
        self._chance = random.Random(seed)
        """Chooses the commands, which do not depend on the moments of the kills."""
        self._moments = random.Random(f"moments {seed}")
        self._seconds = dict.fromkeys(OPERATIONS, 1.0)
        """How long each command took when it was last run to its end."""
        home.mkdir(parents=True)
        for file in self.files:
            kill_files.write(file, self._chance)

    def run(self, kills: int, deadline: float) -> None:
        """Run commands until that many of them were killed."""
        while self.kills.total() < kills and time.monotonic() < deadline:
            command = self._next_command()
            kill = _Kill(self._moments.uniform(0.15, 1.0) * self._seconds[self.operation], self._moments.random() < 0.5)
            if not self._timed(command, kill):
                self.kills[self.operation] += 1
                self.log[-1] += f"; killed after {kill.after:.3f} s{' with its children' if kill.with_children else ''}"
                self._require_sound("right after the kill")
                self._timed(command, None)
            self._require_sound("after the command was run to its end")

    def _timed(self, command: Callable[[_Kill | None], bool], kill: _Kill | None) -> bool:
        begun = time.monotonic()
        ended = command(kill)
        if ended:
            self._seconds[self.operation] = time.monotonic() - begun
        return ended

    def run_undisturbed(self, count: int) -> None:
        """Run the first commands without killing any."""
        for _ in range(count):
            self._next_command()(None)

    def require_as_built_afresh(self) -> None:
        """The library, with all its files added again, is the one that is built from them in an empty folder."""
        self.operation = "end"
        files = [*self.files, *self.uploads]
        try:
            with Library(self.folder) as library:
                library.add(files, sync=True)
                if not (verdict := library.check()).sound:
                    raise _FailedError(f"the library is not sound: {verdict}")
                sources = library.store.db.execute("SELECT name FROM sources ORDER BY num")
                order = {name: at for at, (name,) in enumerate(sources)}
                known = described(library)
            shutil.rmtree(self.home / "fresh", ignore_errors=True)
            with Library(self.home / "fresh") as fresh:
                fresh.add(sorted(files, key=lambda file: order[str(Path(file).resolve())]))
                built = described(fresh)
        except CitewellError as error:
            raise _FailedError(str(error)) from error
        if known != built:
            only, lost = [each for each in known if each not in built], [each for each in built if each not in known]
            raise _FailedError(
                f"{len(only)} papers only in the library, {len(lost)} only in the fresh one, such as {(only or lost)[0]}"
            )

    # -- commands --------------------------------------------------------------------------------------------------------

    def _next_command(self) -> Callable[[_Kill | None], bool]:
        """A random command, ready to be run; it returns whether it came to its end."""
        self.operation = self._chance.choice(OPERATIONS) if self.log else "add"
        described_as = ""
        match self.operation:
            case "edit":
                file = self._chance.choice(self.files)
                kill_files.write(file, self._chance)
                described_as, arguments = file.name, ["add", str(file), "--sync"]
            case "remove":
                described_as = self._any_paper()
                arguments = ["library", "remove", described_as]
            case "serve":
                upload = self.home / f"upload{len(self.uploads)}.bib"
                kill_files.write_upload(upload, len(self.uploads))
                self.uploads.append(upload)
                self.log.append(f"serve {upload.name}")
                return lambda kill: self._serve(upload, kill)
            case "add":
                arguments = ["add", *map(str, self.files), "--sync"]
            case other:
                arguments = ["library", other]
        self.log.append(f"{self.operation} {described_as}".strip())
        allowed = "nothing was removed" if self.operation == "remove" else ""
        return lambda kill: self._command(arguments, kill, allowed)

    def _any_paper(self) -> str:
        """A key that may be in the library; the choice does not depend on what is in it."""
        return f"{self._chance.choice(('one', 'two', 'p'))}{self._chance.randrange(30)}"

    def _command(self, arguments: list[str], kill: _Kill | None, allowed_error: str) -> bool:
        output = self.home / "output.txt"
        process = self._start(arguments, output)
        if not self._wait(process, kill):
            return False
        message = output.read_text("utf-8", "replace")
        if process.returncode and not (allowed_error and allowed_error in message):
            raise _FailedError(f"citewell {' '.join(arguments)} ended with {process.returncode}: {message.strip()[-500:]}")
        return True

    def _serve(self, upload: Path, kill: _Kill | None) -> bool:
        """Start the server, upload a file, wait until it is imported, stop the server."""
        output = self.home / "output.txt"
        begun = time.monotonic()
        process = self._start(["serve", "--no-open", "--port", "0", "--json", "--workers", "1"], output)
        try:
            done = _uploaded(process, output, upload, begun + (kill.after if kill else _PATIENCE))
            if kill is None and not done:
                raise _FailedError(
                    f"the server did not import {upload.name}: {output.read_text('utf-8', 'replace').strip()[-500:]}"
                )
        except _FailedError:
            _kill(process, with_children=True)
            raise
        if done:
            process.send_signal(signal.SIGTERM)
        left = _Kill(max(0.0, begun + kill.after - time.monotonic()), kill.with_children) if kill else None
        return self._wait(process, left)

    def _start(self, arguments: list[str], output: Path) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", _PROGRAM, *arguments, "--library", str(self.folder)]
        with output.open("wb") as out:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**environment(1), "CITEWELL_BACKGROUND": "off"},
            )

    def _wait(self, process: subprocess.Popen[bytes], kill: _Kill | None) -> bool:
        """Whether a process ended before it was killed. Its children must end soon after it in any case."""
        try:
            process.wait(kill.after if kill else _PATIENCE)
            ended = True
        except subprocess.TimeoutExpired:
            ended = not _kill(process, kill is None or kill.with_children)
            if kill is None:
                raise _FailedError(f"{self.operation} did not end in {_PATIENCE:.0f} s") from None
        if not _children_end(process.pid):
            _kill(process, with_children=True)
            raise _FailedError(f"child processes of {self.operation} still ran 20 s after it had ended")
        return ended

    def _require_sound(self, when: str) -> None:
        if not (self.folder / schema.FILE).exists():
            return  # killed before there was a library
        try:
            with Library(self.folder) as library:
                verdict = library.check()
        except CitewellError as error:
            if self.operation == "add" and len(self.log) == 1 and str(error).startswith("there is no library"):
                return  # killed before there was one
            raise _FailedError(f"cannot be checked {when}: {error}") from error
        if not verdict.sound:
            raise _FailedError(f"not sound {when}: {verdict}")


def described(library: Library) -> list[tuple[object, ...]]:
    """What a library knows of its papers, whatever their numbers are."""
    names = ("title", "abstract", "year", "authors", "venue", "keywords")
    papers = []
    for paper in library:
        values = tuple(str(getattr(paper, name)) for name in names)
        papers.append((*values, tuple(sorted(paper.ids)), tuple(sorted(paper.extra.items()))))
    return sorted(papers)


def _kill(process: subprocess.Popen[bytes], with_children: bool) -> bool:
    """Kill a process that was started here; whether that is what ended it."""
    with suppress(ProcessLookupError):
        if with_children:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    return process.wait() == -signal.SIGKILL


def _children_end(group: int, seconds: float = 20.0) -> bool:
    """Whether all processes of a group end soon."""
    limit = time.monotonic() + seconds
    while _is_running(group):
        if time.monotonic() > limit:
            return False
        time.sleep(0.05)
    return True


def _is_running(group: int) -> bool:
    """Whether a process of a group runs; one that has ended and that nobody asked for its status does not."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, its_group = path.read_text("utf-8", "replace").rpartition(")")[2].split()[:3]
            if int(its_group) == group and state != "Z":
                return True
    return False


def _uploaded(process: subprocess.Popen[bytes], output: Path, upload: Path, limit: float) -> bool:
    """Upload a file to a server that is starting; whether it was imported before `limit`."""
    url = job = ""
    while time.monotonic() < limit:
        if process.poll() is not None:
            raise _FailedError(
                f"the server ended with {process.returncode}: {output.read_text('utf-8', 'replace').strip()[-500:]}"
            )
        lines = output.read_text("utf-8", "replace").splitlines()
        with suppress(OSError, ValueError):
            if not url:
                url = next((json.loads(line)["url"] for line in lines if line.startswith('{"url"')), "")
            elif not job:
                job = json.loads(_request(f"{url}api/add", upload))["job"]
            else:
                state = json.loads(_request(f"{url}api/jobs/{job}"))["state"]
                if state == "failed":
                    raise _FailedError(f"the import of {upload.name} failed")
                if state == "done":
                    return True
        time.sleep(0.02)
    return False


def _request(url: str, upload: Path | None = None) -> bytes:
    if upload is None:
        request = urllib.request.Request(url)
    else:
        boundary = uuid4().hex
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="files"; filename="{upload.name}"\r\n\r\n'
        body = head.encode() + upload.read_bytes() + f"\r\n--{boundary}--\r\n".encode()
        request = urllib.request.Request(url, body, {"Content-Type": f"multipart/form-data; boundary={boundary}"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        data: bytes = answer.read()
        return data
