"""The code that runs in the worker processes: one function per API operation.

Each function receives the library, the validated parameters of the request, and the uploaded bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import msgspec

from citewell.library.library import Library
from citewell.serve.messages import WorkerResponse

Parameters = dict[str, Any]

_MODULES = {
    "warm-up": "suggest",
    "suggest": "suggest",
    "search": "suggest",
    "related": "suggest",
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
    "feedback-status": "feedback",
    "feedback-mark": "feedback",
    "feedback-consent": "feedback",
    "feedback-delete": "feedback",
}
"""The module of this package that defines each handler; modules are imported at the first call."""


def handle(handler: str, library: Library, parameters: Parameters, body: bytes) -> tuple[WorkerResponse, bytes]:
    """Call a handler. Its result becomes JSON, unless it is a complete response."""
    function: Callable[[Library, Parameters, bytes], object]
    function = getattr(import_module(f"citewell.serve.handlers.{_MODULES[handler]}"), handler.replace("-", "_"))
    result = function(library, parameters, body)
    if isinstance(result, tuple):
        head, content = result
        return head, content
    return WorkerResponse(), msgspec.json.encode(result)
