"""``citewell serve``: the page and the HTTP API."""

from __future__ import annotations

import sys

import click

from citewell.cli.options import json_option, library_option, print_json
from citewell.library.library import Library


@click.command("serve")
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Where to listen.")
@click.option("--port", default=8765, show_default=True, type=click.IntRange(0, 65535), help="0: one that is free.")
@click.option(
    "--token",
    envvar="CITEWELL_TOKEN",
    default="",
    metavar="TEXT",
    help="What clients must show; needed on any address but this machine's own. $CITEWELL_TOKEN keeps it out of process lists.",
)
@click.option("--open/--no-open", "opens", default=True, show_default=True, help="Open the page in the browser.")
@click.option("--workers", type=click.IntRange(1, 64), help="Processes that answer quick requests; default: one a core.")
@click.option("--timeout", default=30.0, show_default=True, type=click.FloatRange(0.1, 3600), help="Seconds for an answer.")
@click.option("--max-upload", default=100, show_default=True, type=click.IntRange(1, 100_000), help="Megabytes a request.")
@click.option(
    "--rate",
    type=click.FloatRange(0.1, 1_000_000),
    help="Requests a second that one client may make; default: 20, or 500 where all clients are on this machine.",
)
@library_option
@json_option
def command(
    host: str,
    port: int,
    token: str,
    opens: bool,
    workers: int | None,
    timeout: float,
    max_upload: int,
    rate: float | None,
    library: Library,
    as_json: bool,
) -> None:
    """Serve the page and the HTTP API, until interrupted.

    Only this machine can reach it, unless --host says otherwise; then a token is needed.
    docs/guides/server.md describes the API.

    \b
        citewell serve
        CITEWELL_TOKEN=... citewell serve --host 0.0.0.0 --no-open
    """
    from citewell.serve import running
    from citewell.serve.settings import Settings

    listener, loopback = running.listening(host, port)
    with listener:
        running.check_token(token, loopback)
        running.ensure_library(library.folder)
        settings = Settings(library.folder, token, loopback, workers or 0, timeout, max_upload * 1_000_000, rate=rate or 0.0)
        address = running.address_of(listener)

        def ready() -> None:
            if as_json:
                print_json({"url": address, "library": str(library.folder)})
            else:
                click.echo(f"citewell answers at {address} from {library.folder}; Ctrl-C ends it")
            sys.stdout.flush()
            if opens:
                running.open_browser(address, token)

        running.run(settings, listener, ready)
