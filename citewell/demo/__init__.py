"""The demo library and an example draft.

`library.jsonl` is the literature on citation recommendation and related topics: bibliographic data, citations, and our own
summary of each paper. `draft.tex`, `draft.md` and `draft.txt` are the same short manuscript with gaps, `refs.bib` is its
bibliography, and `answers.json` lists the relevant papers of each gap.
"""

from importlib.resources import files
from pathlib import Path


def path(name: str) -> Path:
    """The path of the demo file `name`."""
    return Path(str(files(__name__).joinpath(name)))
