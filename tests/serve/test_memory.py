"""The limit on the memory of worker processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from served import environment, serving

from citewell.serve import memory, worker
from citewell.serve.settings import Settings

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the data of a process")


def test_the_default_is_half_of_the_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert Settings(tmp_path).process_bytes == memory.default_bytes() >= 2 << 30
    assert Settings(tmp_path, memory_bytes=7).process_bytes == 7
    (tmp_path / "memory.max").write_text(f"{2 << 20}\n")
    monkeypatch.setattr(memory, "_CGROUP", tmp_path / "memory.max")
    monkeypatch.setattr(memory, "_MIN_BYTES", 1)
    assert memory.default_bytes() == 1 << 20
    (tmp_path / "memory.max").write_text("max\n")
    assert memory.default_bytes() > 1 << 20


@linux
def test_a_process_cannot_use_more() -> None:
    program = """
from citewell.serve import memory
memory.limit(500_000_000)
try:
    data = bytearray(1_000_000_000)
except MemoryError:
    print(memory.exceeded(memory.current_limit()))
memory.lift()
print(len(bytearray(600_000_000)))
"""
    done = subprocess.run([sys.executable, "-c", program], env=environment(), capture_output=True, text=True)
    assert done.stdout.splitlines() == [
        "The request needs more memory than the 500 MB that a process of the server may use; send a smaller one, or start the"
        " server with a larger --memory.",
        "600000000",
    ], done.stderr


@linux
def test_a_request_that_needs_too_much_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def needy(*given: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(worker, "handle", needy)
    monkeypatch.setattr(memory, "current_limit", lambda: 500_000_000)

    class NoLibrary:
        def latest(self) -> None: ...

    response, body = worker.respond(NoLibrary(), b'{"handler": "health", "parameters": {}}', b"")  # type: ignore[arg-type]
    assert response.status == 503
    assert b"more memory than the 500 MB" in body
    assert capsys.readouterr().err.count("\n") == 1


@linux
def test_workers_have_the_limit_of_the_option(tmp_path: Path) -> None:
    with serving(tmp_path / "library", "--memory", "3000") as served:
        assert served.client.get("/api/health").status_code == 200
        workers = [child.split()[0] for child in served.children() if "worker" in child]
        limits = [Path(f"/proc/{pid}/limits").read_text() for pid in workers]
        assert limits
        assert all("3000000000" in each for each in limits)
        assert served.added(("a.bib", b"@article{a, title={Boats}, year=2001}"))["state"] == "done"
