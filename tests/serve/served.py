"""A real server in its own process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).parents[2]


@dataclass
class Served:
    """A running server and a client for it."""

    process: subprocess.Popen[bytes]
    url: str
    client: httpx.Client

    def added(self, *files: tuple[str, bytes]) -> dict[str, Any]:
        """Upload files and wait for the end of their job."""
        answer = self.client.post("/api/add", files=[("files", file) for file in files])
        assert answer.status_code == 202, answer.text
        return self.finished(answer.json()["job"])

    def children(self) -> list[str]:
        """The child processes of the server: pid and command line."""
        listed = subprocess.run(
            ["ps", "--ppid", str(self.process.pid), "-ww", "-o", "pid=,args="], capture_output=True, text=True
        )
        return [line.strip() for line in listed.stdout.splitlines()]

    def finished(self, job: str) -> dict[str, Any]:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            state: dict[str, Any] = self.client.get(f"/api/jobs/{job}").json()
            if state["state"] in ("done", "failed"):
                return state
            time.sleep(0.05)
        raise AssertionError(f"the job has not ended: {state}")


def environment(**others: str) -> dict[str, str]:
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path, "CITEWELL_BACKGROUND": "off", **others}


def command(library: Path, *options: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "citewell",
        "serve",
        "--no-open",
        "--port",
        "0",
        "--json",
        "--library",
        str(library),
        *options,
    ]


@contextmanager
def serving(library: Path, *options: str, **variables: str) -> Iterator[Served]:
    """Start a server, and stop it in any case."""
    process = subprocess.Popen(command(library, *options), stdout=subprocess.PIPE, env=environment(**variables))
    try:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        with httpx.Client(base_url=url, timeout=60, trust_env=False) as client:
            yield Served(process, url, client)
    finally:
        if process.poll() is None:
            process.terminate()
        try:
            process.wait(30)
        finally:
            process.kill()
            assert process.stdout is not None
            process.stdout.close()
