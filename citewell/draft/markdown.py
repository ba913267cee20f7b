"""Markdown as a draft: pandoc's, Quarto's and R Markdown's.

The text is taken line by line for its blocks and sign by sign for what stands in them, by hand: parsers of Markdown
(markdown-it-py and its kin) know the lines of a block, and not where in it a citation begins. Code, displayed formulas, raw
LaTeX and HTML comments are no running text; a comment that asks for a citation is a gap.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from citewell.draft import front_matter, tex_commands
from citewell.draft.bibliography import read_bibliography
from citewell.draft.builder import Block, DraftBuilder, without_marks
from citewell.draft.files import DraftSource, Folder
from citewell.draft.gaps import GAP, asks_for_citation, bracket_note, is_key
from citewell.draft.plain import copy_with_gaps
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
_KEY = r"@(?:\{(?P<braced>[^{}\s]{1,200})\}|(?P<key>\w(?:[:.#$%&+?<>~/-]?\w|--?\w)*|\?+)|(?=[\];,]))"
_PLAIN_KEY = re.compile(r"\w(?:[:.#$%&+?<>~/-]?\w)*")
_CITED = re.compile(rf"(?<![\w@./\\])-?{_KEY}")
_ELSEWHERE = re.compile(
    r"(?:fig|tbl|tab|sec|eq|thm|lem|cor|prp|cnj|def|exm|exr|lst|tip|nte|wrn|imp|cau|alg|rem|sol|suppfig|supptbl|ref)[-:(]",
    re.IGNORECASE,
)
"""Cross-references of Quarto, bookdown and pandoc-crossref, which look like keys."""
_TOKEN = re.compile(
    rf"""(?P<hidden>\x00+)
      | (?P<gap>(?i:{GAP.pattern.replace(" ", "[ ]")}))
      | <!--(?P<comment>.{{0,2000}}?)-->
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
_BRACKET = re.compile(r"\\.|[\[\]]|\n[ \t\r]*\n")
_ABSTRACT = re.compile(r"abstract", re.IGNORECASE)
_SUMMARY = re.compile(r"summary", re.IGNORECASE)
"""What some journals have for an abstract; it is a part of the text too."""
_LONGEST = 3000
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
    """A key as a citation in running text: ``@key``, in braces where it has other characters than keys mostly have."""
    return f"@{key}" if _PLAIN_KEY.fullmatch(key) else f"@{{{key}}}"


def read(source: DraftSource) -> Draft:
    """The draft in a Markdown document, with the files that it includes and its bibliography."""
    text, folder = source.text, source.folder
    front = _FRONT.match(text)
    title_block = None if front else _TITLE_BLOCK.match(text)
    draft = Draft(format="markdown")
    start = front.end() if front else title_block.end() if title_block else 0
    reader = _Reader(_with_includes(text, start, folder), draft)
    resources: list[str] = []
    if front:
        resources = front_matter.take(draft, front[1], _plain)
        if abstract := _ABSTRACT_FIELD.search(text, *front.span(1)):
            reader.quietly(*abstract.span(1))
    elif title_block:
        draft.title, draft.authors = (
            title_block[1].strip(),
            [name.strip() for name in (title_block[2] or "").split(";") if name.strip()],
        )
    reader.walk(start)
    draft = reader.builder.build()
    read_bibliography(draft, resources, folder)
    return draft


def _with_includes(text: str, start: int, folder: Folder) -> SourceText:
    """The document, and behind `start` in it the files that Quarto's ``include`` names, to a depth of one."""
    whole = MappedText.of(text, 0)
    names, sources, pieces, at = [""], {"": text}, [], 0
    for found in _INCLUDE.finditer(text, start):
        opened = folder.text(found[1])
        if opened is None or opened[0] in sources:
            continue
        names.append(opened[0])
        sources[opened[0]] = opened[1]
        rift = whole.substitute(*found.span(), "\n\n")
        pieces += [whole.cut(at, found.start()), rift, MappedText.of(opened[1], len(names) - 1), rift]
        at = found.end()
    made = concatenate([*pieces, whole.cut(at, len(text))])
    return SourceText(made.text, made.files, made.begins, made.ends, names, sources)


def _plain(value: object) -> str:
    """What a field of the header says, without marks and citations."""
    if not isinstance(value, str | int | float):
        return ""
    reader = _Reader(SourceText.of(str(value)), Draft())
    reader.inline(0, len(str(value)))
    return without_marks(reader.builder.block.readable())


# -- blocks and what stands in them -----------------------------------------------------------------------------------


class _Reader:
    """Walks along a source, line by line and then sign by sign."""

    def __init__(self, source: SourceText, draft: Draft) -> None:
        self.source = source
        self.builder = DraftBuilder(source, draft)
        self.text = _masked(source.text)
        self._brackets = _brackets(self.text)
        self._in_abstract = self._in_summary = False
        self._abstract: list[str] = []

    def quietly(self, begin: int, end: int) -> None:
        """Take the citations of a stretch that is no running text."""
        self.builder.block = Block(citations_only=True)
        self.inline(begin, end)
        self.builder.end_paragraph()

    def walk(self, start: int) -> None:
        """Read all of it from `start`."""
        for kind, begin, end in self._blocks(start):
            if kind == "heading":
                self._heading(begin, end)
                continue
            self.builder.block = Block(citations_only=kind == "table" or self._in_abstract)
            for first, last in self._lines(begin, end) if kind != "text" else [(begin, end)]:
                self.inline(first, last)
            if self._in_abstract or self._in_summary:
                self._abstract.append(without_marks(self.builder.block.readable()))
            self.builder.end_paragraph()
        self.builder.block = Block()
        draft = self.builder.draft
        draft.abstract = draft.abstract or " ".join(filter(None, self._abstract))

    def _blocks(self, start: int) -> Iterator[tuple[str, int, int]]:
        """Headings, paragraphs, and tables or quotations, whose lines have something before them, each with its stretch."""
        kind, begin, end, listed = "", 0, 0, False
        for line in _LINE.finditer(self.text, start):
            at, stop = line.span()
            said = line[0].rstrip("\r\n")
            now, first = self._kind(said, at)
            if now == "underline" and kind == "text" and "\n" not in self.text[begin:end].strip():
                yield "heading", begin, end
                kind = ""
                continue
            if now == "underline":
                now = "blank" if _RULE.match(said) else "text"
            if now == "item" and kind == "text" and not listed and said.lstrip()[:1] not in "-*+[:":
                now, first = "text", at  # a line that happens to begin with "a)" or "12."
            goes_on = now == kind and now in ("text", "table", "quote")
            listed = now == "item" or (goes_on and listed)
            now = "text" if now == "item" else now
            if kind and not goes_on:
                yield kind, begin, end
                kind = ""
            if now == "heading":
                yield now, first, at + len(said)
            elif now != "blank":
                if not kind:
                    kind, begin = now, first
                end = stop
        if kind:
            yield kind, begin, end

    def _kind(self, said: str, at: int) -> tuple[str, int]:
        """What a line is, and where what it says begins."""
        if not said.strip(" \t\r\x00") or _DIV.fullmatch(said):
            return "blank", at
        if found := _HEADING.match(said):
            return "heading", at + found.end()
        if _UNDERLINE.match(said):
            return "underline", at
        if _RULE.match(said):
            return "blank", at
        if found := _ITEM.match(said):
            return "item", at + found.end()
        if _TABLE.match(said):
            return "table", at
        if found := _PREFIX.match(said):
            return ("quote" if found[0].strip() == ">" else "item"), (at if found[0].strip() == ">" else at + found.end())
        return "text", at

    def _lines(self, begin: int, end: int) -> Iterator[tuple[int, int]]:
        for line in _LINE.finditer(self.text, begin, end):
            prefix = _PREFIX.match(line[0])
            if line[0]:
                yield line.start() + (prefix.end() if prefix else 0), line.end()

    def _heading(self, begin: int, end: int) -> None:
        self.builder.block = Block(citations_only=True)
        self.inline(begin, end)
        said = without_marks(self.builder.block.readable()).rstrip("# ").strip()
        first = not self.builder.draft.title and not self.builder.section and not self._in_abstract
        self.builder.end_paragraph()
        self.builder.block = Block()
        self._in_abstract = bool(_ABSTRACT.fullmatch(said)) and not self.builder.draft.abstract
        self._in_summary = bool(_SUMMARY.fullmatch(said)) and not self.builder.draft.abstract
        if first and not self._in_abstract:
            self.builder.draft.title = said
        elif not self._in_abstract:
            self.builder.section = said

    def inline(self, begin: int, end: int, depth: int = 0) -> None:
        """Write a stretch of text into the block that stands open."""
        at = begin
        while at < end:
            found = _TOKEN.match(self.text, at, end)
            assert found is not None, "the last alternative takes any character"
            at = max(self._token(found, end, depth), found.end())

    def _token(self, found: re.Match[str], end: int, depth: int) -> int:
        """Take one sign; where to go on."""
        block, (begin, behind) = self.builder.block, found.span()
        if found["gap"] and not _is_link(found[0], self.text[behind : behind + 1]):
            block.mark(begin, behind, [], bracket_note(found[0]))
        elif found["comment"]:
            block.mark(begin, behind, [], found["comment"])
        elif found["code"] and not found["code"].startswith("r "):
            block.copy(found["code"], found.start("code"))
        elif found["name"]:
            self._latex(found)
        elif found["escaped"]:
            block.copy(found["escaped"], found.start("escaped"))
        elif found["image"] or found["note"]:
            return self._apart(found.end(), end, depth)
        elif found["bracket"] or found["gap"]:
            return self._bracket(begin, end, depth)
        elif found["cited"] and (key := found["braced"] or found["key"]):
            if not _ELSEWHERE.match(key):
                block.mark(begin, behind, [key] if is_key(key) else [], textual=True)
        elif found["math"]:
            block.write(to_text(found["math"]), begin, behind)
        elif found["text"]:
            copy_with_gaps(block, self.source, begin, behind)
        return behind

    def _latex(self, found: re.Match[str]) -> None:
        """A command of LaTeX in the middle of Markdown: a citation or a gap, else nothing."""
        name, inside = found["name"], found["arguments"].rpartition("{")[2].removesuffix("}")
        block, (begin, behind) = self.builder.block, found.span()
        if tex_commands.is_gap(name) or (tex_commands.is_note(name) and asks_for_citation(inside)):
            block.mark(begin, behind, [], to_text(inside))
        elif tex_commands.is_citation(name) and "{" in found["arguments"]:
            keys = [key for each in inside.split(",") if is_key(key := each.strip())]
            block.mark(begin, behind, keys, textual=tex_commands.is_textual(name))
        elif name not in tex_commands.SKIPPED and name not in ("begin", "end") and (said := to_text(found[0])):
            block.write(said, begin, behind)

    def _bracket(self, begin: int, end: int, depth: int) -> int:
        """What begins with a bracket: a group of citations, a link, or a bracket."""
        close = self._closing(begin, end)
        block = self.builder.block
        if close > 0:
            further = _FURTHER.match(self.text, close + 1, end)
            keys = [] if further and further[0][0] == "(" else list(_CITED.finditer(self.text, begin + 1, close + 1))
            keys = [key for key in keys if not _ELSEWHERE.match(key["braced"] or key["key"] or "")]
            if keys:
                named = [key["braced"] or key["key"] or "" for key in keys]
                block.mark(begin, close + 1, [name for name in named if is_key(name)])
                for key, name in zip(keys, named, strict=True):
                    if not is_key(name) and any(map(is_key, named)):  # a gap beside keys, as in [@one; @?]
                        block.mark(*key.span(), [])
                return close + 1
            if further and depth < 4:
                self.inline(begin + 1, close, depth + 1)
                return further.end()
        block.copy("[", begin)
        return begin + 1

    def _closing(self, at: int, end: int) -> int:
        """Where the bracket at `at` closes; -1 where it does not before `end`, or only far away."""
        close = self._brackets.get(at, -1)
        return close if close < min(end, at + _LONGEST) else -1

    def _apart(self, at: int, end: int, depth: int) -> int:
        """A caption or a note as a paragraph of its own."""
        close = self._closing(at - 1, end)
        if close < 0 or depth >= 4:
            return at
        outer, self.builder.block = self.builder.block, Block(citations_only=self.builder.block.citations_only)
        self.inline(at, close, depth + 1)
        self.builder.add(self.builder.block)
        self.builder.block = outer
        further = _FURTHER.match(self.text, close + 1, end)
        return further.end() if further else close + 1


def _is_link(written: str, follows: str) -> bool:
    """Whether what looks like a gap is a link or a span: ``[reference](https://...)``."""
    return written.startswith("[") and "?" not in written and follows in ("(", "[", "{")


def _brackets(text: str) -> dict[int, int]:
    """For each opening bracket the place of the one that closes it in the same paragraph."""
    pairs: dict[int, int] = {}
    waiting: list[int] = []
    for found in _BRACKET.finditer(text):
        if found[0] == "[":
            waiting.append(found.start())
        elif found[0] == "]" and waiting:
            pairs[waiting.pop()] = found.start()
        elif found[0][0] == "\n":
            waiting.clear()
    return pairs


def _masked(text: str) -> str:
    """`text` with zero characters for what is no running text; as long as it was, and with its lines."""
    pieces, last, at = [], 0, 0
    unending: set[str] = set()
    while found := _HIDDEN.search(text, at):
        begin, at = found.span()
        if found[0] in unending:
            continue
        if (end := _hidden_end(text, found)) < 0:
            unending.add(found[0])
            continue
        if not (found["comment"] and asks_for_citation(text[at:end])):
            pieces += [text[last:begin], _VISIBLE.sub("\x00", text[begin:end])]
            last = end
        at = end
    return "".join([*pieces, text[last:]])


def _hidden_end(text: str, found: re.Match[str]) -> int:
    """Where what is hidden ends; -1 where it never does, and so does not begin."""
    if fence := found["fence"]:
        close = re.compile(rf"^[ \t>]*{re.escape(fence)}{re.escape(fence[0])}*[ \t\r]*$", re.MULTILINE).search(
            text, found.end()
        )
        return close.end() if close else -1
    if found["link"]:
        return found.end()
    closing = "-->" if found["comment"] else "$$" if found["math"] else f"\\end{{{found['env']}}}"
    end = text.find(closing, found.end())
    return end + len(closing) if end >= 0 else -1
