"""``citewell train``: make a model of the library's papers that a pipeline can search by."""

from __future__ import annotations

import click

from citewell.cli.options import json_option, library_option, print_json
from citewell.library.library import Library


@click.command("train")
@click.argument("recipe")
@library_option
@json_option
def command(recipe: str, library: Library, as_json: bool) -> None:
    """Train a model on the library's papers, citations and contexts, by RECIPE.

    The model is kept in the library's folder and serves the pipelines that need it. Killed, the same command goes on from the
    last whole epoch. Papers that are added later have no vector until it is run again. An unknown RECIPE lists those that
    there are. All but HyperDoc2Vec need: pip install 'citewell[train]'

    \b
        citewell train hyperdoc2vec
        citewell train lda --library my-papers
    """
    from citewell.cli.progress import Bar
    from citewell.train.recipe import load_recipe
    from citewell.train.training import train

    chosen = load_recipe(recipe)
    with library, Bar() as bar:
        about = train(library, chosen, bar)
    if as_json:
        print_json(about)
    else:
        print(
            f"{recipe}: {about['papers']:,} papers, {about['words']:,} words and {about['contexts']:,} contexts"
            f" in {about['seconds']:,.0f} seconds"
        )
