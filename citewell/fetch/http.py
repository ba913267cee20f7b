"""Asking a service politely: at its pace, one request at a time, patiently when it is busy, and never with a key in sight.

The pace is kept by a file that all citewell processes of a user share, so that two fetches at once are no faster than one.
A request that fails for a passing reason (no connection, 429, 5xx, an answer cut short) is made again, after the time that the
service names in ``Retry-After`` or else after ever longer pauses. Retries are written here and not taken from a library: those
at hand either do not know ``Retry-After`` as a date, or cannot look at the answer before they call it good.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import httpx
from filelock import FileLock

from citewell import __version__
from citewell.errors import CitewellError
from citewell.fetch.site import Site

Parameters = Mapping[str, str | int]

_PASSING = frozenset((408, 425, 429, 500, 502, 503, 504, 520, 522, 524))
_ATTEMPTS = 6
_CONNECTING_ATTEMPTS = 3
_LONGEST_WAIT = 300.0
_MAX_BODY = 128 * 1024 * 1024
_REDIRECTS = 5
_EMAIL = re.compile(r"[!-?A-~]+@[!-?A-~]+", re.ASCII)
_KEY = re.compile(r"[!-~]+", re.ASCII)
_AGAIN = "run the same command again later: it goes on where it was"


class RefusedError(CitewellError):
    """The service says no, and asking again would not help."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class UnreachableError(CitewellError):
    """Nobody answers at the service's address."""


class DamagedAnswerError(Exception):
    """An answer that cannot be what the service meant to say; worth asking again."""


class Answer(NamedTuple):
    status: int
    headers: httpx.Headers
    body: bytes


class Polite:
    """One service, asked by one user."""

    def __init__(
        self,
        site: Site,
        folder: Path,
        email: str = "",
        address: str = "",
        interval: float | None = None,
        attempts: int = _ATTEMPTS,
        pause: float = 1.0,
        told: Callable[[str], None] = lambda line: None,
    ) -> None:
        """`interval` may hurry a mirror or a proxy at `address`, never the service itself; `pause` follows a failure."""
        self.site = site
        self.address = (address or site.url()).rstrip("/")
        self._email = email
        self._key = site.key()
        self._check_settings()
        known = bool(self._key or (email and site.email_counts))
        own = site.known_interval if known and site.known_interval is not None else site.interval
        if interval is not None:
            own = interval if self.address != site.address.rstrip("/") else max(own, interval)
        self._interval = own
        self._attempts = attempts
        self._pause = pause
        self._told = told
        folder.mkdir(parents=True, exist_ok=True)
        self._last = folder / "last-request"
        self._lock = FileLock(folder / "last-request.lock")
        agent = f"citewell/{__version__}" + (f" (mailto:{email})" if email else "")
        self._client = httpx.Client(headers={"User-Agent": agent, **dict(site.headers)}, timeout=60.0)

    def _check_settings(self) -> None:
        url = urlsplit(self.address)
        if url.scheme not in ("http", "https") or not url.hostname:
            raise CitewellError(f"{self.address!r} is no address of {self.site.title}; it looks like {self.site.address}")
        if self._email and not _EMAIL.fullmatch(self._email):
            raise CitewellError(f"{self._email!r} is no e-mail address; give --email or $CITEWELL_EMAIL one, or none")
        if self._key and not _KEY.fullmatch(self._key):
            raise CitewellError(f"what is in ${self.site.key_variable} cannot be a key: it has spaces or odd characters")

    def close(self) -> None:
        self._client.close()

    def ask(
        self,
        path: str,
        parameters: Parameters,
        *,
        form: Mapping[str, str] | None = None,
        content: object = None,
        check: Callable[[bytes], None] = lambda body: None,
    ) -> Answer:
        """The answer to a GET, or to a POST of a `form` or of `content` as JSON; `check` raises `DamagedAnswerError`."""
        for attempt in range(1, self._attempts + 1):
            connecting = False
            wait: float | None = None
            try:
                answer = self._in_turn(path, parameters, form, content)
                if answer.status < 300:
                    check(answer.body)
                    return answer
                if answer.status not in _PASSING:
                    raise self._refusal(answer)
                reason = f"answers with status {answer.status}"
                wait = retry_after(answer.headers.get("Retry-After", ""))
            except DamagedAnswerError as error:
                reason = str(error)
            except (httpx.TransportError, httpx.DecodingError) as error:
                connecting = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
                reason = f"cannot be reached ({self._hidden(str(error)) or type(error).__name__})"
            if wait is not None and wait > _LONGEST_WAIT:
                raise CitewellError(f"{self._who()} asks to wait for {wait / 60:.0f} minutes; {_AGAIN}")
            if attempt >= (min(_CONNECTING_ATTEMPTS, self._attempts) if connecting else self._attempts):
                error_kind = UnreachableError if connecting else CitewellError
                raise error_kind(f"{self._who()} {reason}, {attempt} {'time' if attempt == 1 else 'times'}; {_AGAIN}")
            if wait is None:
                wait = self._pause * 2 ** (attempt - 1) * random.uniform(0.5, 1.0)
            self._told(f"{self.site.title} {reason}; asking again in {wait:.0f} s")
            time.sleep(wait)
        raise AssertionError("no attempt was made")

    def _in_turn(self, path: str, parameters: Parameters, form: Mapping[str, str] | None, content: object) -> Answer:
        """One request, when its turn has come; no other process of this user asks meanwhile."""
        with self._lock:
            last = self._last.stat().st_mtime if self._last.exists() else 0.0
            time.sleep(max(0.0, min(self._interval, last + self._interval - time.time())))
            self._last.touch()
            answer = self._followed(path, parameters, form, content)
        self._interval = max(self._interval, asked_interval(answer.headers))
        return answer

    def _followed(self, path: str, parameters: Parameters, form: Mapping[str, str] | None, content: object) -> Answer:
        """The answer behind redirects on the same host; a key is not carried to another."""
        given = {**parameters, **dict(self.site.fixed)}
        if self.site.contact and self._email:
            given[self.site.contact] = self._email
        if self._key and self.site.key_parameter:
            given[self.site.key_parameter] = self._key
        headers = {self.site.key_header: self.site.key_prefix + self._key} if self._key and self.site.key_header else {}
        url = httpx.URL(self.address + path).copy_merge_params(given)
        host = url.host
        for _ in range(_REDIRECTS):
            method = "GET" if form is None and content is None else "POST"
            with self._client.stream(method, url, headers=headers, data=form, json=content) as response:
                answer = Answer(response.status_code, response.headers, self._body(response))
            if not response.has_redirect_location:
                return answer
            before, url = url, url.join(answer.headers["Location"])
            if url.host != host or (before.scheme, url.scheme) == ("https", "http"):
                raise CitewellError(
                    f"{self._who()} redirects to {url.scheme}://{url.host}; where that is right, set ${self.site.url_variable}"
                )
        raise CitewellError(f"{self._who()} redirects in circles; see to ${self.site.url_variable}")

    def _body(self, response: httpx.Response) -> bytes:
        parts: list[bytes] = []
        size = 0
        for part in response.iter_bytes():
            size += len(part)
            if size > _MAX_BODY:
                raise CitewellError(f"{self._who()} gives an answer of more than {_MAX_BODY >> 20} MiB; ask for less at once")
            parts.append(part)
        return b"".join(parts)

    def _refusal(self, answer: Answer) -> RefusedError:
        said = " ".join(answer.body[:2000].decode("utf-8", "replace").split())[:200]
        fix = "see that the request is what the service understands"
        if answer.status in (401, 403):
            fix = (
                f"see to the key in ${self.site.key_variable}" if self.site.key_variable else "the service does not let you in"
            )
        return RefusedError(f"{self._who()} refuses with status {answer.status}: {self._hidden(said)}; {fix}", answer.status)

    def _who(self) -> str:
        own = self.address == self.site.address.rstrip("/")
        return self.site.title if own else f"{self.site.title} at {self.address}"

    def _hidden(self, said: str) -> str:
        """`said` without the key, should a service or a library repeat it."""
        return said.replace(self._key, "***") if self._key else said


def retry_after(written: str) -> float | None:
    """Seconds to wait, from a ``Retry-After`` of seconds or with a date; None where it says nothing."""
    written = written.strip()
    if written.isascii() and written.replace(".", "", 1).isdigit():
        return float(written)
    try:
        moment = parsedate_to_datetime(written)
    except (ValueError, TypeError):
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def asked_interval(headers: Mapping[str, str]) -> float:
    """The pace that Crossref's headers ask for (``X-Rate-Limit-Limit: 50``, ``X-Rate-Limit-Interval: 1s``), or 0."""
    requests, seconds = headers.get("X-Rate-Limit-Limit", ""), headers.get("X-Rate-Limit-Interval", "").removesuffix("s")
    if not (requests.isascii() and requests.isdigit() and int(requests) and seconds.isascii() and seconds.isdigit()):
        return 0.0
    return min(_LONGEST_WAIT, int(seconds) / int(requests))
