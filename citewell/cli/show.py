"""``citewell show``: one paper in full."""

from __future__ import annotations

import click

from citewell.cli.options import byline, json_option, library_option, print_json
from citewell.library.library import Library
from citewell.library.provenance import Provenance, provenance
from citewell.papers import Reference
from citewell.serialize import paper as of_paper

_SHOWN = 10
_SHORT = 200


@click.command("show")
@click.argument("name", metavar="ID")
@library_option
@json_option
def command(name: str, library: Library, as_json: bool) -> None:
    """Show one paper: its record, its references and the papers that cite it.

    ID is any identifier (a DOI, arXiv:1706.03762, acl:P19-1285, a URL), an id of a data set, or a citation key.
    """
    number = library.number(name)
    if as_json:
        print_json(of_paper(library, number))
        return
    sources = provenance(library, number)
    paper = library.store.whole(number)
    citing = library.store.papers(library.store.cited_by(number))
    click.secho(paper.title or paper.id, bold=True)
    click.echo(byline(paper, authors=20))
    click.echo("  ".join(key for key in paper.ids if not key.startswith(("record:", "local:", "group:"))) or paper.id)
    if paper.abstract:
        click.echo(f"\n{paper.abstract}")
    if paper.keywords:
        click.echo(f"\nKeywords: {', '.join(paper.keywords)}")
    if paper.sentences:
        click.echo(f"Full text: {len(paper.sentences):,} sentences")
    _list(
        f"Cites {len(paper.references):,}", [_cited(library, each) for each in paper.references[:_SHOWN]], len(paper.references)
    )
    _list(
        f"Cited by {len(citing):,}", [f"{other.title} ({other.year})" for other in list(citing.values())[:_SHOWN]], len(citing)
    )
    _list("Sources", [_source(each) for each in sources], len(sources))


def _source(entry: Provenance) -> str:
    name = f"{entry.source} ({entry.key})" if entry.source else "added by a program or an earlier version of citewell"
    used = f": {', '.join(entry.used)}" if entry.used else ""
    differs = "".join(f"\n    says {field}: {_short(value)}" for field, value in entry.differs.items())
    return f"{name}{used}{differs}"


def _short(value: str) -> str:
    return value if len(value) <= _SHORT else f"{value[:_SHORT]}..."


def _cited(library: Library, reference: Reference) -> str:
    number = library.store.find(reference.ids[0]) if reference.ids and not reference.title else None
    if number is not None:
        paper = library.store.papers([number])[number]
        return f"{paper.title} ({paper.year})"
    known = reference.title or ", ".join(reference.ids) or ", ".join(reference.authors)
    return f"{known}{f' ({reference.year})' if reference.year else ''} [not in the library]"


def _list(heading: str, lines: list[str], total: int) -> None:
    if total:
        click.secho(f"\n{heading}", bold=True)
        for line in lines:
            click.echo(f"  {line}")
        if total > len(lines):
            click.echo(f"  and {total - len(lines):,} more; --json lists them all")
