"""citewell tells a researcher what to cite, and why.

The public API on one screen::

    from citewell import Library, Query, prepare, suggest

    library = Library("my-papers")
    library.add(["refs.bib"])
    prepare(library)
    for suggestion in suggest(library, Query(title="...", abstract="...")):
        print(suggestion.paper.title, [reason.text for reason in suggestion.reasons])
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from citewell.errors import CitewellError
    from citewell.library.library import Library
    from citewell.papers import Context, Draft, Paper, Query, Reference, Suggestion
    from citewell.pipeline.pipeline import prepare, search, suggest

__version__ = "0.1.0"
__all__ = [
    "CitewellError",
    "Context",
    "Draft",
    "Library",
    "Paper",
    "Query",
    "Reference",
    "Suggestion",
    "prepare",
    "search",
    "suggest",
]

_HOMES = {
    "CitewellError": "errors",
    "Library": "library.library",
    "prepare": "pipeline.pipeline",
    "search": "pipeline.pipeline",
    "suggest": "pipeline.pipeline",
}


def __getattr__(name: str) -> Any:
    """Load the public names when they are first used, so that ``citewell --help`` does not wait for numpy."""
    if name not in __all__:
        raise AttributeError(f"module 'citewell' has no attribute {name!r}")
    return getattr(import_module(f"citewell.{_HOMES.get(name, 'papers')}"), name)
