"""``citewell pipelines``: the pipelines by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

from citewell import serialize
from citewell.cli.options import json_option, print_json
from citewell.pipeline.registry import DEFAULT, definitions


@click.command("pipelines")
@json_option
def command(as_json: bool) -> None:
    """List the pipelines that --pipeline takes, and those that need weights first."""
    listed = serialize.pipelines()
    if as_json:
        print_json(listed)
        return
    lacking = {each["name"]: each["missing_weights"] for each in listed}
    _print({name: " (default)" if name == DEFAULT else "" for name in definitions() if not lacking[name]})
    if waiting := [name for name in definitions() if lacking[name]]:
        click.echo("\nThese need weights first: run 'citewell train RECIPE' with $CITEWELL_MODELS set to a folder for them.\n")
        recipes = {name: definitions()[name].get("recipe", f"needs {', '.join(lacking[name])}") for name in waiting}
        _print({name: f" ({recipe})" for name, recipe in recipes.items() if "family" not in definitions()[name]})
        _print_families([name for name in waiting if "family" in definitions()[name]])


def _print_families(names: Sequence[str]) -> None:
    """Print in a few words the names of pipelines that differ only in a few choices; --json lists every one."""
    for family in dict.fromkeys(definitions()[name]["family"] for name in names):
        first, *others = (name for name in names if definitions()[name]["family"] == family)
        click.echo(f"\n{first} ({definitions()[first]['recipe']}) and {len(others)} like it, each with a recipe of its own:")
        for pattern in family.split(", "):
            click.echo(f"  {pattern}")


def _print(endings: Mapping[str, str]) -> None:
    width = max(map(len, endings), default=0)
    for name, ending in endings.items():
        click.echo(f"{name:<{width}}  {definitions()[name]['about']}{ending}")
