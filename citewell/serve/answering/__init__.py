"""What the processes do: one function for each thing that can be asked, by its name.

Each is handed the library, what the client gave (checked against its shape already), and the bytes that came with it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import msgspec

from citewell.library.library import Library
from citewell.serve.messages import Reply

Given = dict[str, Any]

_HOMES = {
    "warm-up": "asking",
    "suggest": "asking",
    "search": "asking",
    "related": "asking",
    "health": "papers",
    "library": "papers",
    "pipelines": "papers",
    "papers": "papers",
    "paper": "papers",
    "export": "papers",
    "draft": "drafts",
    "draft-file": "drafts",
    "check": "drafts",
    "accept": "drafts",
}
"""The module of this package that has each, as a function of that name; they are imported when first asked for."""


def answer(what: str, library: Library, given: Given, attached: bytes) -> tuple[Reply, bytes]:
    """The answer: what a function returns becomes JSON, unless it is a reply already."""
    function: Callable[[Library, Given, bytes], object]
    function = getattr(import_module(f"citewell.serve.answering.{_HOMES[what]}"), what.replace("-", "_"))
    found = function(library, given, attached)
    if isinstance(found, tuple):
        head, body = found
        return head, body
    return Reply(), msgspec.json.encode(found)
