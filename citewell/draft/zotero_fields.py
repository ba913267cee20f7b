"""The fields by which Zotero for Word knows a citation and the reference list, as WordprocessingML.

Zotero manages any field that has its instruction: it looks the works up by their URIs, and where its library does not have
them it uses what the field says about them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape

from citewell.export import public
from citewell.export.csl_json import item
from citewell.papers import Paper

_SCHEMA = "https://github.com/citation-style-language/schema/raw/master/csl-citation.json"
_LIST = ' ADDIN ZOTERO_BIBL {"uncited":[],"omitted":[],"custom":[]} CSL_BIBLIOGRAPHY '


def citation_item(paper: Paper, key: str) -> dict[str, Any]:
    """A cited work as Zotero stores it in a field."""
    data = item(public(paper), key)
    data.pop("custom", None)
    return {"id": key, "uris": [_uri(paper, key)], "itemData": data}


def citation(items: Sequence[Mapping[str, Any]], shown: str, properties: str, prefix: str, place: str) -> str:
    """The runs of a citation; `place` makes the name of the citation unique in its document."""
    stored = {
        "citationID": hashlib.sha256(f"{place} {shown}".encode()).hexdigest()[:10],
        "properties": {"formattedCitation": shown, "plainCitation": shown, "noteIndex": 0},
        "citationItems": list(items),
        "schema": _SCHEMA,
    }
    instruction = f" ADDIN ZOTERO_ITEM CSL_CITATION {json.dumps(stored, ensure_ascii=False)} "
    return field_begin(instruction, properties, prefix) + run(shown, properties, prefix) + field_end(properties, prefix)


def reference_list(paragraphs: Sequence[str], properties: str, prefix: str) -> list[str]:
    """The paragraphs of a reference list that Zotero keeps up to date."""
    last = len(paragraphs) - 1
    return [
        paragraph(
            (field_begin(_LIST, "", prefix) if at == 0 else "")
            + run(text, "", prefix)
            + (field_end("", prefix) if at == last else ""),
            properties,
            prefix,
        )
        for at, text in enumerate(paragraphs)
    ]


def paragraph(runs: str, properties: str, prefix: str) -> str:
    """A paragraph."""
    return f"<{prefix}p>{properties}{runs}</{prefix}p>"


def run(text: str, properties: str, prefix: str) -> str:
    """A run of text."""
    return f'<{prefix}r>{properties}<{prefix}t xml:space="preserve">{escape(text)}</{prefix}t></{prefix}r>'


def field_begin(instruction: str, properties: str, prefix: str) -> str:
    """The runs of a field before its result."""
    text = f'<{prefix}instrText xml:space="preserve">{escape(instruction)}</{prefix}instrText>'
    return (
        f"{_mark('begin', properties, prefix)}<{prefix}r>{properties}{text}</{prefix}r>{_mark('separate', properties, prefix)}"
    )


def field_end(properties: str, prefix: str) -> str:
    """The run after the result of a field."""
    return _mark("end", properties, prefix)


def _mark(kind: str, properties: str, prefix: str) -> str:
    return f'<{prefix}r>{properties}<{prefix}fldChar {prefix}fldCharType="{kind}"/></{prefix}r>'


def _uri(paper: Paper, key: str) -> str:
    """A name for a work that is the same in all its citations: that of its item in Zotero, else its DOI."""
    ids = dict(reversed([name.split(":", 1) for name in paper.ids if ":" in name]))
    if "zotero" in ids:
        return f"http://zotero.org/users/local/citewell/items/{ids['zotero'].rpartition('/')[2]}"
    return f"https://doi.org/{ids['doi']}" if "doi" in ids else f"http://zotero.org/users/local/citewell/items/{key}"
