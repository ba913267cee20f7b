"""``citewell pipelines``: the named ways of finding papers."""

from __future__ import annotations

from collections.abc import Sequence

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
    _print([name for name in definitions() if not lacking[name]])
    if waiting := [name for name in definitions() if lacking[name]]:
        click.echo("\nThese need weights: 'citewell train RECIPE' makes them, in a folder that $CITEWELL_MODELS names.\n")
        _print(waiting)


def _print(names: Sequence[str]) -> None:
    width = max(map(len, names))
    for name in names:
        definition = definitions()[name]
        recipe = f" ({definition['recipe']})" if "recipe" in definition else ""
        click.echo(f"{name:<{width}}  {definition['about']}{' (default)' if name == DEFAULT else recipe}")
