"""Authentication, limits, and security headers."""

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

from citewell.serve.limits import RateLimit
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


def test_a_foreign_host_name_is_rejected(served: Served) -> None:
    for path in ("/", "/api/health", "/static/index.html"):
        assert served.client.get(path, headers={"Host": "evil.example"}).status_code == 421
    assert served.client.get("/api/health", headers={"Host": "localhost"}).status_code == 200


def test_pages_of_other_origins_are_rejected(served: Served) -> None:
    body = {"title": "boats", "pipeline": "fast"}
    own = served.url.rstrip("/")
    for headers in ({"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}):
        answer = served.client.post("/api/suggest", json=body, headers=headers)
        assert answer.status_code == 403
        assert not any(name.startswith("access-control") for name in answer.headers)
        files = {"files": ("x.bib", b"@misc{x, title={Sneaked in}}")}
        assert served.client.post("/api/add", files=files, headers=headers).status_code == 403
    headers = {"Origin": own, "Sec-Fetch-Site": "same-origin"}
    assert served.client.post("/api/suggest", json=body, headers=headers).status_code == 200
    assert served.client.options("/api/suggest", headers={"Origin": "https://evil.example"}).status_code == 403


def test_security_headers(served: Served) -> None:
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
def test_only_the_page_is_served_from_disk(served: Served, path: str) -> None:
    place = urlsplit(served.url)
    connection = http.client.HTTPConnection(str(place.hostname), place.port)  # which leaves the path as it is
    connection.request("GET", path)
    assert connection.getresponse().status in (404, 405)
    connection.close()


def test_body_size_is_limited_while_it_arrives(served: Served) -> None:
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


def test_upload_size_is_limited(tmp_path: Path) -> None:
    with serving(tmp_path / "new", "--max-upload", "1") as served:
        files = {"files": ("large.bib", b"%" * 1_100_000)}
        assert served.client.post("/api/add", files=files).status_code == 413
        assert served.client.get("/api/jobs").json() == []


def test_token_bucket_empties_and_refills(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    rate = RateLimit(lambda scope, receive, send: None, 2.0)  # type: ignore[arg-type, return-value]
    assert [rate._take("a") for _ in range(8)] == [0.0] * 8
    assert rate._take("a") == pytest.approx(0.5)
    assert rate._take("b") == 0.0
    now[0] += 0.5
    assert rate._take("a") == 0.0
    assert rate._take("a") > 0


def test_too_many_requests_get_429(tmp_path: Path) -> None:
    with serving(tmp_path / "new", "--rate", "1") as served:
        statuses = []
        for _ in range(8):
            answer = served.client.get("/")
            statuses.append(answer.status_code)
        assert 429 in statuses
        answer = next(response for response in iter(lambda: served.client.get("/"), None) if response.status_code == 429)
        assert 1 <= int(answer.headers["retry-after"]) <= 2
        time.sleep(float(answer.headers["retry-after"]))
        assert served.client.get("/").status_code == 200


def test_a_token_is_required_if_one_is_set(tmp_path: Path) -> None:
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
        assert served.client.get("/api/health", headers={**shown, "Host": "papers.example"}).status_code == 200


def test_the_browser_receives_the_token_but_its_command_line_does_not_show_it(tmp_path: Path) -> None:
    """Every user can read the command line of a process."""
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
    ("options", "message"),
    [
        (("--host", "0.0.0.0"), "a token is required"),
        (("--host", "0.0.0.0", "--token", "short"), "at least 16"),
        (("--host", "no.such.host.example"), "not an address of this machine"),
    ],
)
def test_a_server_does_not_start_without_protection(library_folder: Path, options: tuple[str, ...], message: str) -> None:
    done = subprocess.run(command(library_folder, *options), capture_output=True, text=True, env=environment(), timeout=60)
    assert done.returncode == 1
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_port_or_library_in_use_is_reported(served: Served, library_folder: Path, tmp_path: Path) -> None:
    port = str(urlsplit(served.url).port)
    for options, message in (
        ((tmp_path / "other", "--port", port), "choose another with --port"),
        ((library_folder,), "another 'citewell serve'"),
    ):
        done = subprocess.run(command(*options), capture_output=True, text=True, env=environment(), timeout=60)
        assert done.returncode == 1
        assert message in done.stderr
        assert done.stderr.count("\n") == 1


def test_a_slow_request_times_out_and_blocks_no_other(tmp_path: Path) -> None:
    best = {"title": "boats", "pipeline": "best"}
    with serving(tmp_path / "new", "--timeout", "4") as served:
        while served.client.post("/api/suggest", json=best).status_code == 503:  # it is still loading
            time.sleep(0.1)
        (slow,) = (child for child in served.children() if child.endswith(" nice"))
        os.kill(int(slow.split()[0]), signal.SIGSTOP)
        timed_out = []
        waits = threading.Thread(target=lambda: timed_out.append(served.client.post("/api/suggest", json=best)))
        waits.start()
        with httpx.Client(base_url=served.url, timeout=60, trust_env=False) as other:
            while waits.is_alive():
                assert other.post("/api/suggest", json={**best, "pipeline": "fast"}).status_code == 200
                time.sleep(0.1)
        (answer,) = timed_out
        assert answer.status_code == 503
        assert "longer than 4 seconds" in answer.json()["detail"]
        assert answer.headers["retry-after"] == "1"
        # A new process has replaced the one that hung.
        while (again := served.client.post("/api/suggest", json=best)).status_code == 503:
            time.sleep(0.1)
        assert again.status_code == 200
        assert slow not in served.children()


@pytest.mark.parametrize(("path", "field"), [("/api/draft/file", "file"), ("/api/add", "files")])
def test_no_file_name_crashes_a_worker(tmp_path: Path, path: str, field: str) -> None:
    """The client chooses the encoding of the name, so it may contain a lone surrogate, which JSON cannot."""
    part = f'Content-Disposition: form-data; name="{field}"; filename="\\ud800.md"\r\n\r\nBoats [@?].\r\n'
    headers = {"Content-Type": "multipart/form-data; boundary=x; charset=unicode_escape"}
    with serving(tmp_path / "new", "--workers", "1", "--timeout", "8") as served:
        answer = served.client.post(path, content=f"--x\r\n{part}--x--\r\n", headers=headers)
        assert answer.status_code in (200, 202)
        assert served.client.get("/api/health").status_code == 200


def test_a_stuck_worker_does_not_outlive_the_server(tmp_path: Path) -> None:
    hostile = "\\begin{document} " + "\\(" * 500_000  # which takes minutes to read
    with serving(tmp_path / "new", "--workers", "1", "--timeout", "1") as served:
        while served.client.get("/api/health").status_code == 503:  # it is still loading
            time.sleep(0.1)
        (busy,) = (child for child in served.children() if not child.endswith(" nice"))
        others = [child for child in served.children() if child != busy]
        client = threading.Thread(target=lambda: _cut_off(served, {"text": hostile, "format": "latex"}))
        client.start()
        time.sleep(0.5)
        served.process.kill()
        client.join()
    end = time.monotonic() + 20
    while Path(f"/proc/{busy.split()[0]}").exists():
        assert time.monotonic() < end
        time.sleep(0.1)
    for other in others:  # they were idle, and leave nothing behind
        assert not Path(f"/proc/{other.split()[0]}").exists()
        assert not Path(other.split()[-2]).exists()


def _cut_off(served: Served, body: dict[str, str]) -> None:
    with suppress(httpx.TransportError):
        served.client.post("/api/draft", json=body)
