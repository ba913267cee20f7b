"""Reads Markdown: pandoc's, Quarto's and R Markdown's.

The text is split by lines into blocks and by tokens inside a block. Markdown parsers such as markdown-it-py know the lines of a
block, but not where in it a citation begins, so this is written by hand. Code, displayed formulas, raw LaTeX and HTML comments
are not running text; a comment that asks for a citation is a gap.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

from citewell.draft import front_matter, tex_commands
from citewell.draft.bibliography import read_bibliography
from citewell.draft.builder import Block, DraftBuilder, without_marks
from citewell.draft.files import DraftSource, Folder
from citewell.draft.gaps import GAP, asks_for_citation, bracket_note, is_key
from citewell.draft.plain import copy_with_gaps
from citewell.draft.sections import continues_abstract, is_abstract, is_title, is_uncited_section, part_begun
from citewell.draft.source_text import MappedText, SourceText, concatenate
from citewell.papers import Draft
from citewell.sources.latex import to_text

_FRONT = re.compile(r"\ufeff?---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*$(?:\r?\n)?", re.DOTALL | re.MULTILINE)
_ABSTRACT_FIELD = re.compile(
    r"^abstract:[ \t]*(?:[|>][+\d-]*[ \t\r]*\n)?((?:[^\n]*\n)(?:[ \t]+[^\n]*\n|[ \t\r]*\n)*)", re.MULTILINE
)
_TITLE_BLOCK = re.compile(r"(?:%[ \t]?([^\n]*)\n)(?:%[ \t]?([^\n]*)\n)?(?:%[^\n]*\n)?")
_INCLUDE = re.compile(r"^[ \t]*\{\{<\s*include\s+([^\s>]{1,300})\s*>\}\}[ \t]*$", re.MULTILINE)
_RAW = "|".join(sorted(tex_commands.MATH | {"tikzpicture", "verbatim", "lstlisting", "minted", "comment"}))
_HIDDEN = re.compile(
    r"^[ \t>]*(?P<fence>`{3,}|~{3,})[^\n`]*$|(?P<comment>(?<!\\)<!--)|(?P<math>\$\$)"
    r"|^[ ]{0,3}(?P<link>\[(?![\^@])[^\[\]\n]{1,200}\]:[ \t]*(?:<[^<>\n]*>|(?:https?:|mailto:|[./#])\S*)[^\n]*)$"
    rf"|^[ \t]*\\begin\{{(?P<env>(?:{_RAW})\*?)\}}",
    re.MULTILINE,
)
_VISIBLE = re.compile(r"[^\n]")
_LINE = re.compile(r"[^\n]*(?:\n|$)")
_HEADING = re.compile(r"[ ]{0,3}(#{1,6})[ \t]+")
_UNDERLINE = re.compile(r"[ ]{0,3}(?:=+|-{2,})[ \t\r]*$")
_RULE = re.compile(r"[ ]{0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})\r?$")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\(?(?:\d{1,4}|[a-z]|#|@)[.)])[ \t]+")
_PREFIX = re.compile(r"[ \t]*>[ \t]?|[ \t]*\[\^[^\]\n]+\]:[ \t]*|[ ]{0,3}:[ \t]+|Table:[ \t]+")
_TABLE = re.compile(r"[ \t]*(?:\||\+[-=+:]+)")
_DIV = re.compile(
    r"[ \t]*:{3,}[^\n]*|[ \t]*\{\{<[^\n]*>\}\}[ \t\r]*$|[ \t]*\\(?:newpage|pagebreak|clearpage|appendix)[ \t\r]*$"
)
_ATTRIBUTES = re.compile(r"\{[#.=:\-][^{}\n]*\}|\{[a-z-]+=[^{}\n]*\}")
_KEY = r"@(?:\{(?P<braced>[^{}\s]{1,200})\}|(?P<key>https?://[^\s\[\](){}<>;,]{1,300}[^\s\[\](){}<>;,.]|\w(?:[:.#$%&+?<>~/-]?\w|--?\w)*|\?+)|(?=[\];,]))"
_PLAIN_KEY = re.compile(r"\w(?:[:.#$%&+?<>~/-]?\w)*")
_CITED = re.compile(rf"(?<![\w@./\\])-?{_KEY}")
_CROSS_REFERENCE = re.compile(
    r"(?:fig|tbl|tab|sec|eq|thm|lem|cor|prp|cnj|def|exm|exr|lst|tip|nte|wrn|imp|cau|alg|rem|sol|suppfig|supptbl|ref)[-:(]",
    re.IGNORECASE,
)
"""Cross-references of Quarto, bookdown and pandoc-crossref, which look like citation keys."""
_TOKEN = re.compile(
    rf"""(?P<hidden>\x00+)
      | (?P<gap>(?i:{GAP.pattern.replace(" ", "[ ]")}))
      | (?P<comment><!--)
      | (?P<myst>\{{(?:foot)?cite[a-z]?(?::[a-z:]{{1,20}})?\}}`(?P<cites>[^`\n]{{0,1000}})`)
      | (?P<html><cite[ \t]+data-cite="(?P<cited_by_html>[^"<>\n]{{1,500}})"[^<>]{{0,100}}>[^<>]{{0,300}}</cite>)
      | (?P<ticks>(?<!`)`{{1,9}}+)(?!`)(?P<code>[^`].{{0,500}}?)(?P=ticks)(?!`)
      | \\(?P<name>[A-Za-z]+)\*?(?P<arguments>(?:\[[^\[\]]{{0,300}}\]){{0,2}}(?:\{{[^{{}}]{{0,2000}}\}})?)
      | \\@ref\([^()\s]{{1,100}}\)
      | \\(?P<escaped>[^\w\s]|_)
      | \\(?=\s|$)
      | (?P<image>!\[)
      | (?P<note>\^\[)
      | \[\^[^\]\s]{{1,60}}\]
      | (?P<bracket>\[)
      | (?P<cited>{_CITED.pattern})(?P<where>[ \t]\[[^\[\]@\n]{{0,200}}\])?
      | \$(?P<math>(?=\S)[^$\n]{{0,500}}?(?<=[^\s\\]))\$(?!\d)
      | </?[A-Za-z][^<>]{{0,300}}>
      | (?P<attributes>{_ATTRIBUTES.pattern})
      | (?P<emphasis>\*{{1,3}}(?=\S)|(?<=\S)\*{{1,3}}|(?<!\w)_{{1,3}}(?=\w)|(?<=\S)_{{1,3}}(?!\w)|~~)
      | (?P<text>[^\x00\[(<`\\!^@$*_{{~\-]+|.)""",
    re.VERBOSE | re.DOTALL,
)
_FURTHER = re.compile(
    r"\([^()\n]{0,1000}(?:\([^()\n]{0,300}\)[^()\n]{0,300})?\)(?:\{[^{}\n]*\})?|\{[^{}\n]{0,300}\}|\[[^\[\]\n]{0,100}\]"
)
_MYST_LIST = re.compile(r"^[`:]{3,}\{bibliography\}[ \t]+(\S+\.bib)[ \t\r]*$", re.MULTILINE)
"""The list of references of MyST, which may name its files."""
_MYST_KEY = re.compile(r"\{[^{}]*\}")
_BRACKET = re.compile(r"\\.|[\[\]]|\n[ \t\r]*\n")
_ABSTRACT = re.compile(r"abstract", re.IGNORECASE)
_SUMMARY = re.compile(r"summary", re.IGNORECASE)
"""The abstract of some journals, which is also part of the text."""
_SECTION_LEVEL = 2
"""Headings below this level do not begin the body; some authors write their names as such."""
_MAX_BRACKET = 3000
_MAX_COMMENT = 2000
PRIORITY = 20
SUFFIXES = (".md", ".qmd", ".rmd", ".markdown")


def matches(source: DraftSource) -> bool:
    """Whether a manuscript is Markdown: by its suffix, a YAML header, a heading or a citation."""
    text = source.text
    return source.suffix in SUFFIXES or bool(
        _FRONT.match(text)
        or re.search(r"^#{1,6} \S", text, re.MULTILINE)
        or re.search(r"\[[^\[\]\n]{0,200}(?<!\w)@[\w{?]", text)
    )


def at_key(key: str) -> str:
    """A key as a citation in running text: ``@key``, in braces where it has unusual characters."""
    return f"@{key}" if _PLAIN_KEY.fullmatch(key) else f"@{{{key}}}"


def read(source: DraftSource) -> Draft:
    """The draft in a Markdown document, with the files that it includes and its bibliography."""
    return read_mapped(_with_includes(source.text, _front_end(source.text), source.folder), source.folder)


def _front_end(text: str) -> int:
    front = _FRONT.match(text) or _TITLE_BLOCK.match(text)
    return front.end() if front else 0


def read_mapped(source: SourceText, folder: Folder) -> Draft:
    """The draft in Markdown that may be a part of other files."""
    text = source.text
    front = _FRONT.match(text)
    title_block = None if front else _TITLE_BLOCK.match(text)
    draft = Draft(format="markdown")
    start = front.end() if front else title_block.end() if title_block else 0
    reader = _Reader(source, draft)
    resources: list[str] = []
    if front:
        resources = front_matter.read_header(draft, front[1], _plain)
        if abstract := _ABSTRACT_FIELD.search(text, *front.span(1)):
            reader.read_citations(*abstract.span(1))
    elif title_block:
        draft.title, draft.authors = (
            title_block[1].strip(),
            [name.strip() for name in (title_block[2] or "").split(";") if name.strip()],
        )
    reader.walk(start)
    draft = reader.builder.build()
    resources += [name for match in _MYST_LIST.finditer(text) for name in match[1].split(",")]
    read_bibliography(draft, resources, folder)
    return draft


def _with_includes(text: str, start: int, folder: Folder) -> SourceText:
    """The document with the files that Quarto's ``include`` names after `start`, one level deep."""
    whole = MappedText.of(text, 0)
    names, sources, pieces, at = [""], {"": text}, [], 0
    for match in _INCLUDE.finditer(text, start):
        opened = folder.text(match[1])
        if opened is None or opened[0] in sources:
            continue
        names.append(opened[0])
        sources[opened[0]] = opened[1]
        paragraph_break = whole.substitute(*match.span(), "\n\n")
        pieces += [whole.cut(at, match.start()), paragraph_break, MappedText.of(opened[1], len(names) - 1), paragraph_break]
        at = match.end()
    if not pieces:
        return SourceText.of(text)
    joined = concatenate([*pieces, whole.cut(at, len(text))])
    return SourceText(joined.text, joined.files, joined.begins, joined.ends, names, sources)


def _plain(value: object) -> str:
    """The text of a header field, without mark-up and citations."""
    if not isinstance(value, str | int | float):
        return ""
    reader = _Reader(SourceText.of(str(value)), Draft())
    reader.inline(0, len(str(value)))
    return without_marks(reader.builder.block.readable())


# -- blocks and their content -----------------------------------------------------------------------------------------


class _Reader:
    """Walks through the source text: line by line for blocks, then token by token for their content."""

    def __init__(self, source: SourceText, draft: Draft) -> None:
        self.source = source
        self.builder = DraftBuilder(source, draft)
        self.text = _masked(source.text)
        self._brackets = _brackets(self.text)
        self._keys = _keys(self.text)
        self._comment_ends = [match.end() for match in re.finditer("-->", self.text)]
        self._in_abstract = self._in_summary = self._in_body = False
        self._abstract_level = 0
        self._abstract: list[str] = []

    def read_citations(self, begin: int, end: int) -> None:
        """Read only the citations of a span that is not running text."""
        self.builder.block = Block(citations_only=True)
        self.inline(begin, end)
        self.builder.end_paragraph()

    def walk(self, start: int) -> None:
        """Read everything from `start`."""
        for kind, begin, end in self._blocks(start):
            if kind == "heading":
                self._heading(begin, end)
                continue
            self.builder.block = Block(citations_only=kind == "table" or self._in_abstract)
            for first, last in self._lines(begin, end) if kind != "text" else [(begin, end)]:
                self.inline(first, last)
            text = without_marks(self.builder.block.readable())
            if is_uncited_section(text):  # a name in bold type in place of a heading, such as **Keywords**
                self.builder.section = text
                self._in_abstract = self._in_summary = False
                self.builder.block.citations_only = True
            elif (self._in_abstract or self._in_summary) and part_begun(text) != "lists":
                self._abstract.append(text)
            self.builder.end_paragraph()
        self.builder.block = Block()
        draft = self.builder.draft
        draft.abstract = draft.abstract or " ".join(filter(None, self._abstract))

    def _blocks(self, start: int) -> Iterator[tuple[str, int, int]]:
        """The kind and the span of each block: heading, text, table or quote; the lines of the last two have prefixes."""
        kind, begin, end, listed = "", 0, 0, False
        for line in _LINE.finditer(self.text, start):
            at, stop = line.span()
            content = line[0].rstrip("\r\n")
            now, first = self._kind(content, at)
            if now == "underline" and kind == "text" and "\n" not in self.text[begin:end].strip():
                yield "heading", begin, end
                kind = ""
                continue
            if now == "underline":
                now = "blank" if _RULE.match(content) else "text"
            if now == "item" and kind == "text" and not listed and content.lstrip()[:1] not in "-*+[:":
                now, first = "text", at  # a line that only looks like an item: it begins with "a)" or "12."
            continues = now == kind and now in ("text", "table", "quote")
            listed = now == "item" or (continues and listed)
            now = "text" if now == "item" else now
            if kind and not continues:
                yield kind, begin, end
                kind = ""
            if now == "heading":
                yield now, first, at + len(content)
            elif now != "blank":
                if not kind:
                    kind, begin = now, first
                end = stop
        if kind:
            yield kind, begin, end

    def _kind(self, line: str, at: int) -> tuple[str, int]:
        """The kind of a line, and the offset of its content."""
        if not line.strip(" \t\r\x00") or _DIV.fullmatch(line):
            return "blank", at
        if match := _HEADING.match(line):
            return "heading", at + match.end()
        if _UNDERLINE.match(line):
            return "underline", at
        if _RULE.match(line):
            return "blank", at
        if match := _ITEM.match(line):
            return "item", at + match.end()
        if _TABLE.match(line):
            return "table", at
        if match := _PREFIX.match(line):
            return ("quote" if match[0].strip() == ">" else "item"), (at if match[0].strip() == ">" else at + match.end())
        return "text", at

    def _lines(self, begin: int, end: int) -> Iterator[tuple[int, int]]:
        for line in _LINE.finditer(self.text, begin, end):
            prefix = _PREFIX.match(line[0])
            if line[0]:
                yield line.start() + (prefix.end() if prefix else 0), line.end()

    def _heading(self, begin: int, end: int) -> None:
        self.builder.block = Block(citations_only=True)
        self.inline(begin, end)
        text = without_marks(self.builder.block.readable()).rstrip("# ").strip()
        first = not self.builder.draft.title and not self.builder.section and not self._in_abstract
        self.builder.end_paragraph()
        self.builder.block = Block()
        level = self._level(begin, end)
        if (self._in_abstract or self._in_summary) and level > self._abstract_level and continues_abstract(text):
            return  # a part of a structured abstract
        self._abstract_level = level
        # "Summary" and "Zusammenfassung" are the abstract at the beginning, and a conclusion at the end.
        announced = (
            is_abstract(text) and not self.builder.draft.abstract and (not self._in_body or bool(_ABSTRACT.fullmatch(text)))
        )
        self._in_summary = announced and bool(_SUMMARY.fullmatch(text))
        self._in_abstract = announced and not self._in_summary
        if first and is_title(text):
            self.builder.draft.title = text
        elif not self._in_abstract:
            self.builder.section = text
            self._in_body = self._in_body or (level <= _SECTION_LEVEL and not is_uncited_section(text))

    def _level(self, begin: int, end: int) -> int:
        """The level of the heading with this content, 1 for the highest."""
        signs = self.text[self.text.rfind("\n", 0, begin) + 1 : begin].count("#")
        return signs or (1 if self.text[end : end + 4].lstrip().startswith("=") else 2)

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
        if match["gap"] and not _is_link(match[0], self.text[after : after + 1]):
            block.mark(begin, after, [], bracket_note(match[0]))
        elif match["comment"]:
            return self._comment(begin, after, end)
        elif match["myst"]:
            self._myst(match)
        elif match["html"]:
            block.mark(begin, after, [key for each in match["cited_by_html"].split(",") if is_key(key := each.strip())])
        elif match["code"] and not match["code"].startswith("r "):
            block.copy(match["code"], match.start("code"))
        elif match["name"]:
            self._latex(match)
        elif match["escaped"]:
            block.copy(match["escaped"], match.start("escaped"))
        elif match["image"] or match["note"]:
            return self._separately(match.end(), end, depth)
        elif match["bracket"] or match["gap"]:
            return self._bracket(begin, end, depth)
        elif match["cited"] and (key := match["braced"] or match["key"]):
            if not _CROSS_REFERENCE.match(key):
                block.mark(begin, after, [key] if is_key(key) else [], textual=True)
        elif match["math"]:
            block.write(to_text(match["math"]), begin, after)
        elif match["text"]:
            copy_with_gaps(block, self.source, begin, after)
        return after

    def _comment(self, begin: int, after: int, end: int) -> int:
        """A comment that asks for a citation; all others are hidden already."""
        at = bisect_left(self._comment_ends, after + len("-->"))
        close = self._comment_ends[at] if at < len(self._comment_ends) else end + 1
        if close > min(end, after + _MAX_COMMENT):
            self.builder.block.copy("<!--", begin)
            return after
        self.builder.block.mark(begin, close, [], self.text[after : close - len("-->")])
        return close

    def _latex(self, match: re.Match[str]) -> None:
        """A LaTeX command in Markdown: a citation, a gap or text."""
        name, inside = match["name"], match["arguments"].rpartition("{")[2].removesuffix("}")
        block, (begin, after) = self.builder.block, match.span()
        if tex_commands.is_gap(name) or (tex_commands.is_note(name) and asks_for_citation(inside)):
            block.mark(begin, after, [], to_text(inside))
        elif tex_commands.is_citation(name) and "{" in match["arguments"]:
            keys = [key for each in inside.split(",") if is_key(key := each.strip())]
            block.mark(begin, after, keys, textual=tex_commands.is_textual(name))
        elif name not in tex_commands.SKIPPED and name not in ("begin", "end") and (text := to_text(match[0])):
            block.write(text, begin, after)

    def _myst(self, match: re.Match[str]) -> None:
        """A citation of MyST: ``{cite:p}`one,two```; a key may stand between braces that say what surrounds it."""
        keys = [_MYST_KEY.sub("", each).strip() for each in match["cites"].split(",")]
        role = match["myst"].partition("}")[0]
        self.builder.block.mark(*match.span(), list(filter(is_key, keys)), textual=role.endswith((":t", ":ts", "citet")))

    def _bracket(self, begin: int, end: int, depth: int) -> int:
        """A group of citations, a link, or a plain bracket."""
        close = self._closing(begin, end)
        block = self.builder.block
        if close > 0:
            further = _FURTHER.match(self.text, close + 1, end)
            keys = [] if further and further[0][0] == "(" else self._keys_between(begin + 1, close + 1)
            if keys:
                named = [name for _, _, name in keys if is_key(name)]
                block.mark(begin, close + 1, named)
                for first, last, name in keys:
                    if not is_key(name) and named:  # a gap next to keys, as in [@one; @?]
                        block.mark(first, last, [])
                return close + 1
            if further and depth < 4:
                self.inline(begin + 1, close, depth + 1)
                return further.end()
        block.copy("[", begin)
        return begin + 1

    def _keys_between(self, begin: int, end: int) -> list[tuple[int, int, str]]:
        """The span and the name of each citation key between two offsets."""
        first = bisect_left(self._keys, (begin,))
        last = bisect_left(self._keys, (end,))
        return [key for key in self._keys[first:last] if key[1] <= end]

    def _closing(self, at: int, end: int) -> int:
        """The offset of the closing bracket; -1 where there is none before `end` or nearby."""
        close = self._brackets.get(at, -1)
        return close if close < min(end, at + _MAX_BRACKET) else -1

    def _separately(self, at: int, end: int, depth: int) -> int:
        """A caption or a note as a separate paragraph."""
        close = self._closing(at - 1, end)
        if close < 0 or depth >= 4:
            return at
        outer, self.builder.block = self.builder.block, Block(citations_only=self.builder.block.citations_only)
        self.inline(at, close, depth + 1)
        self.builder.add(self.builder.block)
        self.builder.block = outer
        further = _FURTHER.match(self.text, close + 1, end)
        return further.end() if further else close + 1


def _is_link(written: str, next_character: str) -> bool:
    """Whether something that looks like a gap is a link or a span: ``[reference](https://...)``."""
    return written.startswith("[") and "?" not in written and next_character in ("(", "[", "{")


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


def _keys(text: str) -> list[tuple[int, int, str]]:
    """The span and the name of each citation key of a text; a missing one is empty. Cross-references are left out."""
    keys = []
    for match in _CITED.finditer(text):
        name = match["braced"] or match["key"] or ""
        if not _CROSS_REFERENCE.match(name):
            keys.append((*match.span(), name))
    return keys


def _masked(text: str) -> str:
    """`text` with NUL characters in place of what is not running text; length and lines stay the same."""
    pieces, last, at = [], 0, 0
    shortest_open: dict[str, int] = {}
    while match := _HIDDEN.search(text, at):
        begin, at = match.span()
        kind, size = _hidden_kind(match)
        if size >= shortest_open.get(kind, size + 1):
            continue
        if (end := _hidden_end(text, match)) < 0:
            shortest_open[kind] = size
            continue
        if not (match["comment"] and asks_for_citation(text[at:end])):
            pieces += [text[last:begin], _VISIBLE.sub("\x00", text[begin:end])]
            last = end
        at = end
    return "".join([*pieces, text[last:]])


def _hidden_kind(match: re.Match[str]) -> tuple[str, int]:
    """What closes a hidden part, and how long that has to be: a fence of four signs is not closed by one of three."""
    fence = match["fence"] or ""
    return (fence[0], len(fence)) if fence else (match["env"] or match["comment"] or match["math"] or "link", 0)


def _hidden_end(text: str, match: re.Match[str]) -> int:
    """The end of a hidden part; -1 where it has no end."""
    if fence := match["fence"]:
        close = re.compile(rf"^[ \t>]*{re.escape(fence)}{re.escape(fence[0])}*[ \t\r]*$", re.MULTILINE).search(
            text, match.end()
        )
        return close.end() if close else -1
    if match["link"]:
        return match.end()
    closing = "-->" if match["comment"] else "$$" if match["math"] else f"\\end{{{match['env']}}}"
    end = text.find(closing, match.end())
    return end + len(closing) if end >= 0 else -1
