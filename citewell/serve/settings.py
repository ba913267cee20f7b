"""What a server is started with."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Settings:
    """One server's."""

    library: Path
    token: str = ""
    """What clients must show; empty where none is needed, which is on loopback alone."""
    loopback: bool = True
    """Whether only programs of this machine can reach it."""
    workers: int = 0
    """How many processes answer quick requests; 0: as many as there are cores, four at most."""
    seconds: float = 30.0
    """What takes longer is given up."""
    upload_bytes: int = 100_000_000
    body_bytes: int = 4_000_000
    """The largest body that is not an upload."""
    rate: float = 0.0
    """Requests a second that one client may make for long; 0: 20, or 500 on loopback, where all programs are one client."""

    @property
    def quick_workers(self) -> int:
        return self.workers or min(4, os.cpu_count() or 1)

    @property
    def requests_a_second(self) -> float:
        return self.rate or (500.0 if self.loopback else 20.0)
