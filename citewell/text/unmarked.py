"""Sentences as they would read without their citations: the mark goes, and all that stands there for its sake.

A model that learns which sentences call for a citation sees them like this, so that it can go by what they say alone. With
``(reviewed in OTHERCIT )`` the brackets and the words in them go; of ``(Figure 2; OTHERCIT )`` the figure stays. Every sentence
is tidied in the same way, whether it had a citation or not: a space before a full stop, which a mark would leave, is gone from
both. Where the citation is a word of the sentence (``as shown by OTHERCIT``), nothing whole is left without it: `woven`
tells which these are.
"""

from __future__ import annotations

import re

from citewell.papers import OTHER_MARK, TARGET_MARK

_HOLLOW = "\x00"
"""What is left, for the time being, of brackets that held citations alone."""
_MARK = re.compile(rf"\b(?:{OTHER_MARK}|{TARGET_MARK})\b|{_HOLLOW}")
_JOINED = re.compile(rf"(?:{_MARK.pattern})(?:(?:[\s,;&/\u2010-\u2015\u2212-]|\band\b)*(?:{_MARK.pattern}))+")
_BRACKETS = re.compile(r"([(\[])([^()\[\]]*)[)\]]")
_PARTS = re.compile(r"([;,:])(?=\s)")
_SPACE = re.compile(r"\s+")
_LEAD = (
    r"e\.\s?g|i\.\s?e|cf|c\.f|ref|refs|reference|references|see|also|but|and|or|in|by|from|of|with|to|on|at|as|per|than|via"
    r"|for|an?|the|both|e\.g|example|instance|among|others?|therein|review|reviews|reviewed|recently|recent|excellent"
    r"|comprehensive|described|reported|shown|used|done|adapted|modified|taken|following|according|after|based|using"
    r"|originally|first|previously|elsewhere|details?|more|discussion|discussed|summarized|summary|compare|compared|like"
    r"|(?:this|present|our|current) (?:study|work|report|paper|article|manuscript)|pp?\. ?\d[\d\u2010-\u2015-]*|chapter \d+"
)
_LEADING = re.compile(rf"(?:(?:{_LEAD})\b[.,]*\s*)+", re.IGNORECASE)
_TRAILING = re.compile(rf"(?:(?:^|\s+)(?:{_LEAD})\b[.,]*)+$", re.IGNORECASE)
_BEFORE = re.compile(
    r"(?:^|[\s(\[])(?:by|in|of|from|with|to|on|at|as|per|than|via|for|the|both|and|or|see|like|unlike|following|after|between"
    r"|against|using|e\.g\.?|cf\.?|while|whereas|that|although|when|where|since|because|[A-Z]\w+, (?:\w+, )*and)[\s,]*$"
    r"|^[\W\d]*$|^(?:\w+,|(?:In|For|With|To|As) [^,]{1,60},)\s*$",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"\s*(?:['\u2019]s\b|(?:et al|and colleagues|show|report|find|found|propos|use[ds]?\b|describ|demonstrat|suggest|present"
    r"|introduc|study|studied|argu|develop|observ|appl|extend|investigat|compar|examin|combin|explor|consider|discuss|model|method"
    r"|analy[sz])\w*\b)"
)
_TIDY = (
    (re.compile(r"([(\[])[\s,;:]+"), r"\1"),
    (re.compile(r"\s+(?=[,.;:!?)\]])"), ""),
    (re.compile(r"\s*(?:\(\W*\)|\[\W*\])"), ""),
    (re.compile(r"[,;:](?=[,;:.!?)\]])"), ""),
    (re.compile(r"([,;:.!?])(?:\s*\1)+(?=\s|$)"), r"\1"),
    (re.compile(r"\b(and|or|by|in|of|from|to|with) (?=[,.;:!?)\]])"), ""),
    (re.compile(r"[\s,;:]+$|^[\s,;:.!?)\]]+"), ""),
)


def marked(sentence: str) -> bool:
    """Whether a citation stands in the sentence."""
    return _MARK.search(sentence) is not None


def unmarked(sentence: str) -> str:
    """The sentence without its citations, tidied; tidied alone where it has none."""
    if not marked(sentence):
        return _tidied(sentence)
    return _tidied(_MARK.sub(" ", _without_brackets(_joined(sentence))))


def woven(sentence: str) -> bool:
    """Whether a citation is a word of the sentence, as that of an author is."""
    if not marked(sentence):
        return False
    words = _without_brackets(_joined(sentence))
    return any(
        _BEFORE.search(words[: mark.start()].rstrip()) or (mark[0] != _HOLLOW and _AFTER.match(words, mark.end()))
        for mark in _MARK.finditer(words)
    )


def _joined(sentence: str) -> str:
    """The sentence with single spaces, citations that stand in a row being one."""
    return _JOINED.sub(OTHER_MARK, _SPACE.sub(" ", sentence.replace(_HOLLOW, "")))


def _without_brackets(words: str) -> str:
    """`words` with no citation in brackets; the innermost brackets first."""
    while True:
        without = _BRACKETS.sub(_emptied, words)
        if without == words:
            return words
        words = without


def _emptied(found: re.Match[str]) -> str:
    """A pair of brackets without the citations in it; hollow where nothing else is left."""
    if not marked(found[2]):
        return found[0]
    kept: list[str] = []
    between = ""
    for at, part in enumerate(_PARTS.split(found[2])):
        if at % 2:
            between = part
        elif said := _said(part):
            kept += [between, " ", said] if kept else [said]
    if not kept:
        return _HOLLOW
    return f"{found[1]}{''.join(kept)}{found[0][-1]}"


def _said(part: str) -> str:
    """What a part of what stands in brackets says besides citing."""
    if not marked(part):
        said = part.strip()
        return "" if _LEADING.fullmatch(said) else said
    pieces = [_TRAILING.sub("", piece.rstrip()) for piece in _MARK.split(part)]
    said = _SPACE.sub(" ", " ".join(pieces)).strip(" -\u2013\u2014&")
    return "" if _LEADING.fullmatch(f"{said} ") else said


def _tidied(words: str) -> str:
    while True:
        tidy = _SPACE.sub(" ", words)
        for pattern, written in _TIDY:
            tidy = pattern.sub(written, tidy)
        if tidy == words:
            return words
        words = tidy
