"""``citewell pipelines``: the named ways of finding papers."""

from __future__ import annotations

from collections.abc import Mapping

import click

from citewell.cli.options import json_option, print_json
from citewell.pipeline.pipeline import DEFAULT, definitions
from citewell.serialize import of_pipelines


@click.command("pipelines")
@json_option
def command(as_json: bool) -> None:
    """List the pipelines that --pipeline takes, and those that would need weights first."""
    found = of_pipelines()
    if as_json:
        print_json(found)
        return
    lacking = {each["name"]: each["lacks"] for each in found}
    _print({name: " (default)" if name == DEFAULT else "" for name in definitions() if not lacking[name]})
    if waiting := [name for name in definitions() if lacking[name]]:
        click.echo("\nThese need weights: 'citewell train RECIPE' makes them, in a folder that $CITEWELL_MODELS names.\n")
        recipes = {name: definitions()[name].get("recipe", f"lacks {', '.join(lacking[name])}") for name in waiting}
        _print({name: f" ({recipe})" for name, recipe in recipes.items()})


def _print(endings: Mapping[str, str]) -> None:
    width = max(map(len, endings), default=0)
    for name, ending in endings.items():
        click.echo(f"{name:<{width}}  {definitions()[name]['about']}{ending}")
