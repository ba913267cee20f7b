"""Fuzzes every reader of files and drafts: damaged files must give records or one clear error, in bounded time and memory.

    python -m benchmarks.fuzz --seed S --case I [--save FILE]

repeats one case of a campaign. A case is the mutation of a good file; its seed and number make it again. `run_cases` runs many
of them in worker processes with limits: a case that takes too long or too much memory ends its worker at most, and the next
worker goes on after it.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import FrameType
from typing import Any

from benchmarks.fuzz_seeds import Target, archive_of, parts_of, targets
from benchmarks.mutations import mutated
from citewell.draft import registry as draft_readers
from citewell.draft.files import DraftSource
from citewell.errors import CitewellError
from citewell.papers import Remainder
from citewell.processes import environment
from citewell.sources import InputError, Source
from citewell.sources.registry import reader

CPU_SECONDS = 5
"""The most CPU time of a case. The files have a few kilobytes: a reader in linear time needs milliseconds."""
MEMORY_BYTES = 1_500_000_000
"""The most address space of a worker."""
GROWTH_BYTES = 300_000_000
"""The most memory by which one case may raise its worker's peak."""
_CHUNK = 4000
_ZIP = b"PK\x03\x04"


@dataclass(frozen=True, slots=True)
class Case:
    """One damaged file."""

    target: str
    file: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Failure:
    """A case that a reader does not survive."""

    case: int
    target: str
    file: str
    reason: str


@dataclass(slots=True)
class FuzzResult:
    """What a run of cases came to."""

    cases: Counter[str] = field(default_factory=Counter)
    """How many were run, for each reader."""
    failures: list[Failure] = field(default_factory=list)
    megabytes: int = 0
    """The peak memory of a worker."""


class TooSlowError(BaseException):
    """A case used up its CPU time. It is no `Exception`, so no reader takes it for damage in the file."""


def target_of(number: int) -> Target:
    """The readers take turns."""
    return targets()[number % len(targets())]


def make_case(seed: str, number: int) -> Case:
    """The case with this number."""
    target = target_of(number)
    chance = random.Random(f"{seed} {number}")
    name, data = chance.choice(target.seeds)
    if data.startswith(_ZIP) and chance.random() < 0.8:  # else nearly all are refused as damaged archives
        parts = parts_of(data)
        part = chance.choice(sorted(parts))
        return Case(target.name, name, archive_of({**parts, part: mutated(parts[part], chance)}))
    return Case(target.name, name, mutated(data, chance))


def read_case(case: Case, folder: Path) -> None:
    """Read a damaged file; anything raised is a failure of the reader."""
    kind, _, name = case.target.partition(":")
    if kind == "draft":
        source = DraftSource(case.data, case.file)
        try:
            draft_readers.detect(source)
            draft_readers.read(source, name)
        except CitewellError as error:
            _require_line(str(error))
        return
    path = folder / case.file
    path.write_bytes(case.data)
    try:
        reader(name).matches(case.data[: 64 * 1024])
        with Source(path) as opened:
            for record in reader(name).read(opened):
                _require_storable(record)
    except (InputError, CitewellError) as error:
        _require_line(str(error))


def _require_line(message: str) -> None:
    if not message.strip() or "Traceback" in message:
        raise AssertionError(f"the error does not say what happened: {message!r}")


def _require_storable(value: Any) -> None:
    """Every text of a record is one that SQLite takes; zero characters only where the file is kept as it is."""
    for text in _texts(value):
        if "\x00" in text:
            raise AssertionError(f"a record has a zero character: {text[:80]!r}")
        text.encode()
    for text in _texts((getattr(value, "verbatim", ""), value.text if isinstance(value, Remainder) else "")):
        text.encode()


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Remainder):
        return
    elif isinstance(value, dict):
        yield from (text for item in value.items() for part in item for text in _texts(part))
    elif isinstance(value, list | tuple | set):
        yield from (text for part in value for text in _texts(part))
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield from (text for name in _fields(type(value)) for text in _texts(getattr(value, name)))


@lru_cache
def _fields(kind: type[Any]) -> tuple[str, ...]:
    return tuple(part.name for part in dataclasses.fields(kind) if part.name != "verbatim")


# -- workers --------------------------------------------------------------------------------------------------------------


def work() -> None:
    """Run the cases from ``argv[2]`` to ``argv[3]``; print a line of JSON for each failure, and the peak memory last."""
    seed, first, last, at = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
    targets()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    signal.signal(signal.SIGPROF, _too_slow)
    descriptor = os.open(at, os.O_WRONLY | os.O_CREAT)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(first, last):
            os.pwrite(descriptor, b"%20d" % number, 0)
            _limit_cpu(CPU_SECONDS + 5)  # where the signal is not seen, in a pattern for instance, the system ends the worker
            if reason := failure_of(make_case(seed, number), Path(folder)):
                print(json.dumps({"case": number, "reason": reason}), flush=True)
        os.pwrite(descriptor, b"%20d" % last, 0)
    print(json.dumps({"megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024}), flush=True)


def failure_of(case: Case, folder: Path) -> str:
    """Why a reader does not survive a case; empty if it does."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
    try:
        read_case(case, folder)
    except TooSlowError:
        return f"took more than {CPU_SECONDS} s of CPU time"
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {str(error)[:200]} ({Path(last.filename).name}:{last.lineno})"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak) * 1024
    return f"took {grown // 1_000_000} MB of memory" if grown > GROWTH_BYTES else ""


def _too_slow(number: int, frame: FrameType | None) -> None:
    raise TooSlowError


def _limit_cpu(seconds: int) -> None:
    used = resource.getrusage(resource.RUSAGE_SELF)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + seconds, resource.RLIM_INFINITY))


@dataclass(slots=True)
class _Worker:
    process: subprocess.Popen[str]
    first: int
    last: int
    at: Path
    """The file with the number of the case that it is at."""


def run_cases(seed: str, count: int, workers: int, deadline: float, folder: Path) -> FuzzResult:
    """Run the cases 0 to `count`, until the `deadline` of `time.monotonic`; the files of failures are saved in `folder`."""
    result = FuzzResult()
    chunks = [(first, min(first + _CHUNK, count)) for first in range(0, count, _CHUNK)][::-1]
    running: list[_Worker] = []
    with tempfile.TemporaryDirectory() as temporary:
        while running or chunks:
            while chunks and len(running) < workers and time.monotonic() < deadline:
                running.append(_start(seed, *chunks.pop(), Path(temporary)))
            if not running:
                break
            for worker in [each for each in running if each.process.poll() is not None]:
                running.remove(worker)
                chunks += _collect(worker, seed, result, folder)
                print(f"fuzzing: {result.cases.total():,} cases, {len(result.failures)} failures", file=sys.stderr, flush=True)
            if time.monotonic() >= deadline:
                for worker in running:
                    worker.process.terminate()
            time.sleep(0.05)
    return result


def _start(seed: str, first: int, last: int, folder: Path) -> _Worker:
    at = folder / str(first)
    command = [sys.executable, "-c", "from benchmarks.fuzz import work; work()", seed, str(first), str(last), str(at)]
    with (folder / f"{first}.out").open("w") as out, (folder / f"{first}.err").open("w") as err:
        process = subprocess.Popen(command, stdout=out, stderr=err, text=True, env=environment(1))
    return _Worker(process, first, last, at)


def _collect(worker: _Worker, seed: str, result: FuzzResult, folder: Path) -> list[tuple[int, int]]:
    """Add what a worker reported; returns the cases that are left where it was ended by a case."""
    for line in worker.at.with_name(f"{worker.at.name}.out").read_text().splitlines():
        found = json.loads(line)
        if "case" in found:
            result.failures.append(save(seed, found["case"], found["reason"], folder))
        result.megabytes = max(result.megabytes, found.get("megabytes", 0))
    reached = int(worker.at.read_text()) if worker.at.exists() else worker.first
    status = worker.process.returncode
    if status in (0, -signal.SIGTERM):
        _count(result, worker.first, reached)
        return []
    if not worker.at.exists():
        errors = worker.at.with_name(f"{worker.at.name}.err").read_text()
        raise CitewellError(f"a worker did not start: {errors[-500:]}")
    _count(result, worker.first, reached + 1)
    reason = "was ended for its CPU time" if status == -signal.SIGXCPU else f"ended the process with status {status}"
    result.failures.append(save(seed, reached, reason, folder))
    return [(reached + 1, worker.last)] if reached + 1 < worker.last else []


def _count(result: FuzzResult, first: int, last: int) -> None:
    for number in range(first, last):
        result.cases[target_of(number).name] += 1


def save(seed: str, number: int, reason: str, folder: Path) -> Failure:
    """Save the file of a failure."""
    case = make_case(seed, number)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{case.target.replace(':', '-')}-{number}{Path(case.file).suffix}"
    path.write_bytes(case.data)
    return Failure(number, case.target, str(path), reason)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--case", type=int, required=True, metavar="I")
    parser.add_argument("--save", type=Path, metavar="FILE", help="also write the damaged file here")
    given = parser.parse_args()
    case = make_case(given.seed, given.case)
    if given.save:
        given.save.write_bytes(case.data)
    print(f"case {given.case} of seed {given.seed}: {case.target}, {case.file}, {len(case.data):,} bytes", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        begun = time.process_time()
        read_case(case, Path(folder))
    print(f"read in {time.process_time() - begun:.3f} s")


if __name__ == "__main__":
    main()
