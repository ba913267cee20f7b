"""``citewell pipelines``: the named ways of finding papers."""

from __future__ import annotations

import click

from citewell.cli.options import json_option, print_json
from citewell.pipeline import DEFAULT, definitions, pipeline


@click.command("pipelines")
@json_option
def command(as_json: bool) -> None:
    """List the pipelines that --pipeline takes, and those that would need weights first."""
    lacking = {name: pipeline(name).lacks() for name in definitions()}
    if as_json:
        print_json([{"name": name, **definition, "lacks": lacking[name]} for name, definition in definitions().items()])
        return
    width = max(map(len, definitions()))
    for name, definition in definitions().items():
        if not lacking[name]:
            click.echo(f"{name:<{width}}  {definition['about']}{' (default)' if name == DEFAULT else ''}")
    if any(lacking.values()):
        click.echo("\nThese need weights: 'citewell train RECIPE' makes them, in a folder that $CITEWELL_MODELS names.\n")
    for name, definition in definitions().items():
        if lacking[name]:
            recipe = f" ({definition['recipe']})" if "recipe" in definition else ""
            click.echo(f"{name:<{width}}  {definition['about']}{recipe}")
