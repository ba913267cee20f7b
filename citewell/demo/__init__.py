"""The demo library and a draft to try it on: `library.jsonl` holds the literature of citation recommendation and its neighbours
(bibliographic facts, who cites whom, and our own summary of each paper); `draft.tex`, `draft.md` and `draft.txt` are one short
manuscript with open places for citations, `refs.bib` lists the works it cites already, and `answers.json` says what each open
place is after.
"""

from importlib.resources import files
from pathlib import Path


def path(name: str) -> Path:
    """Where the demo file `name` lies on disk."""
    return Path(str(files(__name__).joinpath(name)))
