"""The draft readers that are installed, citewell's own and those of other packages, and which of them reads a manuscript.

A reader is a module or an object that is registered in the entry point group ``citewell.drafts``; the name of the entry point
is the name of the format::

    PRIORITY = 50                                     # optional: readers with a higher one are tried first (default: 50)
    BINARY = False                                    # optional: whether it reads files that are not text
    def matches(source: DraftSource) -> bool: ...     # does this manuscript have the format, by its content or its suffix?
    def read(source: DraftSource) -> Draft: ...

citewell's own readers (docx, notebook, typst, org, latex, markdown, text) have priorities from 40 down to 0, and ``text``
accepts everything, so other readers are tried first. A reader of another package that cannot be imported or that fails gets one
line in the log and does not stop the others.
"""

from __future__ import annotations

import logging
import sys
from functools import lru_cache
from typing import Any, Protocol, cast

from citewell.draft.files import DraftSource
from citewell.draft.sections import without_keywords
from citewell.errors import CitewellError
from citewell.papers import Draft
from citewell.plugins import Plugin, PluginError, plugins

GROUP = "citewell.drafts"
DEFAULT_PRIORITY = 50

_log = logging.getLogger(__name__)


class DraftReader(Protocol):
    """The object that an entry point names. `PRIORITY`, an int, and `BINARY`, a bool, are optional."""

    def matches(self, source: DraftSource) -> bool: ...

    def read(self, source: DraftSource) -> Draft: ...


def formats() -> list[str]:
    """The names of the registered formats; no reader is imported."""
    return list(plugins(GROUP))


def detect(source: DraftSource) -> str:
    """The name of a manuscript's format."""
    return next((name for name, reader in _readers(tuple(sys.path)) if reader.matches(source)), "text")


def is_binary(format: str) -> bool:
    """Whether manuscripts of a format are not text, as Word files."""
    return bool(getattr(_reader(format), "BINARY", False))


def is_own(format: str) -> bool:
    """Whether the reader of a format is citewell's own."""
    plugin = plugins(GROUP).get(format)
    return plugin is not None and plugin.own


def read(source: DraftSource, format: str = "") -> Draft:
    """The draft in a manuscript, by the reader of its format."""
    format = format or detect(source)
    draft = _reader(format).read(source)
    draft.format = format
    draft.abstract = without_keywords(draft.abstract)
    return draft


def _reader(format: str) -> DraftReader:
    plugin = plugins(GROUP).get(format)
    if plugin is None:
        raise CitewellError(f"there is no draft format {format!r}; choose one of {', '.join(formats())}")
    return _load(plugin)


@lru_cache(maxsize=4)
def _readers(path: tuple[str, ...]) -> tuple[tuple[str, DraftReader], ...]:
    """The name and the reader of each plugin on `path`, the highest priority first."""
    readers = []
    for name, plugin in plugins(GROUP).items():
        try:
            readers.append((name, _load(plugin)))
        except PluginError as error:
            _log.warning("citewell: %s", error)
    return tuple(sorted(readers, key=lambda item: (-_priority(item[1]), item[0])))


def _priority(reader: DraftReader) -> int:
    return cast(int, getattr(reader, "PRIORITY", DEFAULT_PRIORITY))


def _load(plugin: Plugin) -> DraftReader:
    loaded: Any = plugin.load()
    if plugin.own:
        return cast(DraftReader, loaded)
    missing = [name for name in ("matches", "read") if not callable(getattr(loaded, name, None))]
    if missing:
        raise plugin.error(f"{plugin.value} has no function {' or '.join(missing)}")
    if not isinstance(_priority(loaded), int):
        raise plugin.error(f"PRIORITY of {plugin.value} is not an integer")
    return _Guarded(plugin, loaded)


class _Guarded:
    """A reader of another package; its errors become one line that names the package."""

    def __init__(self, plugin: Plugin, reader: DraftReader) -> None:
        self._plugin = plugin
        self._reader = reader
        self.PRIORITY = _priority(reader)
        self.BINARY = bool(getattr(reader, "BINARY", False))

    def matches(self, source: DraftSource) -> bool:
        try:
            return bool(self._reader.matches(source))
        except Exception as error:
            _log.warning("citewell: %s", self._plugin.error(error))
            return False

    def read(self, source: DraftSource) -> Draft:
        try:
            draft = self._reader.read(source)
        except CitewellError:
            raise
        except Exception as error:
            raise self._plugin.error(error) from error
        if not isinstance(draft, Draft):
            raise self._plugin.error(f"its reader returns {type(draft).__name__}, not a Draft")
        return draft
