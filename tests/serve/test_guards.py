"""Who is let in, how much they may send, and what a browser is told."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from citewell.serve.limits import Rate
from citewell.serve.security import names_this_machine
from tests.serve.served import Served, command, environment, serving

TOKEN = "a-token-of-many-letters"


@pytest.mark.parametrize(
    ("host", "ours"),
    [
        ("127.0.0.1", True),
        ("127.0.0.1:8765", True),
        ("localhost:1", True),
        ("LOCALHOST", True),
        ("[::1]:8765", True),
        ("127.8.9.1", True),
        ("", False),
        ("evil.example", False),
        ("127.0.0.1.evil.example", False),
        ("localhost.evil.example:8765", False),
        ("evil.example:127.0.0.1", False),
        ("192.168.1.7:8765", False),
        ("[::1", False),
    ],
)
def test_which_hosts_are_this_machine(host: str, ours: bool) -> None:
    assert names_this_machine(host) is ours


def test_a_name_that_was_pointed_here_is_refused(served: Served) -> None:
    for path in ("/", "/api/health", "/static/index.html"):
        assert served.client.get(path, headers={"Host": "evil.example"}).status_code == 421
    assert served.client.get("/api/health", headers={"Host": "localhost"}).status_code == 200


def test_pages_of_other_origins_are_refused(served: Served) -> None:
    asked = {"title": "boats", "pipeline": "fast"}
    own = served.url.rstrip("/")
    for headers in ({"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}):
        answer = served.client.post("/api/suggest", json=asked, headers=headers)
        assert answer.status_code == 403
        assert not any(name.startswith("access-control") for name in answer.headers)
        files = {"files": ("x.bib", b"@misc{x, title={Sneaked in}}")}
        assert served.client.post("/api/add", files=files, headers=headers).status_code == 403
    headers = {"Origin": own, "Sec-Fetch-Site": "same-origin"}
    assert served.client.post("/api/suggest", json=asked, headers=headers).status_code == 200
    assert served.client.options("/api/suggest", headers={"Origin": "https://evil.example"}).status_code == 403


def test_what_browsers_are_told(served: Served) -> None:
    for path in ("/", "/api/health", "/static/index.html", "/nowhere"):
        headers = served.client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
    assert "<html" in served.client.get("/").text


@pytest.mark.parametrize(
    "path", ["/static/../app.py", "/static/..%2fapp.py", "/static/%2e%2e/app.py", "/static//etc/passwd", "/static/"]
)
def test_nothing_but_the_page_is_served_from_disk(served: Served, path: str) -> None:
    place = urlsplit(served.url)
    connection = http.client.HTTPConnection(str(place.hostname), place.port)  # which leaves the path as it is
    connection.request("GET", path)
    assert connection.getresponse().status in (404, 405)
    connection.close()


def test_bodies_are_counted_as_they_come(served: Served) -> None:
    large = b'{"title": "' + b"x" * 5_000_000 + b'"}'
    headers = {"Content-Type": "application/json"}
    assert served.client.post("/api/suggest", content=large, headers=headers).status_code == 413

    def chunks() -> Iterator[bytes]:
        for at in range(0, len(large), 100_000):
            yield large[at : at + 100_000]

    # Without a length: the client may be cut off before it has sent everything.
    with suppress(httpx.TransportError):
        assert served.client.post("/api/suggest", content=chunks(), headers=headers).status_code == 413
    assert served.client.get("/api/health").status_code == 200


def test_uploads_have_a_limit_of_their_own(tmp_path: Path) -> None:
    with serving(tmp_path / "new", "--max-upload", "1") as served:
        files = {"files": ("large.bib", b"%" * 1_100_000)}
        assert served.client.post("/api/add", files=files).status_code == 413
        assert served.client.get("/api/jobs").json() == []


def test_a_bucket_gives_so_many_and_fills_again(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    rate = Rate(lambda scope, receive, send: None, 2.0)  # type: ignore[arg-type, return-value]
    assert [rate._take("a") for _ in range(8)] == [0.0] * 8
    assert rate._take("a") == pytest.approx(0.5)
    assert rate._take("b") == 0.0
    now[0] += 0.5
    assert rate._take("a") == 0.0
    assert rate._take("a") > 0


def test_too_many_requests_are_told_to_wait(tmp_path: Path) -> None:
    with serving(tmp_path / "new", "--rate", "1") as served:
        statuses = []
        for _ in range(8):
            answer = served.client.get("/")
            statuses.append(answer.status_code)
        assert 429 in statuses
        answer = next(found for found in iter(lambda: served.client.get("/"), None) if found.status_code == 429)
        assert 1 <= int(answer.headers["retry-after"]) <= 2
        time.sleep(float(answer.headers["retry-after"]))
        assert served.client.get("/").status_code == 200


def test_a_token_is_asked_for_where_there_is_one(tmp_path: Path) -> None:
    with serving(tmp_path / "new", CITEWELL_TOKEN=TOKEN) as served:
        assert served.client.get("/").status_code == 200
        for headers in ({}, {"Authorization": f"Bearer {TOKEN}x"}, {"Authorization": TOKEN}, {"Authorization": "Bearer \xe9"}):
            raw = {name: value.encode("latin-1") for name, value in headers.items()}
            answer = served.client.get("/api/health", headers=raw)
            assert answer.status_code == 401
            assert answer.headers["www-authenticate"] == "Bearer"
        assert served.client.get(f"/api/health?token={TOKEN}").status_code == 401
        shown = {"Authorization": f"Bearer {TOKEN}"}
        assert served.client.get("/api/health", headers=shown).status_code == 200
        assert served.client.get("/api/health", headers={**shown, "Host": "desk.example"}).status_code == 200


def test_the_browser_gets_the_token_and_other_people_do_not(tmp_path: Path) -> None:
    """What a browser is started with stands in the list of processes."""
    browser, noted = tmp_path / "browser", tmp_path / "noted"
    browser.write_text(f'#!/bin/sh\nprintf "%s" "$*" > {noted}.part && mv {noted}.part {noted}\n')
    browser.chmod(0o755)
    with serving(tmp_path / "new", "--open", CITEWELL_TOKEN=f"{TOKEN}%&<", BROWSER=str(browser)) as served:
        end = time.monotonic() + 20
        while not noted.exists():
            assert time.monotonic() < end
            time.sleep(0.05)
        opened = noted.read_text()
        assert TOKEN not in opened
        file = Path(urlsplit(opened).path)
        assert file.stat().st_mode & 0o077 == 0
        assert f"url={served.url}#token={TOKEN}%25%26%3C" in file.read_text()
    assert not file.exists()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--host", "0.0.0.0"), "token is needed"),
        (("--host", "0.0.0.0", "--token", "short"), "at least 16"),
        (("--host", "no.such.host.example"), "no address of this machine"),
    ],
)
def test_it_does_not_start_unguarded(shelf: Path, options: tuple[str, ...], told: str) -> None:
    done = subprocess.run(command(shelf, *options), capture_output=True, text=True, env=environment(), timeout=60)
    assert done.returncode == 1
    assert told in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_port_or_library_that_is_taken_is_told(served: Served, shelf: Path, tmp_path: Path) -> None:
    port = str(urlsplit(served.url).port)
    for options, told in (
        ((tmp_path / "other", "--port", port), "choose another with --port"),
        ((shelf,), "another 'citewell serve'"),
    ):
        done = subprocess.run(command(*options), capture_output=True, text=True, env=environment(), timeout=60)
        assert done.returncode == 1
        assert told in done.stderr
        assert done.stderr.count("\n") == 1


def test_what_takes_too_long_is_given_up_and_blocks_nobody(tmp_path: Path) -> None:
    best = {"title": "boats", "pipeline": "best"}
    with serving(tmp_path / "new", "--timeout", "4") as served:
        while served.client.post("/api/suggest", json=best).status_code == 503:  # it is still loading
            time.sleep(0.1)
        (slow,) = (child for child in served.children() if child.endswith(" nice"))
        os.kill(int(slow.split()[0]), signal.SIGSTOP)
        given_up = []
        waits = threading.Thread(target=lambda: given_up.append(served.client.post("/api/suggest", json=best)))
        waits.start()
        with httpx.Client(base_url=served.url, timeout=60, trust_env=False) as other:
            while waits.is_alive():
                assert other.post("/api/suggest", json={**best, "pipeline": "fast"}).status_code == 200
                time.sleep(0.1)
        (answer,) = given_up
        assert answer.status_code == 503
        assert "longer than 4 seconds" in answer.json()["detail"]
        assert answer.headers["retry-after"] == "1"
        # Another process has taken the place of the one that hung.
        while (again := served.client.post("/api/suggest", json=best)).status_code == 503:
            time.sleep(0.1)
        assert again.status_code == 200
        assert slow not in served.children()


@pytest.mark.parametrize(("path", "field"), [("/api/draft/file", "file"), ("/api/add", "files")])
def test_no_name_of_a_file_costs_a_process(tmp_path: Path, path: str, field: str) -> None:
    """A client says how the name is encoded, so that it may hold half a character, which no JSON can."""
    part = f'Content-Disposition: form-data; name="{field}"; filename="\\ud800.md"\r\n\r\nBoats [@?].\r\n'
    headers = {"Content-Type": "multipart/form-data; boundary=x; charset=unicode_escape"}
    with serving(tmp_path / "new", "--workers", "1", "--timeout", "8") as served:
        answer = served.client.post(path, content=f"--x\r\n{part}--x--\r\n", headers=headers)
        assert answer.status_code in (200, 202)
        assert served.client.get("/api/health").status_code == 200


def test_a_process_that_chokes_does_not_outlive_the_server(tmp_path: Path) -> None:
    hostile = "\\begin{document} " + "\\(" * 500_000  # which takes minutes to read
    with serving(tmp_path / "new", "--workers", "1", "--timeout", "1") as served:
        while served.client.get("/api/health").status_code == 503:  # it is still loading
            time.sleep(0.1)
        (busy,) = (child for child in served.children() if not child.endswith(" nice"))
        others = [child for child in served.children() if child != busy]
        asks = threading.Thread(target=lambda: _cut_off(served, {"text": hostile, "form": "latex"}))
        asks.start()
        time.sleep(0.5)
        served.process.kill()
        asks.join()
    end = time.monotonic() + 20
    while Path(f"/proc/{busy.split()[0]}").exists():
        assert time.monotonic() < end
        time.sleep(0.1)
    for other in others:  # which had nothing to do, and have left nothing
        assert not Path(f"/proc/{other.split()[0]}").exists()
        assert not Path(other.split()[-2]).exists()


def _cut_off(served: Served, body: dict[str, str]) -> None:
    with suppress(httpx.TransportError):
        served.client.post("/api/draft", json=body)
