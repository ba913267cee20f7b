"""The registered readers, of citewell and of other packages, and the choice of a reader for a file.

Readers are in the entry point group ``citewell.readers``. `find_reader` tries them in order of priority, the highest first, and
of name for equal priorities; the first one whose `matches` accepts the beginning of the file is chosen. If a reader of another
package cannot be imported or fails, one line in the log names it, and the other readers still work.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Protocol, cast

from citewell.papers import Context, Paper, Problem, Remainder
from citewell.plugins import Plugin, PluginError, plugins
from citewell.sources.source import InputError, Source

GROUP = "citewell.readers"
DEFAULT_PRIORITY = 0
"""The priority of a reader without one: lower than that of every reader of citewell but the one of tables."""

Record = Paper | Context | Problem | Remainder


class Reader(Protocol):
    """The interface of a reader, which is a module or an object. `PRIORITY`, an int, is optional."""

    NAME: str

    def matches(self, head: bytes) -> bool: ...

    def read(self, source: Source) -> Iterator[Record]: ...


def readers() -> tuple[Reader, ...]:
    """Every reader that can be loaded, in the order in which `find_reader` tries them."""
    return tuple(reader for _, reader in _loaded(tuple(sys.path)))


def reader_names() -> list[str]:
    """The names of these readers, in the same order."""
    return [name for name, _ in _loaded(tuple(sys.path))]


def reader(name: str) -> Reader:
    """The reader called `name`, such as ``bibtex``; no other is imported."""
    return _load(plugins(GROUP)[name])


def find_reader(head: bytes) -> Reader | None:
    """The reader for a file that begins with `head`, or None if no reader accepts it."""
    return next((reader for reader in readers() if reader.matches(head)), None)


@lru_cache(maxsize=4)
def _loaded(path: tuple[str, ...]) -> tuple[tuple[str, Reader], ...]:
    """The name and the reader of each plugin on `path`, the highest priority first."""
    loaded = []
    for name, plugin in plugins(GROUP).items():
        try:
            loaded.append((name, _load(plugin)))
        except PluginError as error:
            _warn(error)
    return tuple(sorted(loaded, key=lambda item: (-priority(item[1]), item[0])))


def priority(reader: Reader) -> int:
    """The priority of a reader; higher comes first."""
    return cast(int, getattr(reader, "PRIORITY", DEFAULT_PRIORITY))


def _warn(error: PluginError) -> None:
    import logging

    logging.getLogger(__name__).warning("citewell: %s", error)


def _load(plugin: Plugin) -> Reader:
    loaded: Any = plugin.load()
    if plugin.own:
        return cast(Reader, loaded)
    lacking = [name for name in ("matches", "read") if not callable(getattr(loaded, name, None))]
    if lacking:
        raise plugin.error(f"{plugin.value} has no function {' or '.join(lacking)}")
    if not isinstance(priority(loaded), int):
        raise plugin.error(f"PRIORITY of {plugin.value} is not an integer")
    return _Guarded(plugin, loaded)


class _Guarded:
    """A reader of another package, whose errors become one line that names the package."""

    def __init__(self, plugin: Plugin, reader: Reader) -> None:
        self._plugin = plugin
        self._reader = reader
        self.NAME = str(getattr(reader, "NAME", plugin.name))
        self.PRIORITY = priority(reader)

    def matches(self, head: bytes) -> bool:
        try:
            return bool(self._reader.matches(head))
        except Exception as error:
            _warn(self._plugin.error(error))
            return False

    def read(self, source: Source) -> Iterator[Record]:
        try:
            yield from self._reader.read(source)
        except (InputError, OSError):
            raise
        except Exception as error:
            raise InputError(str(self._plugin.error(error))) from error
