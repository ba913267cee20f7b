"""The address of a service and its rules of use."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Site:
    """One service, as its documentation describes it."""

    name: str
    """Its name in commands and environment variables."""
    title: str
    """Its name for people."""
    address: str
    """The beginning of every URL; ``$CITEWELL_<NAME>_URL`` replaces it by a mirror or a proxy."""
    interval: float
    """Seconds between two requests of an anonymous user."""
    known_interval: float | None = None
    """The same for an identified user: one with a key or, if `email_counts`, with an e-mail address."""
    email_counts: bool = False
    contact: str = ""
    """The parameter for the e-mail address of the user."""
    key_variable: str = ""
    """The environment variable with the user's key."""
    key_parameter: str = ""
    key_header: str = ""
    key_prefix: str = ""
    """Text before the key in its header."""
    fixed_parameters: tuple[tuple[str, str], ...] = ()
    """Parameters of every request."""
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def url_variable(self) -> str:
        return f"CITEWELL_{self.name.upper()}_URL"

    def url(self) -> str:
        """The address to use."""
        return (os.environ.get(self.url_variable) or self.address).rstrip("/")

    def key(self) -> str:
        """The user's key, or an empty string."""
        return os.environ.get(self.key_variable, "").strip() if self.key_variable else ""
