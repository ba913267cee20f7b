"""Plugins: readers, draft formats, stages and pipelines that any installed package can add.

A package registers an object under a name in one of four entry point groups: ``citewell.readers``, ``citewell.drafts``,
``citewell.stages`` and ``citewell.pipelines``. citewell registers its own objects in the same groups, in pyproject.toml.
Nothing is imported before it is used.

This module reads the ``entry_points.txt`` files on ``sys.path`` itself, in 2 ms with a hundred packages installed.
`importlib.metadata` finds the same entry points, but its import takes 50 ms, which would slow down a cold `suggest`.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from citewell.errors import CitewellError

OWN_PACKAGE = "citewell"
_METADATA_FOLDERS = (".dist-info", ".egg-info")
_SEPARATORS = re.compile(r"[-_.]+")


class PluginError(CitewellError):
    """A plugin that cannot be loaded or that fails; the message names it and its package."""


class Plugin(NamedTuple):
    """One entry point: the name of an object, where it is, and the package that registers it."""

    group: str
    name: str
    value: str
    """The object as ``package.module`` or ``package.module:attribute``."""
    package: str

    @property
    def own(self) -> bool:
        """Whether citewell itself registers it."""
        return self.package == OWN_PACKAGE

    def __str__(self) -> str:
        kind = "draft format" if self.group == "citewell.drafts" else self.group.removeprefix("citewell.").removesuffix("s")
        return f"{kind} {self.name!r}" if self.own else f"{kind} {self.name!r} of the package {self.package}"

    def load(self) -> Any:
        """The object itself; raises `PluginError` if it belongs to another package and cannot be imported."""
        module, _, attributes = self.value.partition("[")[0].strip().partition(":")
        try:
            loaded: Any = import_module(module.strip())
            for attribute in filter(None, attributes.strip().split(".")):
                loaded = getattr(loaded, attribute)
        except Exception as error:
            if self.own:
                raise
            raise self.error(error) from error
        return loaded

    def error(self, error: Exception | str) -> PluginError:
        """An error with a one-line message that names this plugin and its package."""
        reason = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
        reason = " ".join(reason.split())[:300].rstrip(".")
        return PluginError(f"the {self} does not work ({reason}); update or uninstall {self.package}")


def plugins(group: str) -> dict[str, Plugin]:
    """The plugins of a group by name, in alphabetical order.

    Of two with the same name, citewell's own wins, else the one whose package comes first on ``sys.path``.
    """
    named: dict[str, Plugin] = {}
    for plugin in _own_entry_points() or ():
        if plugin.group == group:
            named[plugin.name] = plugin
    for plugin in _installed(tuple(sys.path)):
        if plugin.group == group and not (plugin.own and _own_entry_points() is not None):
            previous = named.get(plugin.name)
            if previous is None or (plugin.own and not previous.own):
                named[plugin.name] = plugin
    return dict(sorted(named.items()))


@lru_cache(maxsize=1)
def _own_entry_points() -> tuple[Plugin, ...] | None:
    """citewell's own plugins from the pyproject.toml of a source checkout; None in an installed copy.

    In a checkout, the metadata of an earlier installation may be out of date and lack a reader that was just added.
    """
    import tomllib

    try:
        project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))["project"]
    except (OSError, ValueError, KeyError):
        return None
    if project.get("name") != OWN_PACKAGE:
        return None
    groups = project.get("entry-points", {})
    return tuple(Plugin(group, name, groups[group][name], OWN_PACKAGE) for group in groups for name in groups[group])


@lru_cache(maxsize=4)
def _installed(path: tuple[str, ...]) -> tuple[Plugin, ...]:
    """The entry points in citewell's groups of every package on `path`; if a package is there twice, the first one wins."""
    packages: set[str] = set()
    entry_points: list[Plugin] = []
    for folder in dict.fromkeys(path):
        for package, file in _metadata_files(folder or "."):
            if package not in packages:
                packages.add(package)
                entry_points += _parsed(file, package)
    return tuple(entry_points)


def _metadata_files(folder: str) -> Iterator[tuple[str, str]]:
    """The packages installed in `folder`, in alphabetical order, each with the path of its entry points."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(_METADATA_FOLDERS))  # noqa: PTH208
    except OSError:  # not a folder, or no longer there
        return
    for name in names:
        package = name.rpartition(".")[0].partition("-")[0]
        yield _SEPARATORS.sub("-", package).lower(), os.path.join(folder, name, "entry_points.txt")  # noqa: PTH118


def _parsed(file: str, package: str) -> Iterator[Plugin]:
    try:
        with open(file, "rb") as opened:  # noqa: PTH123
            content = opened.read()
    except OSError:  # most packages have no entry points
        return
    if b"citewell." not in content:
        return
    group = ""
    for line in map(str.strip, content.decode("utf-8", "replace").splitlines()):
        if line.startswith("["):
            group = line.strip("[] ")
        elif group.startswith("citewell.") and "=" in line and not line.startswith(("#", ";")):
            name, _, value = line.partition("=")
            yield Plugin(group, name.strip(), value.strip(), package)
