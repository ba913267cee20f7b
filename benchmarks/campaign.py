"""A long search for crashes: processes killed at random moments, and damaged files for every reader.

    python -m benchmarks.campaign [--kills 1000] [--cases 1000000] [--minutes M] [--seed S] [--workers N] [--failures DIR]

It prints a table and, for each failure, how to repeat it and where its files are; the exit status is 1 if there is any.
`benchmarks.kills` and `benchmarks.fuzz` say what is promised. Linux only.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from pathlib import Path

from benchmarks.fuzz import CPU_SECONDS, FuzzResult, run_cases
from benchmarks.kills import KillResult, run_kills


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=1000, metavar="N", help="processes to kill (default: 1000)")
    parser.add_argument("--cases", type=int, default=1_000_000, metavar="N", help="damaged files to read (default: 1000000)")
    parser.add_argument("--minutes", type=float, default=float("inf"), metavar="M", help="stop after M minutes")
    parser.add_argument("--seed", default=str(int(time.time())), help="default: the time")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, metavar="N", help="default: one for each core")
    parser.add_argument("--failures", type=Path, default=Path("campaign-failures"), metavar="DIR", help="where their files go")
    given = parser.parse_args(arguments)
    begun = time.monotonic()
    deadline = begun + 60 * given.minutes
    # With a time limit, the kills may take half of it.
    killed = run_kills(given.seed, given.kills, given.workers, (begun + deadline) / 2, given.failures)
    fuzzed = run_cases(given.seed, given.cases, given.workers, deadline, given.failures)
    print(f"seed {given.seed}, {(time.monotonic() - begun) / 60:.1f} minutes\n")
    print(table(killed, fuzzed))
    lines = failure_lines(given.seed, killed, fuzzed)
    print("\n".join(["", *lines]) if lines else "\nno failure")
    sys.exit(1 if lines else 0)


def table(killed: KillResult, fuzzed: FuzzResult) -> str:
    """How often each command was killed and each reader was fuzzed, and how often that failed."""
    lines = ["| what | runs | failures |", "|---|---:|---:|"]
    failed = Counter(each.operation for each in killed.failures)
    lines += [f"| kill:{name} | {count:,} | {failed[name]} |" for name, count in sorted(killed.kills.items())]
    lines.append(f"| as built afresh | {killed.rounds:,} | {failed['end']} |")
    failed = Counter(each.target for each in fuzzed.failures)
    lines += [f"| {name} | {count:,} | {failed[name]} |" for name, count in sorted(fuzzed.cases.items())]
    runs = killed.kills.total(), fuzzed.cases.total()
    lines.append(f"| all kills | {runs[0]:,} | {len(killed.failures)} |")
    lines.append(f"| all cases | {runs[1]:,} | {len(fuzzed.failures)} |")
    return "\n".join(lines) + f"\n\n{CPU_SECONDS} s of CPU time for a case; the peak of a worker was {fuzzed.megabytes} MB"


def failure_lines(seed: str, killed: KillResult, fuzzed: FuzzResult) -> list[str]:
    """What failed, where its files are, and how to repeat it."""
    lines = [f"round {each.round}, {each.operation}: {each.reason}\n  {each.folder}/log.txt" for each in killed.failures]
    for each in fuzzed.failures:
        repeat = f"python -m benchmarks.fuzz --seed {seed} --case {each.case}"
        lines.append(f"{each.target}: {each.reason}\n  {each.file}\n  {repeat}")
    return lines


if __name__ == "__main__":
    main()
