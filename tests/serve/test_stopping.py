"""The server ends soon after a signal, without a traceback, whatever its clients do."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from served import command, environment

SLOW = (
    b"POST /api/add HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=x\r\n"
    b"Content-Length: 1000000\r\n\r\n--x"
)
"""The beginning of an upload that never ends."""


def children(server: int) -> list[int]:
    listed = subprocess.run(["ps", "--ppid", str(server), "-o", "pid="], capture_output=True, text=True)
    return [int(pid) for pid in listed.stdout.split()]


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_within_two_seconds(tmp_path: Path, ending: signal.Signals) -> None:
    process = subprocess.Popen(
        command(tmp_path / "library"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), text=True
    )
    assert process.stdout is not None and process.stderr is not None
    answers: list[int] = []
    try:
        url = json.loads(process.stdout.readline())["url"]
        address = (urlsplit(url).hostname, urlsplit(url).port)
        with (
            httpx.Client(base_url=url, trust_env=False, timeout=60) as client,
            socket.create_connection(address) as silent,
            socket.create_connection(address) as uploading,
        ):
            assert client.get("/api/health").status_code == 200  # the connection stays open
            uploading.sendall(SLOW)

            for child in children(process.pid):  # so that no request ends by itself
                os.kill(child, signal.SIGSTOP)

            def ask() -> None:
                query = {"title": "boats", "pipeline": "fast"}
                answers.append(httpx.post(f"{url}api/suggest", json=query, trust_env=False, timeout=60).status_code)

            threads = [threading.Thread(target=ask) for _ in range(3)]
            for thread in threads:
                thread.start()
            time.sleep(0.5)
            begin = time.monotonic()
            process.send_signal(ending)
            code = process.wait(20)
            took = time.monotonic() - begin
            for thread in threads:
                thread.join(20)
            assert silent.recv(1) == b""
        printed = process.stderr.read()
        assert code == 0
        assert took < 2, took
        assert "Traceback" not in printed and "Error" not in printed, printed
        assert set(answers) == {503}
    finally:
        process.kill()
        process.stdout.close()
        process.stderr.close()
