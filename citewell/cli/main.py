"""``citewell``: finds the command, runs it, and turns errors into one line."""

from __future__ import annotations

import os
import sqlite3
import sys
from importlib import import_module

import click

from citewell import __version__, extras, threads
from citewell.errors import CitewellError

COMMANDS = (
    *("add", "fetch", "suggest", "feedback", "check", "search", "show", "export", "library", "pipelines", "serve"),
    *("evaluate", "compare", "bioasq", "tune", "set", "study", "reproduce", "train", "models", "demo"),
)
"""Each is a module of this package with a `command`, imported only when it is called."""


class _Commands(click.Group):
    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = import_module(f"citewell.cli.{name}").command
        return command


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def cli() -> None:
    """Suggests what to cite, and shows why.

    Start with 'citewell demo', or add your own papers: 'citewell add refs.bib', then 'citewell suggest draft.txt'.
    """


def main() -> None:
    threads.limit_libraries()  # before a command imports numpy
    try:
        cli(standalone_mode=False)
    except click.exceptions.Abort:
        _fail("interrupted; committed papers stay in the library", 130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except CitewellError as error:
        _fail(str(error), 1)
    except ModuleNotFoundError as error:
        message = extras.advice(error)
        if message is None:
            raise
        _fail(message, 1)
    except sqlite3.Error as error:
        _fail(f"the library cannot be read ({error}); run 'citewell library check'", 1)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except OSError as error:
        if error.filename is None:
            raise
        _fail(f"{error.filename}: {error.strerror}; choose another folder or check its permissions", 1)


def _fail(message: str, status: int) -> None:
    print(f"citewell: {message}", file=sys.stderr)
    sys.exit(status)


if __name__ == "__main__":
    main()
