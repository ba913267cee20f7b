"""Requests to services: rate limits, retries, keys, redirects, and the cache."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import pairwise
from pathlib import Path

import pytest
from fake_services import Services

from citewell.errors import CitewellError
from citewell.fetch import Client, crossref
from citewell.fetch.authors import same_name
from citewell.fetch.cache import Cache
from citewell.fetch.http import HttpSession, RefusedError, UnreachableError, retry_after

Open = Callable[..., Client]


def get(client: Client) -> object:
    return client.json("/works", {"rows": 1, "offset": 0}, needs="message")


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_a_temporary_failure_is_retried(status: int, open_client: Open, services: Services) -> None:
    services.fail(3, status)
    assert get(open_client("crossref"))
    assert len(services.requests) == 4


def test_a_truncated_answer_is_requested_again(open_client: Open, services: Services) -> None:
    services.fail(status=200, body=b'{"status": "ok", "message": {"items": [{"DOI"')
    services.fail(status=200, body=b"<html>Please log in</html>")
    services.fail(status=200, body=b'{"unrelated": true}')
    services.fail(status=200, headers={"Content-Length": "5000"}, body=b'{"status": "ok"')
    assert get(open_client("crossref"))
    assert len(services.requests) == 5


def test_damaged_answers_are_not_cached(open_client: Open, services: Services) -> None:
    services.fail(6, 200, body=b"{")
    with pytest.raises(CitewellError, match=r"not valid JSON.*6 times; run the same command again later"):
        get(open_client("crossref"))
    assert get(open_client("crossref"))
    assert len(services.requests) == 7


def test_retry_after_is_honoured(open_client: Open, services: Services) -> None:
    services.fail(status=429, headers={"Retry-After": "1"})
    begun = time.monotonic()
    assert get(open_client("crossref"))
    assert 1.0 <= time.monotonic() - begun < 3.0


def test_retry_after_as_a_date() -> None:
    moment = datetime.now(UTC) + timedelta(seconds=60)
    assert 55 < (retry_after(format_datetime(moment, usegmt=True)) or 0) <= 60
    assert retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == 0
    assert retry_after("2.5") == 2.5
    assert retry_after("soon") is None
    assert retry_after("") is None


def test_a_long_wait_is_left_to_the_user(open_client: Open, services: Services) -> None:
    services.fail(status=429, headers={"Retry-After": "7200"})
    with pytest.raises(CitewellError, match="requires a pause of 120 minutes; run the same command again later"):
        get(open_client("crossref"))
    assert len(services.requests) == 1


def test_a_rejected_request_is_not_retried(open_client: Open, services: Services) -> None:
    services.fail(status=400, body=b"no such field")
    with pytest.raises(RefusedError, match="status 400: no such field"):
        get(open_client("crossref"))
    assert len(services.requests) == 1


def test_invalid_settings_are_reported_before_any_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CitewellError, match=r"'example\.org' is not a valid address of Crossref"):
        HttpSession(crossref.SITE, tmp_path, address="example.org")
    with pytest.raises(CitewellError, match="is not an e-mail address"):
        HttpSession(crossref.SITE, tmp_path, email="me\r\nX-Other: 1")
    monkeypatch.setenv("CROSSREF_PLUS_TOKEN", "sesame öffne")
    with pytest.raises(CitewellError, match="CROSSREF_PLUS_TOKEN is not a valid key") as refused:
        HttpSession(crossref.SITE, tmp_path)
    assert "sesame" not in str(refused.value)


def test_an_answer_that_cannot_be_decompressed_is_requested_again(open_client: Open, services: Services) -> None:
    services.fail(status=200, headers={"Content-Encoding": "gzip"}, body=b"this is no gzip")
    assert get(open_client("crossref"))
    assert len(services.requests) == 2


def test_an_unreachable_service(open_client: Open) -> None:
    with pytest.raises(UnreachableError, match="cannot be reached"):
        get(open_client("crossref", address="http://127.0.0.1:9"))


def test_processes_share_the_rate_limit(services: Services, tmp_path: Path) -> None:
    driver = (
        "import sys; from pathlib import Path\n"
        "from citewell.fetch import crossref\nfrom citewell.fetch.http import HttpSession\n"
        "session = HttpSession(crossref.SITE, Path(sys.argv[1]), address=sys.argv[2], interval=0.3)\n"
        "for n in range(3): session.request('/works', {'rows': n + 1})\n"
    )
    moments: list[float] = []
    services.troubles.append(lambda path, given: moments.append(time.monotonic()))
    command = [sys.executable, "-c", driver, str(tmp_path), f"{services.address}/crossref"]
    running = [subprocess.Popen(command) for _ in range(2)]
    assert [process.wait() for process in running] == [0, 0]
    assert len(moments) == 6
    assert all(later - earlier > 0.2 for earlier, later in pairwise(moments))


def test_the_rate_limit_of_the_service_cannot_be_raised(tmp_path: Path) -> None:
    assert HttpSession(crossref.SITE, tmp_path, interval=0.0)._interval == 1.0
    assert HttpSession(crossref.SITE, tmp_path, "me@example.org", interval=0.0)._interval == 0.35
    assert HttpSession(crossref.SITE, tmp_path, "me@example.org", interval=5.0)._interval == 5.0


def test_headers_lower_the_rate(services: Services, tmp_path: Path) -> None:
    session = HttpSession(crossref.SITE, tmp_path, address=f"{services.address}/crossref", interval=0.0)
    services.fail(status=200, headers={"X-Rate-Limit-Limit": "5", "X-Rate-Limit-Interval": "1s"}, body=b"{}")
    session.request("/works", {})
    assert session._interval == pytest.approx(0.2)


def test_the_email_address_is_sent(open_client: Open, services: Services) -> None:
    get(open_client("crossref", email="me@example.org"))
    _, given, headers = services.requests[0]
    assert given["mailto"] == "me@example.org"
    assert headers["user-agent"].endswith("(mailto:me@example.org)")
    open_client("pubmed", email="me@example.org").body("/esearch.fcgi", {}, form={"term": "x", "retmax": "1"})
    _, given, _ = services.requests[1]
    assert (given["tool"], given["email"]) == ("citewell", "me@example.org")


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("openalex", "OPENALEX_API_KEY"),
        ("semantic_scholar", "S2_API_KEY"),
        ("pubmed", "NCBI_API_KEY"),
        ("crossref", "CROSSREF_PLUS_TOKEN"),
    ],
)
def test_a_key_goes_to_the_service_and_nowhere_else(
    name: str, variable: str, open_client: Open, services: Services, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(variable, "sesame-1234")
    opened = open_client(name)
    services.fail(status=403, body=b"the key sesame-1234 is not known")
    with pytest.raises(RefusedError) as refused:
        opened.json("/works", {})
    assert "sesame" not in str(refused.value)
    assert variable in str(refused.value)
    _, given, headers = services.requests[0]
    assert "sesame-1234" in (*given.values(), headers.get("x-api-key", ""), headers.get("crossref-plus-api-token", "")[7:])
    services.fail(status=302, headers={"Location": "http://localhost.example/elsewhere"})
    with pytest.raises(CitewellError, match=r"redirects to http://localhost\.example") as redirected:
        opened.json("/works", {})
    assert "sesame" not in str(redirected.value)
    services.fail(status=200, body=b"{}")
    opened.json("/works", {})
    for file in (tmp_path / "cache").rglob("*"):
        assert "sesame" not in file.name
        assert file.is_dir() or b"sesame" not in file.read_bytes()


def test_a_redirect_on_the_same_host_is_followed(open_client: Open, services: Services) -> None:
    services.fail(status=301, headers={"Location": "/crossref/works?rows=2"})
    answer = open_client("crossref").json("/works", {"rows": 1})
    assert len(answer["message"]["items"]) == 2


def test_answers_are_cached(open_client: Open, services: Services) -> None:
    first = open_client("crossref")
    get(first)
    second = open_client("crossref", email="other@example.org")
    get(second)
    assert (first.requests, first.cached, second.requests, second.cached) == (1, 0, 0, 1)
    get(open_client("crossref", refresh=True))
    get(open_client("crossref", max_age=-1.0))
    assert len(services.requests) == 3


def test_old_and_incomplete_answers_are_removed(tmp_path: Path) -> None:
    import os

    cache = Cache(tmp_path, max_age=3600)
    cache.put("new", b"1")
    cache.put("old", b"2")
    (tmp_path / "x.gz.part").write_bytes(b"half")
    for name in ("old.gz", "x.gz.part"):
        os.utime(tmp_path / name, (0, 0))
    assert cache.sweep() == 2
    assert cache.get("new") == b"1"
    (tmp_path / "new.gz").write_bytes((tmp_path / "new.gz").read_bytes()[:-4])
    assert cache.get("new") is None, "a damaged file is requested again"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Mira Holt", "Mira J. Holt", True),
        ("Holt, Mira", "Mira Holt", True),
        ("Mira Jane Holt", "Mira J. Holt", True),
        ("Mira K. Holt", "Mira J. Holt", False),
        ("José Núñez", "Jose Nunez", True),
        ("Mira Holt", "Miral Holt", False),
        ("Mira", "Mira Holt", False),
        ("Plato", "plato", True),
    ],
)
def test_names(one: str, other: str, same: bool) -> None:
    assert same_name(one, other) is same
