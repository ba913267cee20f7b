"""Reads Org: the citations of Org itself (``[cite:@key]``), of org-ref (``cite:key``), and LaTeX commands.

Lines make blocks: headings, paragraphs, list items, tables and ``#+begin_...`` blocks; tokens make their content. Source code,
examples, drawers, comments and sections with the tag ``noexport`` are not running text.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

from citewell.draft import tex_commands
from citewell.draft.bibliography import read_bibliography
from citewell.draft.builder import Block, DraftBuilder, without_marks
from citewell.draft.files import DraftSource
from citewell.draft.gaps import GAP, asks_for_citation, bracket_note, is_key, is_todo
from citewell.draft.includes import with_includes
from citewell.draft.plain import copy_with_gaps
from citewell.draft.source_text import SourceText
from citewell.papers import Draft
from citewell.sources.latex import to_text

PRIORITY = 36
SUFFIXES = (".org",)
_INCLUDE = re.compile(r"^[ \t]*#\+include:[ \t]*\"?([^\s\"]{1,300})\"?[ \t]*$", re.MULTILINE | re.IGNORECASE)
_KEYWORD = re.compile(r"[ \t]*#\+(\w+)(?:\[[^\]\n]*\])?:[ \t]*([^\n]*)")
_OWN = re.compile(
    r"^#\+(?:title|author|bibliography|begin_\w+|options|startup|language|filetags)\b|\[cite(?:/[\w/-]+)?:[^\]\n]{0,200}@",
    re.IGNORECASE | re.MULTILINE,
)
_LINE = re.compile(r"[^\n]*(?:\n|$)")
_BEGIN = re.compile(r"[ \t]*#\+begin_(\w+)", re.IGNORECASE)
_END = re.compile(r"^[ \t]*#\+end_(\w+)[^\n]*$", re.IGNORECASE | re.MULTILINE)
_DRAWER = re.compile(r"[ \t]*:[\w-]+:[ \t\r]*$")
_DRAWER_END = re.compile(r"^[ \t]*:END:[ \t\r]*$", re.IGNORECASE | re.MULTILINE)
_ENVIRONMENT = re.compile(r"[ \t]*\\begin\{([A-Za-z]+\*?)\}")
_HEADING = re.compile(r"(\*+)[ \t]+(?:(?:TODO|DONE|NEXT|WAITING|HOLD|CANCELLED|COMMENT)\b[ \t]*)?(?:\[#[A-Z]\][ \t]*)?")
_TAGS = re.compile(r"[ \t]+:[\w@#%:]+:[ \t\r]*$")
_ITEM = re.compile(r"[ \t]*(?:[-+]|\d{1,3}[.)])(?:[ \t]+\[[ X-]\])?(?:[ \t]+|$)|[ \t]+\*[ \t]+|\[fn:[\w-]+\][ \t]*")
_COMMENT = re.compile(r"[ \t]*#(?:[ \t]+([^\n]*)|[ \t\r]*$)")
_OTHER = re.compile(r"[ \t]*(?:-{5,}[ \t\r]*$|:[ \t]|:\r?$|(?:SCHEDULED|DEADLINE|CLOSED|CLOCK):|#\+)")
_HIDDEN = frozenset(("src", "example", "export", "comment", "latex", "html", "equation", "align"))
_KEY = r"@(?P<key>[^\s;,\]\[@(){}\"']{1,200})"
_CITED = re.compile(_KEY)
_STOP = re.compile(r"[.:?!]+$")
_REF_KEYS = r"&?[\w?](?:[\w:.+?/-]{0,200}[\w?])?(?:[,;][ \t]?&?[\w?](?:[\w:.+?/-]{0,200}[\w?])?){0,50}"
_SPLIT = re.compile(r"[,;][ \t]?")
_REF_KEY = re.compile(r"&([^\s;,\]&]{1,200})")
_TOKEN = re.compile(
    rf"""(?P<comment>\x01[^\n\x01]*\x01)
      | (?P<hidden>\x00+)
      | (?P<cite>\[cite(?:/[\w/-]{{1,60}})?:(?P<cited>(?:[^\[\]]|\[[^\[\]]{{0,200}}\]){{0,2000}})\])
      | (?P<gap>(?i:{GAP.pattern.replace(" ", "[ ]")}))
      | \[\[(?P<refname>[A-Za-z]{{0,12}}[cC]ite[A-Za-z]{{0,12}}\*?):(?P<refs>[^\[\]]{{0,1000}})\](?:\[[^\[\]]{{0,500}}\])?\]
      | \[\[(?P<target>[^\[\]]{{1,1000}})\](?:\[(?P<label>[^\[\]]{{1,1000}})\])?\]
      | \[fn:[\w-]{{0,60}}\]
      | (?P<note>\[fn:[\w-]{{0,60}}:)
      | (?P<url>(?:https?|ftp|mailto|file):[^\s\[\]<>]{{1,1000}})
      | (?<![\w:/@])(?P<bibliography>(?:no)?bibliography|addbibresource):(?P<files>[^\s\[\]]{{1,500}})
      | (?<![\w:/@])(?:bibliographystyle|label|(?:c|eq|page|auto|name)?ref):[\w:.-]{{1,200}}
      | (?<![\w:/@\\])(?P<bare>[A-Za-z]{{0,12}}[cC]ite[A-Za-z]{{0,12}}\*?):(?P<keys>{_REF_KEYS})
      | (?<![\w@])@(?P<question>\?+)
      | \\(?P<name>[A-Za-z]+)\*?(?P<arguments>(?:\[[^\[\]\n]{{0,300}}\]){{0,2}}(?:\{{[^{{}}\n]{{0,2000}}\}})?)
      | \\\((?P<math>[^\n]{{0,500}}?)\\\)
      | \\\[[^\x00]{{0,2000}}?\\\]
      | \$\$[^$]{{0,2000}}\$\$
      | (?<![\w$])\$(?P<dollar>(?=[^\s$])[^$\n]{{0,300}}(?<=[^\s$]))\$(?![\w$])
      | (?<![\w=~])(?P<verbatim>[=~])(?=\S)(?P<code>[^\n=~]{{1,300}}(?<=\S))(?P=verbatim)(?!\w)
      | <<[^<>\n]{{1,200}}>>
      | [<\[]\d{{4}}-\d\d-\d\d[^<>\[\]\n]{{0,40}}[>\]]
      | @@[a-z]{{1,20}}:[^@\n]{{0,500}}@@
      | (?P<emphasis>(?<!\w)[*/_+](?=[^\s*/_+])|(?<=[^\s*/_+])[*/_+](?!\w))
      | (?P<text>[^\x00\x01\[\\$=~<@*/_+:(A-Za-z]+|[A-Za-z]+(?![A-Za-z:])|.)""",
    re.VERBOSE | re.DOTALL,
)
_BRACKET = re.compile(r"[\[\]]|\n[ \t\r]*\n")
_ABSTRACT = re.compile(r"abstract", re.IGNORECASE)
_AND = re.compile(r"\s+and\s+|\s*[;,]\s*")
_VISIBLE = re.compile(r"[^\n]")


def matches(source: DraftSource) -> bool:
    """Whether a manuscript is Org: by its suffix, or by a keyword or citation that only Org has."""
    return source.suffix in SUFFIXES or (not source.suffix and bool(_OWN.search(source.text)))


def read(source: DraftSource) -> Draft:
    """The draft in an Org document, with the files that it includes and its bibliography."""
    reader = _Reader(with_includes(source.text, source.folder, _INCLUDE), Draft(format="org"))
    reader.walk()
    draft = reader.builder.build()
    read_bibliography(draft, reader.resources, source.folder)
    return draft


class _Reader:
    """Walks through the source text: line by line for blocks, then token by token for their content."""

    def __init__(self, source: SourceText, draft: Draft) -> None:
        self.source = source
        self.builder = DraftBuilder(source, draft)
        self.resources: list[str] = []
        self.text = _masked(source.text)
        self._brackets = _brackets(self.text)
        self._in_abstract = False
        self._abstract: list[str] = []
        self._headings: list[tuple[int, str]] = []

    def walk(self) -> None:
        """Read everything."""
        for kind, begin, end in self._blocks():
            if kind == "heading":
                self._heading(begin, end)
                continue
            self.builder.block = Block(citations_only=kind == "table" or self._in_abstract)
            self.inline(begin, end)
            if self._in_abstract:
                self._abstract.append(without_marks(self.builder.block.readable()))
            self.builder.end_paragraph()
        self.builder.block = Block()
        draft = self.builder.draft
        draft.abstract = " ".join(filter(None, (draft.abstract, *self._abstract)))
        levels = [level for level, _ in self._headings]
        if not draft.title and levels.count(1) == 1 and levels[0] == 1 and len(levels) > 1:
            draft.title = self._headings[0][1]

    def _blocks(self) -> Iterator[tuple[str, int, int]]:
        """The kind and the span of each block: heading, text or table."""
        kind, begin, end = "", 0, 0
        for line in _LINE.finditer(self.text):
            now, first = self._kind(line)
            if kind and now != kind:
                yield kind, begin, end
                kind = ""
            if now in ("abstract", "end"):
                self._in_abstract = now == "abstract"
                continue
            if now == "heading":
                yield now, line.start(), line.end()
            elif now in ("item", "caption"):
                kind, begin, end = "text", first, line.end()
            elif now:
                if not kind:
                    kind, begin = now, first
                end = line.end()
        if kind:
            yield kind, begin, end

    def _kind(self, line: re.Match[str]) -> tuple[str, int]:
        """The kind of a line (empty where it is not text), and the offset of its content."""
        content, at = line[0], line.start()
        if not content.strip(" \t\r\n\x00"):
            return "", at
        if _HEADING.match(content):
            return "heading", at
        if keyword := _KEYWORD.match(content):
            return self._keyword(keyword, at)
        if mark := _BEGIN.match(content) or _END.match(content):
            is_abstract = mark[1].lower() == "abstract"
            return (("end" if _END.match(content) else "abstract") if is_abstract else ""), at
        if _OTHER.match(content):
            return "", at
        if content.lstrip(" \t").startswith("|"):
            return "table", at
        if item := _ITEM.match(content):
            return "item", at + item.end()
        return "text", at

    def _keyword(self, keyword: re.Match[str], at: int) -> tuple[str, int]:
        name, value = keyword[1].lower(), keyword[2].strip()
        draft = self.builder.draft
        if name in ("title", "subtitle"):
            text = self._plain(value)
            separator = ": " if name == "subtitle" else " "
            draft.title = separator.join(filter(None, (draft.title, text)))
        elif name == "author":
            draft.authors += [each for each in _AND.split(self._plain(value)) if each]
        elif name == "abstract":
            draft.abstract = " ".join(filter(None, (draft.abstract, self._plain(value))))
        elif name == "bibliography":
            self.resources.append(value.strip("\"' ").split(" ")[0])
        elif name in ("caption", "attr_caption") and value:
            return "caption", at + keyword.start(2)
        return "", at

    def _plain(self, value: str) -> str:
        reader = _Reader(SourceText.of(value), Draft())
        reader.inline(0, len(value))
        return without_marks(reader.builder.block.readable())

    def _heading(self, begin: int, end: int) -> None:
        start = _HEADING.match(self.text, begin, end)
        assert start is not None, "the line is a heading"
        tags = _TAGS.search(self.text, start.end(), end)
        self.builder.block = Block(citations_only=True)
        self.inline(start.end(), tags.start() if tags else end)
        text = without_marks(self.builder.block.readable())
        self.builder.end_paragraph()
        self.builder.block = Block()
        self._in_abstract = bool(_ABSTRACT.fullmatch(text)) and not self.builder.draft.abstract
        if not self._in_abstract:
            self.builder.section = text
            self._headings.append((len(start[1]), text))

    # -- content ------------------------------------------------------------------------------------------------------

    def inline(self, begin: int, end: int, depth: int = 0) -> None:
        """Write a span of text into the current block."""
        at = begin
        while at < end:
            token = _TOKEN.match(self.text, at, end)
            assert token is not None, "the last alternative matches any character"
            at = max(self._token(token, end, depth), token.end())

    def _token(self, match: re.Match[str], end: int, depth: int) -> int:
        """Process one token; returns the offset to continue at."""
        block, (begin, after) = self.builder.block, match.span()
        if match["comment"]:
            block.mark(begin, after, [], self.source.text[begin:after].lstrip("# \t"))
        elif match["cite"]:
            self._cite(match)
        elif match["gap"]:
            block.mark(begin, after, [], bracket_note(match[0]))
        elif match["refname"]:
            keys = _REF_KEY.findall(match["refs"]) or [key.strip() for key in _SPLIT.split(match["refs"])]
            self._refer(match["refname"], keys, begin, after)
        elif match["target"]:
            if match["label"]:
                block.copy(match["label"], match.start("label"))
        elif match["note"]:
            return self._note(after, begin, end, depth)
        elif match["bibliography"]:
            self.resources += match["files"].split(",")
        elif match["bare"]:
            self._refer(match["bare"], [key.lstrip("&") for key in _SPLIT.split(match["keys"])], begin, after)
        elif match["question"]:
            block.mark(begin, after, [], textual=True)
        elif match["name"]:
            self._latex(match)
        elif match["math"] or match["dollar"]:
            block.write(to_text(match["math"] or match["dollar"]), begin, after)
        elif match["code"]:
            block.copy(match["code"], match.start("code"))
        elif match["url"]:
            block.copy(match[0], begin)
        elif match["text"]:
            copy_with_gaps(block, self.source, begin, after)
        return after

    def _cite(self, match: re.Match[str]) -> None:
        """A citation of Org: ``[cite/style:prefix @key suffix; @key]``."""
        block, (begin, after) = self.builder.block, match.span()
        cited = list(_CITED.finditer(self.text, *match.span("cited")))
        keys = [_STOP.sub("", each["key"]) or each["key"] for each in cited]
        style = match[0].partition(":")[0].partition("/")[2]
        if style.startswith(("n/", "nocite")) or style == "n":
            self.builder.draft.listed += keys
            return
        block.mark(begin, after, [key for key in keys if is_key(key)], textual=style.split("/")[0] in ("t", "text"))
        for each, key in zip(cited, keys, strict=True):
            if not is_key(key) and any(map(is_key, keys)):  # a gap next to keys
                block.mark(each.start(), each.start() + 1 + len(each["key"]), [])

    def _refer(self, name: str, keys: list[str], begin: int, after: int) -> None:
        """A citation of org-ref; its names are those of LaTeX commands."""
        if name.lower() == "nocite":
            self.builder.draft.listed += keys
        else:
            self.builder.block.mark(begin, after, list(filter(is_key, keys)), textual=tex_commands.is_textual(name))

    def _latex(self, match: re.Match[str]) -> None:
        """A LaTeX command in Org: a citation, a gap or text."""
        name, inside = match["name"], match["arguments"].rpartition("{")[2].removesuffix("}")
        block, (begin, after) = self.builder.block, match.span()
        if tex_commands.is_gap(name) or (tex_commands.is_note(name) and asks_for_citation(inside)):
            block.mark(begin, after, [], to_text(inside))
        elif tex_commands.is_citation(name) and "{" in match["arguments"]:
            keys = [key for each in inside.split(",") if is_key(key := each.strip())]
            block.mark(begin, after, keys, textual=tex_commands.is_textual(name))
        elif name not in tex_commands.SKIPPED and name not in ("begin", "end") and (text := to_text(match[0])):
            block.write(text, begin, after)

    def _note(self, at: int, begin: int, end: int, depth: int) -> int:
        """A footnote inside a sentence as a separate paragraph."""
        close = self._brackets.get(begin, -1)
        if not 0 <= close < end or depth >= 4:
            return at
        outer, self.builder.block = self.builder.block, Block(citations_only=self.builder.block.citations_only)
        self.inline(at, close, depth + 1)
        self.builder.add(self.builder.block)
        self.builder.block = outer
        return close + 1


def _brackets(text: str) -> dict[int, int]:
    """For each opening bracket, the offset of its closing bracket in the same paragraph."""
    pairs: dict[int, int] = {}
    unmatched: list[int] = []
    for match in _BRACKET.finditer(text):
        if match[0] == "[":
            unmatched.append(match.start())
        elif match[0] == "]" and unmatched:
            pairs[unmatched.pop()] = match.start()
        elif match[0][0] == "\n":
            unmatched.clear()
    return pairs


def _masked(text: str) -> str:
    """`text` with NUL characters in place of what is not running text; length and lines stay the same.

    A comment that asks for a citation stays, between two marks: its number sign and its line end.
    """
    ends: dict[str, list[int]] = {}
    for match in _END.finditer(text):
        ends.setdefault(match[1].lower(), []).append(match.end())
    drawer_ends = [match.end() for match in _DRAWER_END.finditer(text)]
    pieces, hidden_until, hidden_level = [], 0, 0
    environment_ends: dict[str, int] = {}
    for line in _LINE.finditer(text):
        begin, content = line.start(), line[0]
        if heading := _HEADING.match(content):
            level = len(heading[1])
            if not hidden_level or level <= hidden_level:
                tags = _TAGS.search(content.rstrip("\n"))
                is_hidden = "COMMENT" in heading[0] or bool(tags and ":noexport:" in tags[0])
                hidden_level = level if is_hidden else 0
        elif begin >= hidden_until and not hidden_level:
            hidden_until = max(hidden_until, _hidden_end(text, line, ends, drawer_ends, environment_ends))
        if hidden_level or begin < hidden_until:
            pieces.append(_VISIBLE.sub("\x00", content))
        elif comment := _COMMENT.match(content):
            pieces.append(_comment(content, comment[1] or ""))
        else:
            pieces.append(content.replace("\x01", "\x00"))
    return "".join(pieces)


def _comment(line: str, note: str) -> str:
    """A comment line: hidden, unless it asks for a citation."""
    visible = line.rstrip("\r\n")
    if len(visible) < 3 or not (is_todo(note) and asks_for_citation(note)):
        return _VISIBLE.sub("\x00", line)
    start = len(visible) - len(visible.lstrip())
    inner = visible[start + 1 : -1].replace("\x01", " ")
    return f"{visible[:start]}\x01{inner}\x01{line[len(visible) :]}"


def _hidden_end(
    text: str, line: re.Match[str], ends: dict[str, list[int]], drawer_ends: list[int], environment_ends: dict[str, int]
) -> int:
    """Where a hidden part that begins in a line ends; 0 where the line begins none or the part has no end."""
    content, begin = line[0], line.start()
    if (block := _BEGIN.match(content)) and block[1].lower() in _HIDDEN:
        return _next(ends.get(block[1].lower(), []), begin)
    if _DRAWER.match(content.rstrip("\n")):
        return _next(drawer_ends, begin)
    if (environment := _ENVIRONMENT.match(content)) and environment[1].rstrip("*") in tex_commands.MATH:
        name = environment[1]
        if environment_ends.get(name, 0) >= 0:
            at = environment_ends[name] = text.find(f"\\end{{{name}}}", line.start())
            return at + len(f"\\end{{{name}}}") if at >= 0 else 0
    return 0


def _next(offsets: list[int], begin: int) -> int:
    at = bisect_left(offsets, begin)
    return offsets[at] if at < len(offsets) else 0
