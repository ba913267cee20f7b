"""Writes ``commands.md`` from the help texts of the commands: ``make docs``."""

from __future__ import annotations

from pathlib import Path

import click

from citewell.cli.main import cli

PAGE = Path(__file__).with_name("commands.md")
_WIDTH = 100


def _sections(command: click.Command, name: str, parent: click.Context | None) -> list[str]:
    settings = {**command.context_settings, "terminal_width": _WIDTH, "max_content_width": _WIDTH}
    context = click.Context(command, info_name=name, parent=parent, **settings)
    sections = [f"## `{context.command_path}`\n\n```text\n{command.get_help(context)}\n```\n"]
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            child = command.get_command(context, inner)
            if child is not None:
                sections += _sections(child, inner, context)
    return sections


def page() -> str:
    """The whole page."""
    opening = "# Commands\n\nThe help text of every command, as `--help` prints it. `make docs` writes this page.\n"
    return "\n".join([opening, *_sections(cli, "citewell", None)])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
