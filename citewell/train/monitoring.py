"""Who watches a training."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class Watcher(Protocol):
    """Is told how many steps there will be, and how many more are done."""

    def training(self, steps: int) -> None: ...

    def trained(self, steps: int) -> None: ...


class Unwatched:
    """Nobody does."""

    def training(self, steps: int) -> None: ...

    def trained(self, steps: int) -> None: ...
