"""Many clients at once: ``python -m benchmarks.load LIBRARY [--clients 50] [--seconds 60] [--pipeline fast] [--pause 0]``.

Starts its own server on loopback. Each client asks what to cite at a gap, waits for the answer, pauses, and asks about the next
gap; with no pause, which is the default, that many requests are always under way. The gaps are the library's own contexts, each
with the title and abstract of its paper (`benchmarks/queries.py`): 5,000 at most, after which they repeat; the server keeps no
answers. Clients and server share the machine.

``--threads N`` asks without a server: threads of one process, each with the library opened for itself.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from benchmarks import checkouts
from benchmarks.queries import library_queries

_GAPS = 5_000
_PATIENCE = 60.0
_FIRST_SECONDS = 3.0
"""Answers of the first seconds are not counted: the processes are still warming up."""


def bodies(library: Path, pipeline: str) -> list[bytes]:
    """The bodies of the requests, all different."""
    return [
        json.dumps({"context": each.context, "title": each.title, "abstract": each.abstract, "pipeline": pipeline}).encode()
        for each in library_queries(library, _GAPS)
    ]


class Load:
    """The clients of one run, and what they measured."""

    def __init__(self, url: str, bodies: list[bytes], pause: float) -> None:
        self._url = url
        self._bodies = bodies
        self._pause = pause
        self.requests = 0
        self.seconds: list[float] = []
        self.errors: Counter[str] = Counter()

    async def run(self, clients: int, seconds: float) -> None:
        start = time.monotonic() + _FIRST_SECONDS
        await asyncio.gather(*(self._client(start, start + seconds, number / clients) for number in range(clients)))

    async def _client(self, start: float, end: float, share: float) -> None:
        await asyncio.sleep(self._pause * share)  # so that clients which pause do not all send at once
        connection = Connection(self._url)
        while (sent_at := time.monotonic()) < end:
            body = self._bodies[self.requests % len(self._bodies)]
            self.requests += 1
            try:
                async with asyncio.timeout(_PATIENCE):
                    status, content = await connection.post("/api/suggest", body)
                error = "" if status == 200 and json.loads(content)["suggestions"] else f"status {status}"
            except (OSError, TimeoutError, asyncio.IncompleteReadError, ValueError) as trouble:
                error = type(trouble).__name__
                connection = Connection(self._url)
            if error:
                self.errors[error] += 1
            elif sent_at >= start:
                self.seconds.append(time.monotonic() - sent_at)
            await asyncio.sleep(self._pause)


class Connection:
    """One persistent connection. Written by hand: a client library takes as much CPU time as half an answer."""

    def __init__(self, url: str) -> None:
        place = urlsplit(url)
        self._host, self._port = str(place.hostname), place.port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str, body: bytes) -> tuple[int, bytes]:
        """Status and body of the answer."""
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._host, self._port)
        reader, writer = self._streams
        headers = {"Host": self._host, "Content-Type": "application/json", "Content-Length": len(body)}
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        writer.write(f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + body)
        lines = (await reader.readuntil(b"\r\n\r\n")).lower().split(b"\r\n")
        length = next(int(line.partition(b":")[2]) for line in lines if line.startswith(b"content-length:"))
        return int(lines[0].split()[1]), await reader.readexactly(length)


def measured(library: Path, clients: int, seconds: float, pipeline: str, pause: float, workers: int) -> dict[str, Any]:
    """Start a server, put it under load, stop it."""
    command = [sys.executable, "-m", "citewell", "serve", "--no-open", "--port", "0", "--json", "--library", str(library)]
    command += ["--workers", str(workers)] if workers else []
    with subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "CITEWELL_BACKGROUND": "off"}) as server:
        try:
            assert server.stdout is not None
            url = json.loads(server.stdout.readline())["url"]
            load = Load(url, bodies(library, pipeline), pause)
            before = time.process_time()
            asyncio.run(load.run(clients, seconds))
            ours = time.process_time() - before
        finally:
            server.send_signal(signal.SIGTERM)
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    requests = max(1, load.requests)
    quantiles = np.quantile(load.seconds, (0.5, 0.95, 0.99, 1.0)).tolist() if load.seconds else [float("nan")] * 4
    names = ("median", "p95", "p99", "worst")
    return {
        "pipeline": pipeline,
        "clients": clients,
        "pause": pause,
        "seconds": seconds,
        "answers": len(load.seconds),
        "per second": len(load.seconds) / seconds,
        "errors": dict(load.errors),
        **dict(zip(names, quantiles, strict=True)),
        "server CPU per request": (usage.ru_utime + usage.ru_stime) / requests,
        "client CPU per request": ours / requests,
    }


def in_threads(library: Path, threads: int, seconds: float, pipeline: str) -> float:
    """Answers per second by threads of this process."""
    from citewell.library import Library
    from citewell.papers import Query

    payloads = iter([json.loads(body) for body in bodies(library, pipeline)] * 100)
    lock, counts = threading.Lock(), [0] * threads
    checkouts.load_compiled()

    def work(number: int) -> None:
        with Library(library) as mine:
            chosen = checkouts.pipeline(pipeline)
            while time.monotonic() < end:
                with lock:
                    body = next(payloads)
                chosen.suggest(mine, Query("local", body["title"], body["abstract"], body["context"]))
                counts[number] += 1

    start = time.monotonic()
    end = start + seconds
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(threads)))
    return sum(counts) / (time.monotonic() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", type=Path)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--pipeline", default="fast")
    parser.add_argument("--pause", type=float, default=0.0, help="seconds between an answer and the next request")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--threads", type=int, default=0, help="no server, this many threads instead")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    if chosen.threads:
        per_second = in_threads(chosen.library, chosen.threads, chosen.seconds, chosen.pipeline)
        result = {"threads": chosen.threads, "per second": per_second}
        print(json.dumps(result) if chosen.json else f"{per_second:.0f} answers per second")
        return
    measurement = measured(chosen.library, chosen.clients, chosen.seconds, chosen.pipeline, chosen.pause, chosen.workers)
    if chosen.json:
        print(json.dumps(measurement))
        return
    errors = ", ".join(f"{count} {name}" for name, count in measurement["errors"].items()) or "none"
    shown = ("median", "p95", "p99", "worst", "server CPU per request", "client CPU per request")
    print(f"| pipeline | clients | pause | answers per second | errors | {' | '.join(shown)} |")
    print(f"{'|---' * (5 + len(shown))}|")
    times = " | ".join(f"{1000 * measurement[name]:.3g} ms" for name in shown)
    print(
        f"| {chosen.pipeline} | {chosen.clients} | {chosen.pause:g} s | {measurement['per second']:.0f} | {errors} | {times} |"
    )


if __name__ == "__main__":
    main()
