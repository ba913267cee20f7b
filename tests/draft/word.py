"""Makes small Word files, part by part, with what Word and reference managers put into them."""

from __future__ import annotations

import io
import json
import zipfile
from xml.sax.saxutils import escape

_NAMESPACES = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_SOURCES = 'xmlns:b="http://schemas.openxmlformats.org/officeDocument/2006/bibliography"'
_STYLES = {"Title": "Title", "Author": "Author", "Abstract": "Abstract", "berschrift1": "heading 1", "Heading2": "heading 2"}


def run(text: str, highlight: str = "") -> str:
    light = f'<w:rPr><w:highlight w:val="{highlight}"/></w:rPr>' if highlight else ""
    return f'<w:r>{light}<w:t xml:space="preserve">{escape(text)}</w:t></w:r>'


def paragraph(*inside: str, style: str = "", item: bool = False) -> str:
    about = f'<w:pStyle w:val="{style}"/>' * bool(style) + "<w:numPr/>" * item
    return f"<w:p><w:pPr>{about}</w:pPr>{''.join(each if each.startswith('<') else run(each) for each in inside)}</w:p>"


def field(instruction: str, shown: str) -> str:
    """A field in three parts, its instruction split in two, as Word often does."""
    half = len(instruction) // 2
    instructions = "".join(
        f'<w:r><w:instrText xml:space="preserve">{escape(each)}</w:instrText></w:r>'
        for each in (instruction[:half], instruction[half:])
    )
    begin, separate, end = (f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>' for kind in ("begin", "separate", "end"))
    return f"{begin}{instructions}{separate}{run(shown)}{end}"


def zotero(shown: str, *items: dict[str, object], program: str = "ZOTERO_ITEM ") -> str:
    cited = {"citationID": "x", "citationItems": [{"id": at, "itemData": {"id": at, **item}} for at, item in enumerate(items)]}
    return field(f" ADDIN {program}CSL_CITATION {json.dumps(cited)} ", shown)


def commented(number: int, *inside: str) -> str:
    text = "".join(each if each.startswith("<") else run(each) for each in inside)
    return (
        f'<w:commentRangeStart w:id="{number}"/>{text}<w:commentRangeEnd w:id="{number}"/>'
        f'<w:r><w:commentReference w:id="{number}"/></w:r>'
    )


def footnote(number: int) -> str:
    return f'<w:r><w:footnoteReference w:id="{number}"/></w:r>'


def table(*rows: list[str]) -> str:
    cells = ("".join(f"<w:tc>{paragraph(cell)}</w:tc>" for cell in row) for row in rows)
    return f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in cells)}</w:tbl>"


def sdt(tag: str, shown: str) -> str:
    """A content control around text."""
    return f'<w:sdt><w:sdtPr><w:tag w:val="{tag}"/></w:sdtPr><w:sdtContent>{run(shown)}</w:sdtContent></w:sdt>'


def docx(
    *blocks: str, comments: dict[int, str] | None = None, footnotes: dict[int, str] | None = None, sources: str = ""
) -> bytes:
    """The bytes of a Word file."""
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="{at}"><w:name w:val="{name}"/></w:style>' for at, name in _STYLES.items()
    )
    parts = {
        "word/document.xml": f"<w:document {_NAMESPACES}><w:body>{''.join(blocks)}</w:body></w:document>",
        "word/styles.xml": f"<w:styles {_NAMESPACES}>{styles}</w:styles>",
    }
    if comments:
        elements = "".join(f'<w:comment w:id="{at}">{paragraph(text)}</w:comment>' for at, text in comments.items())
        parts["word/comments.xml"] = f"<w:comments {_NAMESPACES}>{elements}</w:comments>"
    if footnotes:
        elements = "".join(f'<w:footnote w:id="{at}">{text}</w:footnote>' for at, text in footnotes.items())
        parts["word/footnotes.xml"] = f"<w:footnotes {_NAMESPACES}>{elements}</w:footnotes>"
    if sources:
        parts["customXml/item1.xml"] = f"<b:Sources {_SOURCES}>{sources}</b:Sources>"
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, '<?xml version="1.0" encoding="UTF-8"?>' + text)
    return out.getvalue()
