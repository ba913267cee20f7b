"""``citewell pipelines``: the named ways of finding papers."""

from __future__ import annotations

import click

from citewell.cli.options import json_option, print_json
from citewell.pipeline import DEFAULT, definitions


@click.command("pipelines")
@json_option
def command(as_json: bool) -> None:
    """List the pipelines that --pipeline takes."""
    if as_json:
        print_json([{"name": name, **definition} for name, definition in definitions().items()])
        return
    width = max(map(len, definitions()))
    for name, definition in definitions().items():
        click.echo(f"{name:<{width}}  {definition['about']}{' (default)' if name == DEFAULT else ''}")
