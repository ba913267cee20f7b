"""Imports over HTTP: searchable immediately, errors in one line, and never lost, however the server ends."""

from __future__ import annotations

import asyncio
import errno
import io
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from citewell.library import Library
from citewell.serve import schemas
from citewell.serve.errors import ApiError
from citewell.serve.jobs import Jobs
from citewell.sources.unreadable import UNKNOWN
from tests.serve.served import Served, environment, serving

KILLS = int(os.environ.get("CITEWELL_KILLS", "2"))


def paper(number: int) -> bytes:
    return (
        json.dumps({"id": f"p{number}", "title": f"Paper number{number}", "abstract": "Of ships.", "year": 2020}).encode()
        + b"\n"
    )


def titles(served: Served, words: str) -> list[str]:
    results = served.client.post("/api/suggest", json={"title": words, "pipeline": "fast"}).json()
    return [each["title"] for each in results["suggestions"]]


def test_added_papers_are_searchable_immediately(tmp_path: Path) -> None:
    with serving(tmp_path / "new") as served:
        assert served.client.get("/api/health").json()["papers"] == 0
        assert titles(served, "number1") == []
        job = served.added(("some.jsonl", paper(1) + paper(2)), ("../../etc/other", b"neither fish nor fowl"))
        schemas.Job.model_validate(job)
        assert (job["state"], job["done"]) == ("done", job["total"])
        assert job["result"]["new_papers"] == 2
        assert job["result"]["problems"] == [{"file": "../../etc/other", "line": None, "reason": UNKNOWN}]
        assert titles(served, "number1")[0] == "Paper number1"

        # And so are papers that another program adds.
        source = tmp_path / "more.jsonl"
        source.write_bytes(paper(3))
        add = [sys.executable, "-m", "citewell", "add", str(source), "--library", str(tmp_path / "new")]
        subprocess.run(add, check=True, capture_output=True, env=environment())
        assert titles(served, "number3")[0] == "Paper number3"
        assert served.client.get("/api/health").json()["papers"] == 3
        assert [each["id"] for each in served.client.get("/api/jobs").json()] == [job["id"]]
        assert served.client.get("/api/jobs/nope").status_code == 404

        failed = served.added(("empty.bib", b"  "))
        assert (failed["state"], failed["message"]) == ("failed", "Nothing could be imported: the file is empty")
    # The uploads are deleted; nothing was written to the client's names.
    assert sorted(path.name for path in (tmp_path / "new" / "jobs").glob("*/*")) == ["job.json", "job.json"]
    assert not (tmp_path / "etc").exists()


def test_a_job_waits_for_another_writer(tmp_path: Path) -> None:
    from citewell.library.lock import writing

    with serving(tmp_path / "new") as served:
        with writing(tmp_path / "new"):
            job = served.client.post("/api/add", files={"files": ("x.jsonl", paper(1))}).json()["job"]
            end = time.monotonic() + 30
            while "being written by" not in (state := served.client.get(f"/api/jobs/{job}").json())["message"]:
                assert time.monotonic() < end, state
                time.sleep(0.05)
            assert state["state"] in ("waiting", "running")
        assert served.finished(job)["state"] == "done"


def import_process(served: Served) -> int:
    """The process of the running job, once there is one."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        for child in served.children():
            if "citewell.serve.import_job" in child:
                return int(child.split()[0])
    raise AssertionError("no process runs the job")


def test_a_job_whose_process_is_killed_is_restarted(tmp_path: Path) -> None:
    """As when a system shuts down and signals all processes of a service, the server last."""
    many = b"".join(map(paper, range(3000)))
    with serving(tmp_path / "new") as served:
        job = served.client.post("/api/add", files={"files": ("x.jsonl", many)}).json()["job"]
        os.kill(import_process(served), signal.SIGTERM)
        ended = served.finished(job)
        assert (ended["state"], ended["result"]["papers"]) == ("done", 3000)

        # A job that kills every process fails, and the next one runs.
        job = served.client.post("/api/add", files={"files": ("x.jsonl", paper(1))}).json()["job"]
        while served.client.get(f"/api/jobs/{job}").json()["state"] not in ("done", "failed"):
            for child in served.children():
                if "citewell.serve.import_job" in child:
                    os.kill(int(child.split()[0]), signal.SIGKILL)
        ended = served.finished(job)
        assert ended["state"] == "failed" and "without a result" in ended["message"]
        assert served.added(("x.jsonl", paper(4000)))["state"] == "done"


def test_uploads_are_deleted(tmp_path: Path) -> None:
    jobs = tmp_path / "new" / "jobs"
    with serving(tmp_path / "new") as served:
        job = served.added(("x.jsonl", paper(1)))["id"]
    # A server was killed after it had recorded the end of the job, while it received another upload.
    (jobs / job / f"{job}-0").write_bytes(paper(1))
    (jobs / job / "citewell-copy").mkdir()
    (jobs / "20260101-000000-00000000.part").mkdir()
    with serving(tmp_path / "new") as served:
        assert [each["id"] for each in served.client.get("/api/jobs").json()] == [job]
        assert sorted(str(path.relative_to(jobs)) for path in jobs.rglob("*")) == [job, f"{job}/job.json", "server.lock"]


def test_files_that_cannot_be_stored_do_not_fill_the_disk(tmp_path: Path) -> None:
    class Damaged(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    Library(tmp_path / "new").take([])
    jobs = Jobs(tmp_path / "new")
    jobs.lock()
    added = jobs.add([("a.bib", io.BytesIO(paper(1))), ("b.bib", Damaged())])
    # In a thread of its own: the browser of other tests may have a loop in this one.
    with pytest.raises(ApiError, match="No space left") as raised, ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, added).result()
    assert raised.value.status == 507
    assert [path.name for path in (tmp_path / "new" / "jobs").iterdir()] == ["server.lock"]


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
def test_the_server_stops_cleanly_on_a_signal(tmp_path: Path, ending: signal.Signals) -> None:
    with serving(tmp_path / "new") as served:
        children = served.children()
        assert len(children) >= 2
        served.process.send_signal(ending)
        assert served.process.wait(20) == 0
    for child in children:
        assert not Path(f"/proc/{child.split()[0]}").exists()


@pytest.mark.slow
def test_a_server_killed_under_load_loses_no_paper(tmp_path: Path) -> None:
    """Clients add papers and query without a pause while the server is killed and restarted. No acknowledged paper is lost."""
    library = tmp_path / "new"
    chance = random.Random(3)
    accepted: dict[str, int] = {}
    done: set[str] = set()
    number = iter(range(1_000_000))

    def load(served: Served, stop: threading.Event) -> None:
        with httpx.Client(base_url=served.url, timeout=30, trust_env=False) as client:
            while not stop.is_set():
                this = next(number)
                try:
                    answer = client.post("/api/add", files={"files": ("x.jsonl", paper(this))})
                    if answer.status_code == 202:
                        accepted[answer.json()["job"]] = this
                    client.post("/api/suggest", json={"title": f"ships number{this}", "pipeline": "fast"})
                    done.update(each["id"] for each in client.get("/api/jobs").json() if each["state"] == "done")
                except httpx.TransportError:
                    return

    for _ in range(KILLS):
        with serving(library) as served:
            stop = threading.Event()
            clients = [threading.Thread(target=load, args=(served, stop)) for _ in range(3)]
            for client in clients:
                client.start()
            time.sleep(chance.uniform(1.5, 4.0))
            served.process.kill()
            stop.set()
            for client in clients:
                client.join()
        with Library(library) as opened:  # jobs reported as done are complete before anything is resumed
            assert all(opened.store.find(f"p{accepted[job]}") is not None for job in done if job in accepted)
    assert accepted
    with serving(library) as served:
        end = time.monotonic() + 120
        while any(each["state"] != "done" for each in served.client.get("/api/jobs").json()):
            assert time.monotonic() < end
            time.sleep(0.2)
        # Everything that was acknowledged, done or not, is in the library and searchable.
        for this in accepted.values():
            assert served.client.get(f"/api/papers/p{this}").status_code == 200
        last = max(accepted.values())
        assert f"Paper number{last}" in titles(served, f"number{last}")
    with Library(library) as opened:
        assert opened.check().sound
