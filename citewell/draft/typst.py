"""Reads Typst: text with ``@key``, ``@key[p. 3]`` and ``#cite(<key>)``.

The text is walked through token by token. A function call is read by its name and its content blocks, never run: what is in
brackets is text, what is in parentheses and braces is code, in which only content blocks, citations and captions are looked
for. ``@name`` is a cross-reference where the document has the label ``<name>``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from citewell.draft.bibliography import read_bibliography
from citewell.draft.builder import Block, DraftBuilder, without_marks
from citewell.draft.files import DraftSource
from citewell.draft.gaps import GAP, asks_for_citation, bracket_note, is_key, is_todo
from citewell.draft.includes import with_includes
from citewell.draft.plain import copy_with_gaps
from citewell.draft.sections import is_abstract, is_title
from citewell.draft.source_text import SourceText
from citewell.papers import Draft

PRIORITY = 37
SUFFIXES = (".typ",)
_OWN = re.compile(
    r"^#(?:set\s+[\w.]+\(|show\s*:|show\s+[\w.]+\s*:|let\s+[\w-]+(?:\(|\s*=)|import\s+\"|include\s+\"|bibliography\()",
    re.MULTILINE,
)
_INCLUDE = re.compile(r"#include[ \t]+\"([^\"\n]{1,300})\"")
_HIDDEN = re.compile(r"\\[^\n]|(?P<url>https?://[^\s\[\](){}<>\"]{1,1000})|(?P<raw>`{3,}|`)|(?P<line>//[^\n]*)|(?P<block>/\*)")
_BLOCK_COMMENT = re.compile(r"/\*|\*/")
_VISIBLE = re.compile(r"[^\n]")
_BRACKET = re.compile(r"\\.|[\[\](){}]", re.DOTALL)
_NAME = r"[^\W\d](?:[\w-]*\w)?"
_LABEL = re.compile(r"<([\w:.-]{1,200})>")
_CITES_LABEL = re.compile(r"(?:cite|attribution:)\s*\(?\s*$")
_KEY = r"[\w-](?:[\w:.-]*[\w-])?"
_TOKEN = re.compile(
    rf"""(?P<hidden>\x00+)
      | (?P<comment>//[^\n]*|/\*.{{0,2000}}?\*/)
      | (?P<break>\n[ \t\r]*\n\s*)
      | (?P<newline>\n|\\(?=\s))
      | (?P<url>https?://[^\s\[\](){{}}<>"]{{1,1000}})
      | \\u\{{(?P<code>[0-9a-fA-F]{{1,6}})\}}
      | \\(?P<escaped>[^\w\s])
      | `(?P<raw>[^`\n]{{0,1000}})`
      | \$(?P<math>[^$]{{0,4000}})\$
      | (?P<reference>(?<![\w@])@(?P<key>{_KEY}|\?+))(?P<supplement>\[[^\[\]\n]{{0,300}}\])?
      | (?P<gap>(?i:{GAP.pattern.replace(" ", "[ ]")}))
      | \#(?P<keyword>let|set|show|import|include|if|for|while|return|context|else)\b
      | \#(?P<name>{_NAME}(?:\.{_NAME})*)
      | (?P<group>\#[\[({{])
      | <[\w:.-]{{1,200}}>
      | (?P<dash>---?)
      | (?P<tilde>~)
      | (?P<emphasis>(?<!\w)[*_]|[*_](?!\w))
      | (?P<text>[^\x00\n\\`$@\[(\#<*_~/h-]+|.)""",
    re.VERBOSE | re.DOTALL,
)
_LINE_START = re.compile(r"[ \t]*(?:(?P<heading>=+)[ \t]+|(?P<item>(?:[-+]|\d{1,3}\.)[ \t]+|/[ \t]+(?=[^:\n]{1,200}:)))")
_IN_CODE = re.compile(
    r"""(?P<string>"(?:[^"\\\x00]|\\.){0,2000}")
      | (?P<cite>(?<![\w.-])cite(?=\())
      | (?P<bibliography>(?<![\w.-])bibliography(?=\())
      | (?P<attribution>attribution:\s*<(?P<quoted>[\w:.-]{1,200})>)
      | (?P<named>(?<![\w-])(?:caption|abstract|title)):\s*(?=\[)
      | (?P<content>\[)
      | [^"\[\w]+|\w[\w-]*|.""",
    re.VERBOSE | re.DOTALL,
)
_STRING = re.compile(r"\"((?:[^\"\\\n]|\\.){0,1000})\"")
_CITE_KEY = re.compile(r"\s*(?:<([^<>\n]{0,200})>|label\(\s*\"([^\"\n]{0,200})\"\s*\))")
_LET = re.compile(rf"#let\s+({_NAME})\s*=\s*(?:\[([^\[\]\n]{{0,300}})\]|\"([^\"\n]{{0,300}})\")")
_DOCUMENT = re.compile(r"#set\s+document\s*(?=\()|#show\s*:\s*(?:[\w.-]+)\s*(?=\()|#show\s*:\s*\w+\s*=>\s*[\w.-]+\s*(?=\()")
_FIELD = re.compile(r"(?<![\w-])(title|abstract|authors?)\s*:\s*(?=[\[\"(])")
_PERSON = re.compile(r"(?<![\w-])name\s*:\s*(?:\"([^\"\n]{1,200})\"|\[([^\[\]\n]{1,200})\])")
_CROSS_REFERENCE = re.compile(r"(?:fig|tbl|tab|table|sec|eq|eqt|thm|lem|lst|alg|app|def|chap|ch)[:-]", re.IGNORECASE)
_SEPARATE = frozenset(("footnote", "figure", "caption", "sidenote", "margin-note", "note"))
_NOTES = re.compile(r"todo|fixme|inline-note|margin-note|comment|drafting|note", re.IGNORECASE)
_LABEL_WORD = re.compile(r"([^\W\d_]{2,30})(?:\s*[.:\u2014\u2013-])?\s+(?=\S)")
"""The word "Abstract" in bold type in front of the text."""
_LARGE = re.compile(
    r"text\((?:[^()\n]{0,80},)?\s*(?:size:\s*)?(?:(?:1[4-9]|[2-9]\d)(?:\.\d+)?pt|(?:1\.[3-9]\d*|[2-9](?:\.\d+)?)em)[^()\n]{0,120}\)(?=\[)"
)
_FIRST_HEADING = re.compile(r"^=+[ \t]", re.MULTILINE)
_BLOCK_LEVEL = re.compile(r"\n[ \t\r]*\n|^[ \t]*=+[ \t]", re.MULTILINE)
_MAX_DEPTH = 20


def matches(source: DraftSource) -> bool:
    """Whether a manuscript is Typst: by its suffix, or by a line of code that only Typst has."""
    return source.suffix in SUFFIXES or (not source.suffix and bool(_OWN.search(source.text)))


def read(source: DraftSource) -> Draft:
    """The draft in a Typst document, with the files that it includes and its bibliography."""
    reader = _Reader(with_includes(source.text, source.folder, _INCLUDE), Draft(format="typst"))
    reader.walk()
    draft = reader.builder.build()
    read_bibliography(draft, reader.resources, source.folder)
    return draft


class _Reader:
    """Walks through the source text token by token."""

    def __init__(self, source: SourceText, draft: Draft) -> None:
        self.source = source
        self.builder = DraftBuilder(source, draft)
        self.resources: list[str] = []
        self.text = _masked(source.text)
        self._pairs = _pairs(self.text)
        self._labels = set(_labels(self.text))
        self._macros = {match[1]: match[2] or match[3] or "" for match in _LET.finditer(self.text)}
        self._in_abstract = False
        self._abstract: list[str] = []
        self._headings: list[tuple[int, str]] = []

    def walk(self) -> None:
        """Read everything."""
        for match in _DOCUMENT.finditer(self.text):
            self._document(match.end(), self._pairs.get(match.end(), match.end()))
        self.markup(0, len(self.text), 0)
        self._end_paragraph()
        draft = self.builder.draft
        draft.abstract = draft.abstract or " ".join(filter(None, self._abstract))
        levels = [level for level, _ in self._headings]
        draft.title = draft.title or self._large_title()
        if not draft.title and levels.count(1) == 1 and levels[0] == 1 and len(levels) > 1:
            draft.title = self._headings[0][1]

    # -- the front of a document --------------------------------------------------------------------------------------

    def _large_title(self) -> str:
        """The title of a document without a template: the variable ``title``, or the first text in large letters."""
        if (title := self._macros.get("title", "")) and is_title(title):
            return title
        first = _FIRST_HEADING.search(self.text)
        for match in _LARGE.finditer(self.text, 0, first.start() if first else len(self.text)):
            close = self._pairs.get(match.end(), -1)
            title = self._plain(self.text[match.end() : close + 1]) if close > 0 else ""
            if len(title.split()) > 1 and is_title(title):
                return title
        return ""

    def _document(self, begin: int, end: int) -> None:
        """Title, authors and abstract in the arguments of ``#set document`` or of a template."""
        draft = self.builder.draft
        last = begin
        for field in _FIELD.finditer(self.text, begin + 1, end):
            at = field.end()
            if field.start() < last:
                continue
            last = close = self._pairs.get(at, self._string_end(at))
            value = self.text[at : close + 1]
            if field[1] == "title" and not draft.title:
                draft.title = self._plain(value)
            elif field[1] == "abstract" and not draft.abstract:
                draft.abstract = self._plain(value)
            elif field[1].startswith("author") and not draft.authors:
                names = [match[1] or match[2] for match in _PERSON.finditer(value)] or _STRING.findall(value)
                draft.authors = [self._plain(name) for name in names or [value] if not name.startswith("(")]

    def _string_end(self, at: int) -> int:
        string = _STRING.match(self.text, at)
        return string.end() - 1 if string else at

    def _plain(self, value: str) -> str:
        value = value[1:-1] if value[:1] in ("[", '"') else value
        reader = _Reader(SourceText.of(value), Draft())
        reader._macros = self._macros
        reader.markup(0, len(value), _MAX_DEPTH - 2)
        return without_marks(reader.builder.block.readable())

    # -- text ---------------------------------------------------------------------------------------------------------

    def markup(self, begin: int, end: int, depth: int) -> None:
        """Read a span of text."""
        at, is_start = begin, True
        while at < end:
            if is_start and (start := _LINE_START.match(self.text, at, end)):
                self._end_paragraph()
                if start["heading"]:
                    at = self._heading(len(start["heading"]), start.end(), end, depth)
                    continue
                at = start.end()
                is_start = False
                continue
            token = _TOKEN.match(self.text, at, end)
            assert token is not None, "the last alternative matches any character"
            is_start = bool(token["break"] or token["newline"])
            at = max(self._token(token, end, depth), token.end())

    def _heading(self, level: int, begin: int, end: int, depth: int) -> int:
        line_end = self.text.find("\n", begin, end)
        line_end = line_end if line_end >= 0 else end
        self.builder.block = Block(citations_only=True)
        at = begin
        while at < line_end:
            token = _TOKEN.match(self.text, at, line_end)
            assert token is not None, "the last alternative matches any character"
            at = max(min(self._token(token, line_end, depth), line_end), token.end())
        text = without_marks(self.builder.block.readable())
        self.builder.end_paragraph()
        self.builder.block = Block()
        self._in_abstract = is_abstract(text) and not self.builder.draft.abstract and not self._headings
        if not self._in_abstract:
            self.builder.section = text
            self._headings.append((level, text))
        return line_end

    def _end_paragraph(self) -> None:
        block = self.builder.block
        text = without_marks(block.readable())
        label = None if self._in_abstract or self._abstract or self._headings else _LABEL_WORD.match(text)
        is_bold = bool(block.begins) and self.text[max(0, block.begins[0] - 1) : block.begins[0]] == "*"
        if label and is_bold and is_abstract(label[1]) and not self.builder.draft.abstract:
            self._abstract.append(text[label.end() :])
            block.citations_only = True
        block.citations_only |= self._in_abstract
        if self._in_abstract:
            self._abstract.append(text)
        self.builder.end_paragraph()
        self.builder.block = Block()

    def _token(self, match: re.Match[str], end: int, depth: int) -> int:
        """Process one token; returns the offset to continue at."""
        block, (begin, after) = self.builder.block, match.span()
        if match["break"]:
            self._end_paragraph()
        elif match["comment"]:
            block.mark(begin, after, [], match[0].strip("/* "))
        elif match["gap"]:
            block.mark(begin, after, [], bracket_note(match[0]))
        elif match["reference"]:
            self._reference(match)
        elif match["keyword"]:
            return self._statement(match["keyword"], begin, after, end, depth)
        elif match["name"]:
            return self._call(match["name"], begin, after, end, depth)
        elif match["group"]:
            return self._group(begin + 1, end, depth)
        elif match["code"]:
            number = int(match["code"], 16)
            block.write(chr(number) if number < 0x110000 and not 0xD800 <= number < 0xE000 else "", begin, after)
        elif match["escaped"]:
            block.copy(match["escaped"], match.start("escaped"))
        elif match["math"] is not None and match["math"][:1].isspace():
            block.write(" ", begin, after)  # a displayed formula
        elif match["math"] is not None:
            block.write(" ".join(match["math"].replace("\x00", " ").split()), begin, after)
        elif match["dash"]:
            block.write("\u2014" if len(match["dash"]) == 3 else "\u2013", begin, after)
        elif match["raw"]:
            block.copy(match["raw"], match.start("raw"))
        elif match["tilde"] or match["newline"]:
            block.write(" ", begin, after)
        elif match["url"] or match["text"]:
            copy_with_gaps(block, self.source, begin, after)
        return after

    def _reference(self, match: re.Match[str]) -> None:
        """``@key``: a citation, unless it is a cross-reference."""
        key, block = match["key"], self.builder.block
        if key in self._labels or _CROSS_REFERENCE.match(key):
            if match["supplement"]:
                block.copy(match["supplement"][1:-1], match.start("supplement") + 1)
            return
        block.mark(*match.span(), [key] if is_key(key) else [])

    # -- code ---------------------------------------------------------------------------------------------------------

    def _statement(self, keyword: str, begin: int, at: int, end: int, depth: int) -> int:
        """A statement ends with its line, as far as its brackets are closed."""
        stop = at
        while stop < end and self.text[stop] not in "\n;":
            stop = min(end, self._pairs.get(stop, stop) + 1)
        if keyword in ("if", "for", "while", "else", "context", "return"):
            self._code(at, stop, depth)
        elif keyword == "show" or keyword == "set":
            self._code(at, stop, depth, texts=False)
        return stop

    def _group(self, begin: int, end: int, depth: int) -> int:
        close = self._pairs.get(begin, -1)
        if not 0 <= close < end or depth >= _MAX_DEPTH:
            return begin + 1
        if self.text[begin] == "[":
            self._content(begin + 1, close, depth)
        else:
            self._code(begin + 1, close, depth)
        return close + 1

    def _call(self, name: str, begin: int, at: int, end: int, depth: int) -> int:
        """A function call, or the name of a variable."""
        if depth >= _MAX_DEPTH:
            return at
        arguments, contents = (at, at), []
        stop = at
        if self.text[stop : stop + 1] == "(" and 0 <= (close := self._pairs.get(stop, -1)) < end:
            arguments, stop = (stop + 1, close), close + 1
        while self.text[stop : stop + 1] == "[" and 0 <= (close := self._pairs.get(stop, -1)) < end:
            contents.append((stop + 1, close))
            stop = close + 1
        if name == "cite":
            self._cite(begin, stop, *arguments)
        elif name == "bibliography":
            self.resources += _STRING.findall(self.text[slice(*arguments)].partition("style")[0])
        elif _NOTES.fullmatch(name) and (note := self._note(arguments, contents)) is not None:
            if asks_for_citation(note):
                self.builder.block.mark(begin, stop, [], note)
        elif stop == at:
            if text := self._macros.get(name):
                self.builder.block.write(text, begin, at)
        else:
            self._arguments(name, arguments, contents, depth)
        return stop

    def _arguments(self, name: str, arguments: tuple[int, int], contents: list[tuple[int, int]], depth: int) -> None:
        """The content blocks of a call."""
        if name == "title" and contents and not self.builder.draft.title:
            self.builder.draft.title = self._plain(self.text[slice(*contents[0])])
        inline = not contents and name in ("emph", "strong", "text", "underline", "smallcaps", "highlight", "align", "block")
        self._code(*arguments, depth, inline=inline)
        for begin, end in contents:
            if name == "title":
                self._separately(begin, end, depth, citations_only=True)
            elif name == "align":
                self._end_paragraph()
                self.markup(begin, end, depth + 1)
                self._end_paragraph()
            elif name in _SEPARATE:
                self._separately(begin, end, depth)
            elif name == "abstract" and not self.builder.draft.abstract:
                self._end_paragraph()
                self._in_abstract = True
                self.markup(begin, end, depth + 1)
                self._end_paragraph()
                self._in_abstract = False
            else:
                self._content(begin, end, depth)

    def _content(self, begin: int, end: int, depth: int) -> None:
        """A content block in running text; one with paragraphs of its own ends the paragraph before it."""
        if _BLOCK_LEVEL.search(self.text, begin, end):
            self._end_paragraph()
            self.markup(begin, end, depth + 1)
            self._end_paragraph()
        else:
            self.markup(begin, end, depth + 1)

    def _separately(self, begin: int, end: int, depth: int, citations_only: bool = False) -> None:
        """A note, a caption or a cell as a separate paragraph."""
        citations_only |= self.builder.block.citations_only or self._in_abstract
        outer, self.builder.block = self.builder.block, Block(citations_only=citations_only)
        in_abstract, self._in_abstract = self._in_abstract, False
        self.markup(begin, end, depth + 1)
        self.builder.block.citations_only |= citations_only
        self.builder.add(self.builder.block)
        self.builder.block, self._in_abstract = outer, in_abstract

    def _code(self, begin: int, end: int, depth: int, texts: bool = True, inline: bool = False) -> None:
        """Code: its citations, and its content blocks. A caption is text; other content counts only for its citations."""
        if depth >= _MAX_DEPTH:
            return
        at, name = begin, ""
        while at < end:
            match = _IN_CODE.match(self.text, at, end)
            assert match is not None, "the last alternative matches any character"
            at = match.end()
            if match["cite"] and (close := self._pairs.get(at, -1)) >= 0:
                self._cite(match.start(), close + 1, at + 1, close)
                at = close + 1
            elif match["bibliography"] and (close := self._pairs.get(at, -1)) >= 0:
                self.resources += _STRING.findall(self.text[at:close].partition("style")[0])
                at = close + 1
            elif match["attribution"]:
                if is_key(match["quoted"]) and match["quoted"] not in self._labels:
                    self.builder.block.mark(*match.span(), [match["quoted"]])
            elif match["named"]:
                name = match["named"]
            elif match["content"]:
                close = self._pairs.get(match.start(), -1)
                if 0 <= close < end:
                    if inline:
                        self._content(at, close, depth)
                    else:
                        self._separately(at, close, depth, citations_only=not texts or name != "caption")
                    at = close + 1
                name = ""

    def _cite(self, begin: int, end: int, first: int, last: int) -> None:
        match = _CITE_KEY.match(self.text, first, last)
        key = (match[1] or match[2] or "") if match else ""
        textual = '"prose"' in self.text[first:last]
        self.builder.block.mark(begin, end, [key] if is_key(key) else [], textual=textual)

    def _note(self, arguments: tuple[int, int], contents: list[tuple[int, int]]) -> str | None:
        """The text of a note to oneself; None where the call has none."""
        begin, end = contents[0] if contents else arguments
        if begin >= end:
            return None
        return self._plain(self.text[begin:end].replace("\x00", " "))


def _labels(text: str) -> Iterator[str]:
    """The labels that the document defines; a label in a citation is a key."""
    for match in _LABEL.finditer(text):
        if not _CITES_LABEL.search(text, max(0, match.start() - 40), match.start()):
            yield match[1]


def _pairs(text: str) -> dict[int, int]:
    """For each opening bracket, the offset of its closing bracket; brackets without a partner have none."""
    pairs: dict[int, int] = {}
    unmatched: list[int] = []
    counts = dict.fromkeys("[({", 0)
    partner = {"]": "[", ")": "(", "}": "{"}
    for match in _BRACKET.finditer(text):
        sign = match[0]
        if sign in counts:
            unmatched.append(match.start())
            counts[sign] += 1
        elif sign in partner and counts[partner[sign]]:
            while unmatched:
                begin = unmatched.pop()
                counts[text[begin]] -= 1
                if text[begin] == partner[sign]:
                    pairs[begin] = match.start()
                    break
    return pairs


def _masked(text: str) -> str:
    """`text` with NUL characters in place of comments and raw blocks; length and lines stay the same.

    A comment that asks for a citation stays.
    """
    pieces, last, at = [], 0, 0
    text = text.replace("\x00", " ")
    closed = True
    while match := _HIDDEN.search(text, at):
        begin, at = match.span()
        if match["line"]:
            end = at
        elif match["block"] and closed:
            end = _comment_end(text, at)
            closed = end >= 0
        elif match["raw"]:
            end = text.find(match["raw"], at)
            end = end + len(match["raw"]) if end >= 0 else -1
            if len(match["raw"]) == 1:  # inline: its text is read, but nothing in it is a comment
                at = end if end > 0 and "\n" not in text[begin:end] else at
                continue
        else:
            continue
        if end < 0:
            continue
        note = text[begin:end].strip("/* ")
        if match["raw"] or not (is_todo(note) and asks_for_citation(note) and end - begin < 2000):
            pieces += [text[last:begin], _VISIBLE.sub("\x00", text[begin:end])]
            last = end
        at = end
    return "".join([*pieces, text[last:]])


def _comment_end(text: str, at: int) -> int:
    """The end of a block comment, which may contain others; -1 where it has none."""
    depth = 1
    for match in _BLOCK_COMMENT.finditer(text, at):
        depth += 1 if match[0] == "/*" else -1
        if not depth:
            return match.end()
    return -1
