"""Author lists in BibTeX: ``Family, Given and Given von Family and {An Organisation, with a comma} and others``.

The grammar is BibTeX's: names are separated by ``and``, parts by commas or spaces, and braces protect all three. Words that
begin with a lower-case letter are the particle (BibTeX's "von"). In ``von Last, First`` these are the first words, as in
BibLaTeX, so that "Ortega y Gasset, José" keeps its family name. BibLaTeX's ``family=..., given=...`` is read too, and so are
lists in which somebody wrote commas or semicolons for ``and``.
"""

from __future__ import annotations

import re

from citewell.papers import OTHERS, Name
from citewell.sources.latex import to_text
from citewell.text.names import arranged, cleaned, is_et_al, is_junior, is_lower, literal, person

_AND = re.compile(r"(?<!\S)and(?!\S)", re.IGNORECASE)
_BRACES = re.compile(r"[{}]")
_BRACE_OR_AND = re.compile(r"[{}]|(?<!\S)and(?!\S)", re.IGNORECASE)
_BRACE_OR_COMMA = re.compile(r"[{},]")
_BRACE_OR_SEMICOLON = re.compile(r"[{}]|;(?=\s)")
_SPACE = re.compile(r"(?:\s|(?<!\\)~|\\(?=\s))+")
r"""What separates the words of a name: spaces and ties, but not the tilde of ``Mu\~noz``."""
_BRACE_OR_SPACE = re.compile(rf"[{{}}]|{_SPACE.pattern}")
_PART = re.compile(r"\s*(?:given|prefix|family|suffix)(?:-i)?\s*=", re.IGNORECASE)
_UPPERCASE = re.compile(r"\\uppercase\s*(?:\{(\w)\}|(\w))")
_INITIALS = re.compile(r"\s*(?:[^\W\d_]\.?[ ~-]?){1,4}\s*")
PEOPLE = {
    "bookauthor": "container-author",
    **{
        role: role
        for role in ("editor", "translator", "editora", "editorb", "editorc", "annotator", "commentator", "introduction")
    },
    **{role: role for role in ("foreword", "afterword", "holder", "collection-editor", "reviewed-author", "original-author")},
    **{role: role for role in ("editorial-director", "director", "composer", "illustrator", "interviewer", "recipient")},
    **{role: role for role in ("compiler", "contributor", "curator", "narrator", "performer", "producer", "script-writer")},
}
"""Fields with names other than those of the authors, and the roles of these people; the fields are BibLaTeX's and CSL's."""
_ET_AL = ("et al.", "et al", "et. al.", "et. al", "others")


def people(value: str) -> list[Name]:
    """The names in `value`; the end of an open list, ``and others``, is `OTHERS`."""
    value = value.strip()
    names = []
    for each in _listed(value) if value else ():
        each, is_open = _without_et_al(each.strip())
        if each and any(name := _name(each)):
            names.append(name)
        if is_open:
            names.append(OTHERS)
    return names


def _listed(value: str) -> list[str]:
    """The single names of a list."""
    braced = "{" in value
    listed = _split(value, _BRACE_OR_AND) if braced else _AND.split(value)
    if len(listed) > 1:
        return listed
    if ";" in value and len(by_semicolon := _split(value, _BRACE_OR_SEMICOLON)) > 1:
        return [*by_semicolon[:-1], by_semicolon[-1].rstrip("; ")]
    parts = value.split(",")
    if braced or len(parts) < 3 or _PART.match(value):
        return listed
    if all(" " in part.strip() for part in parts):  # Ada Lovelace, Charles Babbage, Alan Turing
        return parts
    if len(parts) > 3 and len(parts) % 2 == 0 and all(map(_INITIALS.fullmatch, parts[1::2])):  # Lovelace, A., Babbage, C.
        return [",".join(pair) for pair in zip(parts[::2], parts[1::2], strict=True)]
    return listed


def _without_et_al(source: str) -> tuple[str, bool]:
    """A name without an "et al." behind it, and whether there was one."""
    if is_et_al(source):
        return "", True
    bare = source.rstrip(" ,")
    end = bare[-6:].lower()
    ending = next((each for each in _ET_AL[:4] if end.endswith(each) and bare[: -len(each)][-1:] in (" ", ",", "~")), "")
    return (bare[: -len(ending)].rstrip(" ,~"), True) if ending else (source, False)


def _name(source: str) -> Name:
    if _is_protected(source):
        return literal(_text(source))
    if "=" in source and _PART.match(source):
        return _extended(source)
    parts = _split(source, _BRACE_OR_COMMA) if "{" in source else source.split(",")
    if len(parts) == 1:
        return _given_first(source)
    family, *rest = parts
    texts = [_text(part) for part in rest]
    if not any(texts) and _is_protected(family):
        return literal(_text(family))
    if len(texts) == 1:
        if is_junior(texts[0]) and not (name := _given_first(family)).literal:  # Martin Luther King, Jr.
            return name._replace(suffix=texts[0])
        return _family_first(family, texts[0], "")
    return _family_first(family, " ".join(texts[1:]), texts[0])


def _given_first(source: str) -> Name:
    """``First von Last``."""
    words = [(text, word) for word in _words(source) if (text := cleaned(_text(word)))]
    if any("," in text for text, _ in words):  # braces protect the commas of an organisation: {Boats, Inc.} and {Sons, Ltd.}
        return literal(_text(source))
    return arranged([text for text, _ in words], [_is_lower(word) for _, word in words])


def _family_first(source: str, given: str, suffix: str) -> Name:
    """``von Last, First`` or ``von Last, Jr, First``."""
    words = _words(source)
    if not words:
        return person("", given, suffix)
    end = next((at for at, word in enumerate(words[:-1]) if not _is_lower(word)), len(words) - 1)
    particle, family = (_joined(_text(" ".join(part))) for part in (words[:end], words[end:]))
    return person("x", given, suffix)._replace(family=family, particle=particle)


def _joined(part: str) -> str:
    """A part without the commas that only braces can put into it."""
    return " ".join(cleaned(part).replace(",", " ").split())


def _extended(source: str) -> Name:
    """BibLaTeX's ``family=Rhijn, given=Ildiko, prefix=van``."""
    known = {}
    for part in _split(source, _BRACE_OR_COMMA):
        key, _, value = part.partition("=")
        known[key.strip().lower()] = cleaned(_text(value.strip(' "')))
    return Name(known.get("given", ""), known.get("family", ""), known.get("prefix", ""), known.get("suffix", ""))


def _text(source: str) -> str:
    r"""The text of a part. ``\uppercase{v}an`` is how BibTeX users write a particle with a capital letter."""
    if "\\uppercase" in source:
        source = _UPPERCASE.sub(lambda letter: (letter[1] or letter[2]).upper(), source)
    return to_text(source)


def _words(source: str) -> list[str]:
    words = _split(source, _BRACE_OR_SPACE) if "{" in source else _SPACE.split(source)
    return [word for word in words if word]


def _is_lower(word: str) -> bool:
    r"""Whether a word begins with a lower-case letter. A group in braces has no case, unless it is an accent: ``{\'e}``."""
    at = 0
    while word.startswith("{", at) and not word.startswith("{\\", at):
        at = _end_of_group(word, at)
    return at < len(word) and is_lower(to_text(word[at:]))


def _is_protected(source: str) -> bool:
    """Whether `source` is one group in braces."""
    source = source.strip()
    return source.startswith("{") and _end_of_group(source, 0) == len(source)


def _end_of_group(source: str, at: int) -> int:
    """Where the group in braces that begins at `at` ends."""
    depth = 0
    for sign in _BRACES.finditer(source, at):
        depth += 1 if sign[0] == "{" else -1
        if not depth:
            return sign.end()
    return len(source) + 1


def _split(value: str, breaks: re.Pattern[str]) -> list[str]:
    """`value` split at the `breaks` outside of braces."""
    pieces = []
    depth = at = 0
    for sign in breaks.finditer(value):
        match sign[0]:
            case "{":
                depth += 1
            case "}":
                depth = max(0, depth - 1)
            case _ if not depth:
                pieces.append(value[at : sign.start()])
                at = sign.end()
    return [*pieces, value[at:]]
