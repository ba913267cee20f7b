"""citewell suggests what to cite, and says why.

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
    from citewell.draft.manuscript import Manuscript, check
    from citewell.errors import CitewellError
    from citewell.library.library import Library
    from citewell.papers import Context, Draft, Paper, Query, Reason, Reference, Suggestion
    from citewell.pipeline.api import prepare, search, suggest
    from citewell.pipeline.pipeline import Pipeline
    from citewell.pipeline.results import Results

__version__ = "0.1.0"
__all__ = [
    "CitewellError",
    "Context",
    "Draft",
    "Library",
    "Manuscript",
    "Paper",
    "Pipeline",
    "Query",
    "Reason",
    "Reference",
    "Results",
    "Suggestion",
    "check",
    "prepare",
    "search",
    "suggest",
]

_MODULES = {
    "CitewellError": "errors",
    "Library": "library.library",
    "Manuscript": "draft.manuscript",
    "Pipeline": "pipeline.pipeline",
    "Results": "pipeline.results",
    "check": "draft.manuscript",
    "prepare": "pipeline.api",
    "search": "pipeline.api",
    "suggest": "pipeline.api",
}


def __getattr__(name: str) -> Any:
    """Load public names when they are first used, so that ``citewell --help`` does not wait for numpy."""
    if name not in __all__:
        raise AttributeError(f"module 'citewell' has no attribute {name!r}")
    return getattr(import_module(f"citewell.{_MODULES.get(name, 'papers')}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__", "stages"]
