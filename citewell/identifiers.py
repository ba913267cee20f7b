"""Canonical identifiers, so that two records of a paper can be matched.

An identifier is a string ``scheme:value``. `canonical` normalises a value with a known scheme, `recognise` finds the scheme of
free text (a bare DOI, a URL, ``arXiv:1706.03762v2``), and `implied` lists identifiers that follow from others, such as the ACL
Anthology id in an ACL DOI.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

_DAMAGE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
_DOI = re.compile(r"10\.\d{4,9}/(?:(?!\\n)\S)+", re.ASCII)
"""Mendeley writes ``\\n`` between two links."""
_ARXIV = re.compile(r"(?:\d{4}\.\d{4,5}|[a-z-]+(?:\.[a-z]{2})?/\d{7})(?:v\d+)?", re.ASCII | re.IGNORECASE)
_VERSION = re.compile(r"v\d+$", re.ASCII)
_ACL = re.compile(r"[A-Z]\d{2}-\d{4}|\d{4}\.[a-z0-9]+-[a-z0-9]+\.\d+", re.ASCII | re.IGNORECASE)
_OPENALEX = re.compile(r"W\d+", re.ASCII | re.IGNORECASE)
_S2 = re.compile(r"[0-9a-f]{40}", re.ASCII | re.IGNORECASE)
_DIGITS = re.compile(r"\d+", re.ASCII)
_ACL_DOI = re.compile(r"10\.(?:18653/v1|3115/v1)/(.+)", re.ASCII | re.IGNORECASE)
_ARXIV_DOI = re.compile(r"10\.48550/arxiv\.(.+)", re.ASCII | re.IGNORECASE)

_URLS = (
    (re.compile(r"(?:https?://)?(?:dx\.)?doi\.org/(.+)", re.IGNORECASE), "doi"),
    (re.compile(r"(?:https?://)?(?:export\.)?arxiv\.org/(?:abs|pdf)/(.+?)(?:\.pdf)?", re.IGNORECASE), "arxiv"),
    (re.compile(r"(?:https?://)?(?:pubmed\.|(?:www\.)?)ncbi\.nlm\.nih\.gov/(?:pubmed/)?(\d+)/?", re.IGNORECASE), "pmid"),
    (re.compile(r"(?:https?://)?(?:\w+\.)?ncbi\.nlm\.nih\.gov/(?:pmc/)?articles/((?:PMC)?\d+)/?", re.IGNORECASE), "pmcid"),
    (re.compile(r"(?:https?://)?(?:www\.)?aclanthology\.org/(.+?)(?:/|\.pdf)?", re.IGNORECASE), "acl"),
    (re.compile(r"(?:https?://)?(?:www\.)?aclweb\.org/anthology/(?:.+/)?([^/]+?)(?:/|\.pdf)?", re.IGNORECASE), "acl"),
    (re.compile(r"(?:https?://)?(?:api\.)?openalex\.org/(?:works/)?(W\d+)", re.IGNORECASE), "openalex"),
    (re.compile(r"(?:https?://)?(?:www\.)?semanticscholar\.org/paper/(?:[^/]+/)?([0-9a-f]{40})", re.IGNORECASE), "s2"),
    (re.compile(r"https?://(?:www\.)?scopus\.com/\S*[?&]eid=(2-s2\.0-\d+)(?:&\S*)?", re.IGNORECASE), "scopus"),
)

_PREFIXES = {
    "doi": "doi",
    "acm": "doi",
    "arxiv": "arxiv",
    "pmid": "pmid",
    "pubmed": "pmid",
    "pmcid": "pmcid",
    "pmc": "pmcid",
    "acl": "acl",
    "openalex": "openalex",
    "s2": "s2",
    "corpus": "corpus",
    "corpusid": "corpus",
    "mag": "mag",
    "dblp": "dblp",
}
"""The prefixes before the colon of an identifier, and their schemes."""


def canonical(scheme: str, value: str) -> str | None:
    """`value` as a canonical identifier of `scheme`, or None if it is invalid."""
    value = value.strip()
    match scheme:
        case "doi":
            match = _DOI.search(unquote(value) if "%" in value else value)
            if match is None or _DAMAGE.search(match[0]):
                return None
            doi = match[0].rstrip(".,;").lower()
            arxiv = _ARXIV_DOI.fullmatch(doi)
            return canonical("arxiv", arxiv[1]) if arxiv else f"doi:{doi}"
        case "arxiv":
            value = value.removeprefix("arXiv:").removeprefix("arxiv:")
            if not _ARXIV.fullmatch(value):
                return None
            return f"arxiv:{_VERSION.sub('', value.lower())}"
        case "acl":
            return f"acl:{value.upper() if value[:1].isalpha() else value.lower()}" if _ACL.fullmatch(value) else None
        case "openalex":
            value = value.rsplit("/", 1)[-1]
            return f"openalex:{value.upper()}" if _OPENALEX.fullmatch(value) else None
        case "pmid" | "corpus" | "mag":
            return f"{scheme}:{int(value)}" if _DIGITS.fullmatch(value) and len(value) < 19 else None
        case "pmcid":
            value = value.upper().removeprefix("PMC")
            return f"pmcid:{int(value)}" if _DIGITS.fullmatch(value) and len(value) < 19 else None
        case "s2":
            return f"s2:{value.lower()}" if _S2.fullmatch(value) else None
        case "scopus":
            return f"scopus:{value.lower()}"
        case "dblp":
            return f"dblp:{value}" if "/" in value and not _DAMAGE.search(value) else None
    return None


def recognise(text: str) -> str | None:
    """The canonical identifier that `text` is, or None if it has no known scheme."""
    text = text.strip()
    if text.startswith("10."):
        return canonical("doi", text)
    prefix, colon, rest = text.partition(":")
    if colon and (known := _PREFIXES.get(prefix.lower())):
        return canonical(known, rest)
    if "/" in text:
        for pattern, scheme in _URLS:
            if match := pattern.fullmatch(text):
                return canonical(scheme, match[1])
    return None


def implied(identifier: str) -> list[str]:
    """`identifier` and the identifiers that follow from it."""
    if not identifier.startswith(("doi:10.18653/", "doi:10.3115/")):
        return [identifier]
    acl = _ACL_DOI.fullmatch(identifier[4:])
    known = canonical("acl", acl[1]) if acl else None
    return [identifier, known] if known else [identifier]
