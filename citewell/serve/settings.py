"""The settings of a server."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from citewell import threads
from citewell.serve import memory


@dataclass(frozen=True, slots=True)
class Settings:
    """What `citewell serve` starts a server with."""

    library: Path
    token: str = ""
    """The token that clients must send; empty means none, which is allowed on loopback only."""
    loopback: bool = True
    """Whether only programs on this machine can reach the server."""
    workers: int = 0
    """The number of processes for fast requests; 0 means one per core, at most four."""
    seconds: float = 30.0
    """The time limit of a request."""
    upload_bytes: int = 100_000_000
    body_bytes: int = 4_000_000
    """The largest request body that is not an upload."""
    memory_bytes: int = 0
    """The memory that each worker and import process may use; 0 means half of the machine's, but at least 2 GiB."""
    rate: float = 0.0
    """Requests per second that one client may make; 0 means 20, or 500 on loopback, where all programs count as one client."""

    @property
    def fast_workers(self) -> int:
        return self.workers or min(4, threads.cores())

    @property
    def process_bytes(self) -> int:
        return self.memory_bytes or memory.default_bytes()

    @property
    def requests_per_second(self) -> float:
        return self.rate or (500.0 if self.loopback else 20.0)
