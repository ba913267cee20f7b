"""``citewell serve``: the web page and the HTTP API."""

from __future__ import annotations

import sys

import click

from citewell.cli.options import json_option, library_option, print_json
from citewell.library.library import Library


@click.command("serve")
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Address to listen on.")
@click.option("--port", default=8765, show_default=True, type=click.IntRange(0, 65535), help="Port; 0 chooses a free one.")
@click.option(
    "--token",
    envvar="CITEWELL_TOKEN",
    default="",
    metavar="TEXT",
    help="Token that clients must send; required unless only this machine can reach the address. "
    "Set $CITEWELL_TOKEN instead to keep it out of process lists.",
)
@click.option("--open/--no-open", "opens", default=True, show_default=True, help="Open the page in the browser.")
@click.option("--workers", type=click.IntRange(1, 64), help="Processes for fast requests (default: one per core, at most 4).")
@click.option("--timeout", default=30.0, show_default=True, type=click.FloatRange(0.1, 3600), help="Seconds per request.")
@click.option("--max-upload", default=100, show_default=True, type=click.IntRange(1, 100_000), help="Megabytes per upload.")
@click.option(
    "--memory",
    type=click.IntRange(256, 100_000_000),
    metavar="MB",
    help="Megabytes that each worker process may use (default: half of the machine's memory, at least 2147).",
)
@click.option(
    "--rate",
    type=click.FloatRange(0.1, 1_000_000),
    help="Requests per second for each client (default: 20, or 500 on loopback).",
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
    memory: int | None,
    rate: float | None,
    library: Library,
    as_json: bool,
) -> None:
    """Serve the web page and the HTTP API until interrupted.

    Only this machine can reach the server, unless --host names another address; that requires a token. docs/server.md describes
    the API.

    \b
        citewell serve
        CITEWELL_TOKEN=... citewell serve --host 0.0.0.0 --no-open
    """
    from citewell.serve import server
    from citewell.serve.settings import Settings

    listener, loopback = server.listen(host, port)
    with listener:
        server.check_token(token, loopback)
        server.ensure_library(library.folder)
        settings = Settings(
            library.folder,
            token,
            loopback,
            workers or 0,
            timeout,
            max_upload * 1_000_000,
            memory_bytes=(memory or 0) * 1_000_000,
            rate=rate or 0.0,
        )
        url = server.url_of(listener)

        def ready() -> None:
            if as_json:
                print_json({"url": url, "library": str(library.folder)})
            else:
                click.echo(f"Serving the library in {library.folder} at {url} (press Ctrl-C to stop)")
            sys.stdout.flush()
            if opens:
                server.open_browser(url, token)

        server.run(settings, listener, ready)
