"""The API of feedback: consent first, and none on a server that is open to the network."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from citewell.feedback import Feedback
from citewell.serve import feedback_schemas
from citewell.serve.handlers import feedback as handlers
from citewell.serve.library_follower import LibraryFollower
from citewell.serve.messages import WorkerRequest
from citewell.serve.worker import respond
from tests.serve.served import Served, serving

MARK = {"paper": "harbour", "mark": "relevant", "task": "local", "title": "Gulls", "context": "Boats were counted [?]."}


def test_consent_comes_before_marks(served: Served, library_folder: Path) -> None:
    client, feedback = served.client, Feedback(library_folder)
    status = client.get("/api/feedback").json()
    assert status["available"] and not status["on"]
    assert client.post("/api/feedback", json=MARK).json() == {"recorded": False, "query": ""}
    assert not feedback.folder.exists()
    assert client.post("/api/feedback/consent", json={"on": True}).json()["since"]
    query = client.post("/api/feedback", json=MARK).json()["query"]
    [record] = feedback.records()
    assert (record.paper, record.text.context, record.query) == ("harbour", "Boats were counted TARGETCIT.", query)
    client.post("/api/feedback", json={"paper": "harbour", "mark": "unclear", "query": query})
    assert feedback.records() == []
    client.post("/api/feedback", json={"paper": "harbour", "mark": "irrelevant", "query": query})
    status = feedback_schemas.FeedbackStatus.model_validate(client.get("/api/feedback").json())
    assert (status.relevant, status.irrelevant, status.file) == (0, 1, str(feedback.file))
    assert client.delete("/api/feedback").json()["irrelevant"] == 0 and not feedback.file.exists()
    assert client.post("/api/feedback/consent", json={"on": False}).json()["on"] is False


def test_a_server_open_to_the_network_records_nothing(tmp_path: Path) -> None:
    token = "a-token-of-some-length"
    with serving(tmp_path / "library", "--host", "0.0.0.0", "--token", token) as server:
        port = server.url.rstrip("/").rpartition(":")[2]
        headers = {"Authorization": f"Bearer {token}"}
        url = f"http://127.0.0.1:{port}/api/feedback"
        assert server.client.get(url, headers=headers).json()["available"] is False
        for path, body in (("", MARK), ("/consent", {"on": True})):
            assert server.client.post(url + path, json=body, headers=headers).status_code == 403
        assert server.client.delete(url, headers=headers).status_code == 403
    assert not Feedback(tmp_path / "library").on


def test_a_full_disk_is_said_so(library_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: Any) -> str:
        raise OSError(28, "No space left on device")

    (tmp_path / "library").mkdir()
    Feedback(tmp_path / "library").turn_on()
    monkeypatch.setattr("citewell.feedback._append", full)
    monkeypatch.setattr(handlers, "Feedback", lambda folder: Feedback(tmp_path / "library"))
    parameters = {**MARK, "abstract": "", "authors": [], "known": [], "query": "", "loopback": True}
    request = msgspec.json.encode(WorkerRequest("feedback-mark", parameters))
    head, body = respond(LibraryFollower(library_folder), request, b"")
    assert head.status == 507 and "No space left on device" in json.loads(body)["detail"]
