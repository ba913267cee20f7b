"""The API of a user study: nothing names a system, every confirmed mark survives SIGKILL, and judges do not mix."""

from __future__ import annotations

import json
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
from click.testing import CliRunner

from citewell.cli.main import cli
from citewell.judgements import read_records
from citewell.user_study.log import Log
from citewell.user_study.state import answers
from tests.serve.user_study.studies import RANKINGS, SYSTEMS, make_study, serving


def _post(client: httpx.Client, path: str, **body: Any) -> Any:
    answer = client.post(f"/api/{path}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_no_response_names_a_system(tmp_path: Path) -> None:
    study = make_study(tmp_path / "study")
    with serving(study.folder) as served:
        client = served.client
        seen = [client.get(path).text for path in ("/", "/api/study", "/api/health", "/api/openapi.json")]
        orders = set()
        for judge in ("Ana", "Ben", "Cyd"):
            for number, rankings in enumerate(RANKINGS, 1):
                answer = client.post("/api/context", json={"judge": judge, "number": number})
                seen.append(answer.text)
                columns = answer.json()["columns"]
                assert [column["label"] for column in columns] == ["A", "B", "C"]
                orders.add(tuple(rankings.index(column["papers"]) for column in columns))
                assert answer.json() == client.post("/api/context", json={"judge": judge, "number": number}).json()
        _post(client, "marks", judge="Ana", number=1, marks={"a": "relevant"})
        seen += [
            json.dumps(_post(client, "leave", judge="Ana", number=2, reason="skipped")),
            client.post("/api/export", json={"judge": "Ana"}).text,
            client.post("/api/marks", json={"judge": "Ana", "number": 1, "marks": {"zzz": "relevant"}}).text,
            client.get("/study_page/../study.json").text,
            client.get("/study.json").text,
        ]
    assert len(orders) > 2  # the systems change their places
    for text in seen:
        assert text
        assert not any(system in text for system in [*SYSTEMS, "secret"])
    page = "".join(path.read_text("utf-8") for path in Path(study.folder).glob("*.json"))
    assert "secret-dense" in page  # where the names are


def test_every_confirmed_mark_survives_a_kill(tmp_path: Path) -> None:
    study = make_study(tmp_path / "study")
    confirmed: dict[str, dict[str, str]] = {}
    for round_, (paper, mark) in enumerate([("a", "relevant"), ("a", "unclear")]):
        with serving(study.folder) as served:
            for judge in ("Ana", "Ben"):
                answer = _post(served.client, "marks", judge=judge, number=1, marks={paper: mark})
                confirmed.setdefault(judge, {})[paper] = mark
                assert answer == {"status": "begun", "marks": confirmed[judge]}
            assert (
                _post(served.client, "leave", judge="Cyd", number=round_ + 1, reason="insufficient")["status"] == "insufficient"
            )
            served.process.send_signal(signal.SIGKILL)
            served.process.wait(10)
        stored = answers(Log(study.judgements).records())
        assert {judge: stored[judge]["c1"].marks for judge in confirmed} == confirmed
    with serving(study.folder) as served:
        assert _post(served.client, "context", judge="ana ", number=1)["marks"] == confirmed["Ana"]
        assert _post(served.client, "progress", judge="Cyd")["contexts"] == ["insufficient"] * 2 + ["open"] * 2


def test_judges_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    study = make_study(tmp_path / "study")
    with serving(study.folder) as one, serving(study.folder) as other:

        def judge(at: int) -> None:
            client = (one if at % 2 else other).client
            for number, rankings in enumerate(RANKINGS, 1):
                for paper in dict.fromkeys(paper for ranking in rankings for paper in ranking):
                    _post(client, "marks", judge=f"Judge {at}", number=number, marks={paper: "irrelevant"})

        with ThreadPoolExecutor(6) as pool:
            list(pool.map(judge, range(6)))
        for at in range(6):
            assert _post(one.client, "progress", judge=f"Judge {at}")["contexts"] == ["done"] * 4
    assert len(list(read_records([study.judgements]))) == 6 * sum(len(context.papers()) for context in study.contexts)


def test_only_named_judges_take_part_and_wrong_requests_are_explained(tmp_path: Path) -> None:
    study = make_study(tmp_path / "study", ["Ana Lim"])
    with serving(study.folder) as served:
        client = served.client
        assert _post(client, "progress", judge="ana lim")["judge"] == "Ana Lim"
        for path, body, status, detail in (
            ("progress", {"judge": "Eve"}, 403, "choose one of Ana Lim"),
            ("progress", {"judge": "  "}, 422, "Give a name"),
            ("context", {"judge": "Ana Lim", "number": 5}, 404, "contexts 1 to 4"),
            ("marks", {"judge": "Ana Lim", "number": 1, "marks": {"m": "relevant"}}, 422, "not suggested for context 1"),
            ("marks", {"judge": "Ana Lim", "number": 1, "marks": {"a": "good"}}, 422, "marks.a"),
        ):
            answer = client.post(f"/api/{path}", json=body)
            assert answer.status_code == status, answer.text
            assert detail in answer.json()["detail"]
    assert not study.judgements.exists()


def test_other_sites_cannot_use_the_server(tmp_path: Path) -> None:
    with serving(make_study(tmp_path / "study").folder) as served:
        for headers, status in (
            ({"Origin": "http://evil.example"}, 403),
            ({"Host": "evil.example"}, 421),
            ({"Sec-Fetch-Site": "cross-site"}, 403),
        ):
            assert served.client.post("/api/progress", json={"judge": "Ana"}, headers=headers).status_code == status


def test_a_token_is_needed_where_one_is_set(tmp_path: Path) -> None:
    token = "a-token-of-sixteen-letters"
    with serving(make_study(tmp_path / "study").folder, "--token", token) as served:
        assert served.client.get("/").status_code == 200
        assert served.client.get("/api/study").status_code == 401
        assert served.client.get("/api/study", headers={"Authorization": f"Bearer {token}"}).json()["columns"] == 3


def test_exported_marks_can_be_imported_elsewhere(tmp_path: Path) -> None:
    here, there = make_study(tmp_path / "here"), make_study(tmp_path / "there")
    with serving(here.folder) as served:
        _post(served.client, "marks", judge="Ana", number=1, marks={"a": "relevant", "b": "unclear"})
        _post(served.client, "marks", judge="Ben", number=1, marks={"a": "irrelevant"})
        (tmp_path / "ana.jsonl").write_bytes(served.client.post("/api/export", json={"judge": "ANA"}).content)
    run = CliRunner().invoke
    assert (
        json.loads(run(cli, ["study", "import", str(there.folder), str(tmp_path / "ana.jsonl"), "--json"]).output)["added"] == 2
    )
    run(cli, ["study", "export", str(here.folder), "--out", str(tmp_path / "all.jsonl")])
    result = run(cli, ["study", "import", str(there.folder), str(tmp_path / "all.jsonl")])
    assert result.output == "1 judgements added, 2 were there already\n"
    assert answers(Log(there.judgements).records()) == answers(Log(here.judgements).records())
    assert run(cli, ["study", "export", str(there.folder), "--judge", "ben"]).output.count("\n") == 1
