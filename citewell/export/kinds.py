"""The publication type of a paper, in the vocabulary of each format.

Sources use a dozen vocabularies (``inproceedings``, ``proceedings-article``, ``CPAPER``). A paper keeps the type of its source,
and this table maps it to the other vocabularies. A paper without a type gets one from its venue.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from citewell.papers import Paper


class Kind(NamedTuple):
    """One publication type, with its name in each format."""

    csl: str
    bibtex: str
    ris: str
    others: str = ""
    """Its names in other sources."""


_KINDS = (
    Kind(
        "article-journal",
        "article",
        "JOUR",
        "journal-article journalarticle research-article review review-article letter editorial electronic-article"
        " magazine-article newspaper-article",
    ),
    Kind(
        "paper-conference",
        "inproceedings",
        "CPAPER",
        "conference proceedings-article conferencepaper conference-paper proceedings-paper",
    ),
    Kind("book", "book", "BOOK", "monograph edited-book mvbook reference-book booklet"),
    Kind("chapter", "incollection", "CHAP", "inbook book-chapter book-section book-part reference-entry"),
    Kind("thesis", "phdthesis", "THES", "dissertation mastersthesis"),
    Kind("report", "techreport", "RPRT", "report-series manual"),
    Kind("article", "misc", "UNPB", "preprint posted-content"),
    Kind("book", "proceedings", "CONF", "conference-proceedings collection mvproceedings mvcollection"),
    Kind("manuscript", "unpublished", "MANSCPT"),
    Kind("dataset", "misc", "DATA"),
    Kind("software", "misc", "COMP", "computer-program"),
    Kind("webpage", "misc", "ELEC", "web-page online electronic www post post-weblog"),
    Kind("patent", "patent", "PAT"),
    Kind("document", "misc", "GEN", "other generic"),
)
_ARTICLE, _CONFERENCE, _PREPRINT, _OTHER = _KINDS[0], _KINDS[1], _KINDS[6], _KINDS[-1]
_EVENT = re.compile(
    r"(?i:\b(?:proceedings|proc\.|conference|workshop|symposium)\b)|\b(?:AAAI|ACL|CHI|CIKM|CLEF|COLING|CVPR|EACL|ECIR|ECML|EMNLP"
    r"|ICLR|ICML|IJCAI|IJCNLP|JCDL|KDD|LREC|NAACL|NeurIPS|NIPS|RecSys|RIAO|SIGIR|SIGMOD|TPDL|TREC|UAI|VLDB|WSDM|WWW)\b"
)

# BibTeX and OpenAlex say "article" for what CSL calls "article-journal".
_BY_WORD = {
    word.lower(): each for each in reversed(_KINDS) for word in (each.csl, each.bibtex, each.ris, *each.others.split())
} | {"article": _ARTICLE}


def kind(paper: Paper) -> Kind:
    """The publication type of `paper`, from its source, else from its venue."""
    for word in paper.extra.get("type", "").lower().split("; "):
        if known := _BY_WORD.get(word.replace(" ", "-")):
            return known
    if not paper.venue:
        return _OTHER
    if paper.venue.lower() in ("arxiv", "biorxiv", "medrxiv", "ssrn"):
        return _PREPRINT
    return _CONFERENCE if _EVENT.search(paper.venue) else _ARTICLE
