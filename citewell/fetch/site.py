"""Where a service is, and what it asks of those who use it."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Site:
    """One service, as its own documentation describes it."""

    name: str
    """What commands and environment variables call it."""
    title: str
    """What people call it."""
    address: str
    """The beginning of every URL; ``$CITEWELL_<NAME>_URL`` puts a mirror or an institution's proxy in its place."""
    interval: float
    """Seconds between two requests of somebody whom the service does not know."""
    known_interval: float | None = None
    """The same for one whom it knows: by a key, or where `email_counts` by an e-mail address."""
    email_counts: bool = False
    contact: str = ""
    """The parameter in which the service wants an e-mail address."""
    key_variable: str = ""
    """The environment variable that holds a key for it."""
    key_parameter: str = ""
    key_header: str = ""
    key_prefix: str = ""
    """What stands before the key in its header."""
    fixed: tuple[tuple[str, str], ...] = ()
    """Parameters that go with every request."""
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def url_variable(self) -> str:
        return f"CITEWELL_{self.name.upper()}_URL"

    def url(self) -> str:
        """The address to use."""
        return (os.environ.get(self.url_variable) or self.address).rstrip("/")

    def key(self) -> str:
        """The user's key, or nothing."""
        return os.environ.get(self.key_variable, "").strip() if self.key_variable else ""
