"""Draws ``demo.svg``, the picture in the README, from what ``citewell suggest`` really prints: ``make pictures``."""

from __future__ import annotations

import io
import re
import tempfile
from pathlib import Path

from rich.console import Console

from citewell import demo
from citewell.cli.suggest import print_tables
from citewell.library import Library
from citewell.papers import Query
from citewell.pipeline.registry import pipeline

PICTURE = Path(__file__).with_name("demo.svg")
_GAP = "documents are mixtures of topics that a generative model infers from their words, as in TARGETCIT"


def picture() -> str:
    """A gap and three suggestions for it, as a terminal shows them."""
    console = Console(record=True, width=104, file=io.StringIO(), force_terminal=True)
    with tempfile.TemporaryDirectory() as folder:
        library = Library(folder)
        library.add([demo.path("library.jsonl")])
        best = pipeline()
        best.prepare(library)
        query = Query("local", context=_GAP)
        console.print(
            f'$ citewell suggest -k 3 --context "{_GAP.replace("TARGETCIT", "[?]")}"\n', highlight=False, markup=False
        )
        print_tables([(None, best.suggest(library, query, 3))], console=console)
        library.close()
    # rich refers to fonts on another host. Without them the picture uses the fixed-width font of the reader.
    return re.sub(r"@font-face \{.*?\}\s*", "", console.export_svg(title="citewell"), flags=re.DOTALL)


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
