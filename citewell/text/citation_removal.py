"""Removes the citations from a sentence, together with the brackets and words that only introduce them.

The model that finds sentences without a needed citation is trained on text like this, so that it cannot see where citations
were. ``(reviewed in OTHERCIT )`` goes completely; of ``(Figure 2; OTHERCIT )`` the figure stays. Every sentence is tidied in
the same way, with or without a citation: a space before a full stop, which a removed mark would leave, disappears from both. An
integral citation is a part of its sentence (``as shown by OTHERCIT``), which is incomplete without it; `has_integral_citation`
detects these.
"""

from __future__ import annotations

import re

from citewell.papers import OTHER_MARK, TARGET_MARK

_EMPTIED = "\x00"
"""Replaces, while a sentence is processed, brackets that contained nothing but citations."""
_MARK = re.compile(rf"\b(?:{OTHER_MARK}|{TARGET_MARK})\b|{_EMPTIED}")
_ADJACENT = re.compile(rf"(?:{_MARK.pattern})(?:(?:[\s,;&/\u2010-\u2015\u2212-]|\band\b)*(?:{_MARK.pattern}))+")
_BRACKETS = re.compile(r"([(\[])([^()\[\]]*)[)\]]")
_PARTS = re.compile(r"([;,:])(?=\s)")
_SPACE = re.compile(r"\s+")
_INTRODUCTION = (
    r"e\.\s?g|i\.\s?e|cf|c\.f|ref|refs|reference|references|see|also|but|and|or|in|by|from|of|with|to|on|at|as|per|than|via"
    r"|for|an?|the|both|e\.g|example|instance|among|others?|therein|review|reviews|reviewed|recently|recent|excellent"
    r"|comprehensive|described|reported|shown|used|done|adapted|modified|taken|following|according|after|based|using"
    r"|originally|first|previously|elsewhere|details?|more|discussion|discussed|summarized|summary|compare|compared|like"
    r"|(?:this|present|our|current) (?:study|work|report|paper|article|manuscript)|pp?\. ?\d[\d\u2010-\u2015-]*|chapter \d+"
)
_LEADING = re.compile(rf"(?:(?:{_INTRODUCTION})\b[.,]*\s*)+", re.IGNORECASE)
_TRAILING = re.compile(rf"(?:(?:^|\s+)(?:{_INTRODUCTION})\b[.,]*)+$", re.IGNORECASE)
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


def has_citation(sentence: str) -> bool:
    """Whether the sentence contains a citation mark."""
    return _MARK.search(sentence) is not None


def remove_citations(sentence: str) -> str:
    """The sentence without its citations, tidied; a sentence without citations is only tidied."""
    if not has_citation(sentence):
        return _tidied(sentence)
    return _tidied(_MARK.sub(" ", _without_bracketed_citations(_merged(sentence))))


def has_integral_citation(sentence: str) -> bool:
    """Whether a citation is a syntactic part of the sentence, like an author name."""
    if not has_citation(sentence):
        return False
    words = _without_bracketed_citations(_merged(sentence))
    return any(
        _BEFORE.search(words[: mark.start()].rstrip()) or (mark[0] != _EMPTIED and _AFTER.match(words, mark.end()))
        for mark in _MARK.finditer(words)
    )


def _merged(sentence: str) -> str:
    """The sentence with single spaces and adjacent citations merged into one."""
    return _ADJACENT.sub(OTHER_MARK, _SPACE.sub(" ", sentence.replace(_EMPTIED, "")))


def _without_bracketed_citations(words: str) -> str:
    """`words` without the citations in brackets, from the innermost brackets outwards."""
    while True:
        without = _BRACKETS.sub(_without_citations, words)
        if without == words:
            return words
        words = without


def _without_citations(brackets: re.Match[str]) -> str:
    """A pair of brackets without its citations; `_EMPTIED` if nothing else remains."""
    if not has_citation(brackets[2]):
        return brackets[0]
    remaining: list[str] = []
    separator = ""
    for at, part in enumerate(_PARTS.split(brackets[2])):
        if at % 2:
            separator = part
        elif words := _words_without_citation(part):
            remaining += [separator, " ", words] if remaining else [words]
    if not remaining:
        return _EMPTIED
    return f"{brackets[1]}{''.join(remaining)}{brackets[0][-1]}"


def _words_without_citation(part: str) -> str:
    """The words of one part of a bracket, without citations and without words that only introduce them."""
    if not has_citation(part):
        words = part.strip()
        return "" if _LEADING.fullmatch(words) else words
    pieces = [_TRAILING.sub("", piece.rstrip()) for piece in _MARK.split(part)]
    words = _SPACE.sub(" ", " ".join(pieces)).strip(" -\u2013\u2014&")
    return "" if _LEADING.fullmatch(f"{words} ") else words


def _tidied(words: str) -> str:
    while True:
        tidy = _SPACE.sub(" ", words)
        for pattern, written in _TIDY:
            tidy = pattern.sub(written, tidy)
        if tidy == words:
            return words
        words = tidy
