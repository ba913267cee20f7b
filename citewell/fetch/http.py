"""HTTP requests to one service: rate-limited, one at a time, with retries, and with the key hidden from every message.

All citewell processes of a user share one file per service that records the last request, so that two fetches at once are no
faster than one. A request that fails temporarily (no connection, 429, 5xx, a truncated answer) is repeated after the time in
``Retry-After`` or else with exponential backoff. The retries are our required because the available libraries either do not
understand a date in ``Retry-After`` or cannot validate the content of an answer.
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

_TEMPORARY = frozenset((408, 425, 429, 500, 502, 503, 504, 520, 522, 524))
_ATTEMPTS = 6
_CONNECTION_ATTEMPTS = 3
_MAX_WAIT = 300.0
_MAX_BODY = 128 * 1024 * 1024
_REDIRECTS = 5
_EMAIL = re.compile(r"[!-?A-~]+@[!-?A-~]+", re.ASCII)
_KEY = re.compile(r"[!-~]+", re.ASCII)
_RESUME = "run the same command again later, and it resumes where it stopped"


class RefusedError(CitewellError):
    """The service rejects the request; repeating it would not help."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class UnreachableError(CitewellError):
    """The service does not answer at its address."""


class DamagedResponseError(Exception):
    """The answer is incomplete or invalid; the request is repeated."""


class Response(NamedTuple):
    status: int
    headers: httpx.Headers
    body: bytes


class HttpSession:
    """Sends the requests of one user to one service."""

    def __init__(
        self,
        site: Site,
        folder: Path,
        email: str = "",
        address: str = "",
        interval: float | None = None,
        attempts: int = _ATTEMPTS,
        pause: float = 1.0,
        on_message: Callable[[str], None] = lambda line: None,
    ) -> None:
        """`interval` can raise the rate only for a mirror or proxy at `address`; `pause` is the first delay after a failure."""
        self.site = site
        self.address = (address or site.url()).rstrip("/")
        self._email = email
        self._key = site.key()
        self._check_settings()
        known = bool(self._key or (email and site.email_counts))
        required = site.known_interval if known and site.known_interval is not None else site.interval
        if interval is not None:
            required = interval if self.address != site.address.rstrip("/") else max(required, interval)
        self._interval = required
        self._attempts = attempts
        self._pause = pause
        self._on_message = on_message
        folder.mkdir(0o700, parents=True, exist_ok=True)
        self._last = folder / "last-request"
        self._lock = FileLock(folder / "last-request.lock")
        agent = f"citewell/{__version__}" + (f" (mailto:{email})" if email else "")
        self._client = httpx.Client(headers={"User-Agent": agent, **dict(site.headers)}, timeout=60.0)

    def _check_settings(self) -> None:
        url = urlsplit(self.address)
        if url.scheme not in ("http", "https") or not url.hostname:
            raise CitewellError(f"{self.address!r} is not a valid address of {self.site.title}; example: {self.site.address}")
        if self._email and not _EMAIL.fullmatch(self._email):
            raise CitewellError(f"{self._email!r} is not an e-mail address; correct or omit --email or $CITEWELL_EMAIL")
        if self._key and not _KEY.fullmatch(self._key):
            raise CitewellError(f"${self.site.key_variable} is not a valid key: it contains spaces or special characters")

    def close(self) -> None:
        self._client.close()

    def request(
        self,
        path: str,
        parameters: Parameters,
        *,
        form: Mapping[str, str] | None = None,
        content: object = None,
        check: Callable[[bytes], None] = lambda body: None,
    ) -> Response:
        """The answer to a GET, or to a POST of a `form` or of `content` as JSON; `check` raises `DamagedResponseError`."""
        for attempt in range(1, self._attempts + 1):
            connecting = False
            wait: float | None = None
            try:
                answer = self._limited_request(path, parameters, form, content)
                if answer.status < 300:
                    check(answer.body)
                    return answer
                if answer.status not in _TEMPORARY:
                    raise self._refusal(answer)
                reason = f"answers with status {answer.status}"
                wait = retry_after(answer.headers.get("Retry-After", ""))
            except DamagedResponseError as error:
                reason = str(error)
            except (httpx.TransportError, httpx.DecodingError) as error:
                connecting = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
                reason = f"cannot be reached ({self._without_key(str(error)) or type(error).__name__})"
            if wait is not None and wait > _MAX_WAIT:
                raise CitewellError(f"{self._title()} requires a pause of {wait / 60:.0f} minutes; {_RESUME}")
            if attempt >= (min(_CONNECTION_ATTEMPTS, self._attempts) if connecting else self._attempts):
                error_kind = UnreachableError if connecting else CitewellError
                raise error_kind(f"{self._title()} {reason}, {attempt} {'time' if attempt == 1 else 'times'}; {_RESUME}")
            if wait is None:
                wait = self._pause * 2 ** (attempt - 1) * random.uniform(0.5, 1.0)
            self._on_message(f"{self.site.title} {reason}; trying again in {wait:.0f} s")
            time.sleep(wait)
        raise AssertionError("no attempt was made")

    def _limited_request(self, path: str, parameters: Parameters, form: Mapping[str, str] | None, content: object) -> Response:
        """One request, after the required interval; meanwhile no other process of this user sends one."""
        with self._lock:
            last = self._last.stat().st_mtime if self._last.exists() else 0.0
            time.sleep(max(0.0, min(self._interval, last + self._interval - time.time())))
            self._last.touch()
            answer = self._send(path, parameters, form, content)
        self._interval = max(self._interval, rate_limit_interval(answer.headers))
        return answer

    def _send(self, path: str, parameters: Parameters, form: Mapping[str, str] | None, content: object) -> Response:
        """The answer after redirects within the same host; the key is never sent to another host."""
        merged = {**parameters, **dict(self.site.fixed_parameters)}
        if self.site.contact and self._email:
            merged[self.site.contact] = self._email
        if self._key and self.site.key_parameter:
            merged[self.site.key_parameter] = self._key
        headers = {self.site.key_header: self.site.key_prefix + self._key} if self._key and self.site.key_header else {}
        url = httpx.URL(self.address + path).copy_merge_params(merged)
        host = url.host
        for _ in range(_REDIRECTS):
            method = "GET" if form is None and content is None else "POST"
            with self._client.stream(method, url, headers=headers, data=form, json=content) as response:
                answer = Response(response.status_code, response.headers, self._body(response))
            if not response.has_redirect_location:
                return answer
            before, url = url, url.join(answer.headers["Location"])
            if url.host != host or (before.scheme, url.scheme) == ("https", "http"):
                raise CitewellError(
                    f"{self._title()} redirects to {url.scheme}://{url.host}; if you expect this, set ${self.site.url_variable}"
                )
        raise CitewellError(f"{self._title()} redirects in a loop; check ${self.site.url_variable}")

    def _body(self, response: httpx.Response) -> bytes:
        parts: list[bytes] = []
        size = 0
        for part in response.iter_bytes():
            size += len(part)
            if size > _MAX_BODY:
                raise CitewellError(f"{self._title()} returns an answer larger than {_MAX_BODY >> 20} MiB; request less")
            parts.append(part)
        return b"".join(parts)

    def _refusal(self, answer: Response) -> RefusedError:
        message = " ".join(answer.body[:2000].decode("utf-8", "replace").split())[:200]
        fix = "check the query and the options"
        if answer.status in (401, 403):
            fix = f"check the key in ${self.site.key_variable}" if self.site.key_variable else "the service denies access"
        return RefusedError(
            f"{self._title()} rejects the request with status {answer.status}: {self._without_key(message)}; {fix}",
            answer.status,
        )

    def _title(self) -> str:
        official = self.address == self.site.address.rstrip("/")
        return self.site.title if official else f"{self.site.title} at {self.address}"

    def _without_key(self, message: str) -> str:
        """`message` without the key, in case a service or a library repeats it."""
        return message.replace(self._key, "***") if self._key else message


def retry_after(header: str) -> float | None:
    """Seconds to wait, from a ``Retry-After`` header with seconds or a date; None if it is neither."""
    header = header.strip()
    if header.isascii() and header.replace(".", "", 1).isdigit():
        return float(header)
    try:
        moment = parsedate_to_datetime(header)
    except (ValueError, TypeError):
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def rate_limit_interval(headers: Mapping[str, str]) -> float:
    """The interval that Crossref's headers require (``X-Rate-Limit-Limit: 50``, ``X-Rate-Limit-Interval: 1s``), or 0."""
    requests, seconds = headers.get("X-Rate-Limit-Limit", ""), headers.get("X-Rate-Limit-Interval", "").removesuffix("s")
    if not (requests.isascii() and requests.isdigit() and int(requests) and seconds.isascii() and seconds.isdigit()):
        return 0.0
    return min(_MAX_WAIT, int(seconds) / int(requests))
