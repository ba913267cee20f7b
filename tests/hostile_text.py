"""Texts that make a careless pattern take quadratic time, and a program that reads one format of them under limits.

Run as a program: ``python tests/hostile_text.py draft:latex 1000000 SECONDS``. It prints what took longer,
and the most memory in MB in its last line.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Iterator

_REPEATED = {
    "dots": ".",
    "spaced dots": ". ",
    "capitals": "ACGT",
    "open braces": "{",
    "open brackets": "[",
    "open parentheses": "(",
    "citations": "[@a;",
    "gaps": "[?]",
    "backslashes": "\\",
    "dollars": "$",
    "quotes": '"',
    "backticks": "`a``b```",
    "commas": ",",
    "spaces": " ",
    "newlines": "\n",
    "commands": "\\cite{",
    "options": "\\cite[",
    "unknown options": "\\a[",
    "definitions": "\\newcommand\\a[",
    "formulas": "\\(",
    "environments": "\\begin{x}",
    "footnotes": "\\footnote{",
    "acronyms": "\\newacronym{a}{b}{c}\\gls{a}",
    "entries": "@article{",
    "lines of entries": "@article{a(b,\n",
    "names": "and A. Berg, ",
    "comments": "<!--",
    "declarations": "<!DOCTYPE [",
    "accents": "e\u0301",
    "combining accents": "\u0301",
    "headings": "# a\n",
    "dashes": "- ",
    "records": "TY  - JOUR\n",
    "open objects": '{"a":',
    "addresses": "a@b.c ",
    "typed citations": "(Berg ",
    "full stops of Chinese": "\u3002",
}
_NESTED = {
    "braces": ("{", "}"),
    "brackets": ("[", "]"),
    "notes": ("^[", "]"),
    "elements": ("<a>", "</a>"),
    "arguments": ("\\a{", "}"),
}
_HEADS = {
    "draft:markdown": ("", "---\ntitle: "),
    "draft:latex": ("", "\\title{"),
    "source:bibtex": ("", "@article{a, title={", "@article{a, author={"),
    "source:ris": ("", "TY  - JOUR\nAU  - "),
    "source:jats": ("", "<article><body><sec><p>"),
}


def hostile_texts(size: int) -> Iterator[tuple[str, str]]:
    """The name and the text of each shape, about `size` characters long."""
    for name, piece in _REPEATED.items():
        yield name, (piece * (size // len(piece) + 1))[:size]
    for name, (opening, closing) in _NESTED.items():
        depth = size // len(opening + closing)
        yield f"nested {name}", f"{opening * depth}a{closing * depth}"
    yield "one long command", "\\" + "cite" * (size // 4)
    yield "fences", "".join(f"``` a{number}\n" for number in range(size // 9))


def _reader(name: str) -> Callable[[str], object]:
    kind, _, name = name.partition(":")
    if kind == "draft":
        from citewell.draft import parse

        return lambda text: parse(text, name)
    from citewell.sources import InputError, Source
    from citewell.sources.registry import reader

    def read(text: str) -> None:
        with Source.of(text) as source:
            try:
                for _ in reader(name).read(source):
                    pass
            except InputError:
                pass

    return read


def main(name: str, size: int, seconds: float) -> None:
    read = _reader(name)
    for shape, text in hostile_texts(size):
        for head in _HEADS.get(name, ("",)):
            begun = time.process_time()
            read(head + text)
            if (taken := time.process_time() - begun) > seconds:
                print(f"{shape} after {head!r}: {taken:.1f} s", flush=True)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
