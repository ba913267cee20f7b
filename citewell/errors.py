"""The one exception that a user sees: a single line that says what is wrong and how to mend it."""

from __future__ import annotations


class CitewellError(Exception):
    """Something the user can act on; the command line prints it as one line and exits with 1."""
