"""Reads Word files.

The content of the file is converted to Markdown (see `docx_document`), which is then read like any Markdown. That Markdown is
the source of the draft: every place in it is a place in a text that a person can look at, copy and read again.
"""

from __future__ import annotations

import zipfile

from citewell.draft import markdown
from citewell.draft.archives import open_archive
from citewell.draft.files import DraftSource
from citewell.papers import Draft, Place

PRIORITY = 40
BINARY = True
MAIN_PART = "word/document.xml"


def matches(source: DraftSource) -> bool:
    """Whether a manuscript is a Word file."""
    if not source.data.startswith(b"PK\x03\x04"):
        return False
    try:
        with open_archive(source.data) as parts:
            return MAIN_PART in parts.namelist()
    except zipfile.BadZipFile:
        return False


def read(source: DraftSource) -> Draft:
    """The draft in a Word file, or in the Markdown that was made from one before."""
    if not source.data:
        return markdown.read(source)
    from citewell.draft.docx_document import convert

    converted = convert(source.data, source.name)
    text = converted.markdown.text
    draft = markdown.read(DraftSource.of_text(text))
    draft.bibliography |= converted.works
    draft.entries = {
        key: Place("", begin, end, text.count("\n", 0, begin) + 1) for key, (begin, end) in converted.references.items()
    }
    draft.notes = converted.notes
    return draft
