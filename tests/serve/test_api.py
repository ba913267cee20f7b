"""The server returns what the commands print, in the documented schemas."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from citewell.serve import schemas
from citewell.serve.library_follower import LibraryFollower
from citewell.serve.messages import WorkerRequest
from citewell.serve.worker import respond
from tests.serve.served import Served, environment

CONTEXT = "Boats were first counted from photographs [?] of a harbour."


def citewell(library: Path, *arguments: str) -> Any:
    """The output of a command with --json."""
    command = [sys.executable, "-m", "citewell", *arguments, "--json"]
    done = subprocess.run(command, capture_output=True, check=True, env=environment(CITEWELL_LIBRARY=str(library)))
    return json.loads(done.stdout)


@pytest.mark.parametrize("pipeline", ["fast", "best"])
def test_suggest_returns_what_the_command_prints(served: Served, library_folder: Path, pipeline: str) -> None:
    body = {"title": "Gulls", "context": CONTEXT, "k": 3, "pipeline": pipeline}
    answer = served.client.post("/api/suggest", json=body)
    assert answer.status_code == 200
    command = ("suggest", "--title", "Gulls", "--context", CONTEXT, "-k", "3", "--pipeline", pipeline)
    assert answer.json() == citewell(library_folder, *command)
    results = schemas.Results.model_validate(answer.json())
    assert results.suggestions[0].title == "Counting boats in the harbour"
    assert results.suggestions[0].sentences
    assert any("vectors" in note for note in results.notes) is (pipeline == "best"), "what the library lacks is in the notes"


def test_filters_and_excluded_papers(served: Served) -> None:
    def ids(**fields: Any) -> set[str]:
        body = {"title": "boats gulls harbour", "pipeline": "fast", **fields}
        return {each["id"] for each in served.client.post("/api/suggest", json=body).json()["suggestions"]}

    everything = ids()
    assert len(everything) == 4
    assert len(ids(since=2018)) == 2
    assert ids(since=2018) | ids(before=2018) == everything
    assert len(ids(venue="harbours")) == 2
    assert ids(exclude=["harbour"]) == everything - {"harbour"}


def test_search_returns_what_the_command_prints(served: Served, library_folder: Path) -> None:
    query = "are gulls mistaken for boats?"
    answer = served.client.post("/api/search", json={"question": query, "k": 2, "pipeline": "fast", "sentences": 1})
    assert answer.json() == citewell(library_folder, "search", query, "-k", "2", "--pipeline", "fast", "--sentences", "1")
    results = schemas.Results.model_validate(answer.json())
    sentence = results.suggestions[0].sentences[0]
    assert sentence.text == "Gulls are mistaken for boats."
    assert sentence.end - sentence.begin == len(sentence.text)
    assert "gulls" in sentence.words


def test_library_info(served: Served, library_folder: Path) -> None:
    info = served.client.get("/api/library").json()
    years = info.pop("years")
    assert years == {"2015": 1, "2017": 1, "2019": 1, "2021": 1}
    known = citewell(library_folder, "library", "info")
    assert {**info, "bytes": 0} == {**known, "bytes": 0}  # SQLite's log may come and go
    schemas.LibraryInfo.model_validate({**info, "years": years})
    assert served.client.get("/api/pipelines").json() == citewell(library_folder, "pipelines")
    health = served.client.get("/api/health").json()
    assert (health["status"], health["papers"]) == ("ok", 4)


def test_a_paper_by_any_of_its_ids(served: Served, library_folder: Path) -> None:
    known = citewell(library_folder, "show", "harbour")
    known["sources"][0]["source"] = Path(known["sources"][0]["source"]).name
    for name in (
        "harbour",
        "doi:10.1000/harbour",
        "10.1000/harbour",
        "doi%3A10.1000%2Fharbour",
        "https://doi.org/10.1000/harbour",
    ):
        assert served.client.get(f"/api/papers/{name}").json() == known
    assert {each["title"] for each in schemas.PaperRecord.model_validate(known).model_dump()["cited_by"]} == {
        "Gulls as a source of error",
        "Tides move the boats",
        "A review of harbour photography",
    }
    missing = served.client.get("/api/papers/nobody/knows")
    assert missing.status_code == 404
    assert "nobody/knows" in missing.json()["detail"]


def test_related_papers_state_their_link(served: Served) -> None:
    related = schemas.Related.model_validate(served.client.get("/api/papers/doi:10.1000/tides/related?k=3").json())
    assert "doi:10.1000/tides" not in {each.id for each in related.suggestions}
    links = {each.title: [reason.text for reason in each.reasons if reason.kind == "link"] for each in related.suggestions}
    assert links["Counting boats in the harbour"] == ["Cited by this paper."]
    related = schemas.Related.model_validate(served.client.get("/api/papers/harbour/related").json())
    assert {text for each in related.suggestions for text in [each.reasons[0].text]} == {"Cites this paper."}
    assert {each.year for each in related.suggestions} == {2017, 2019, 2021}


def test_listing_the_library(served: Served) -> None:
    def listed(**parameters: Any) -> list[str]:
        page = schemas.PaperPage.model_validate(served.client.get("/api/papers", params=parameters).json())
        assert page.total >= len(page.papers)
        return [each.title for each in page.papers]

    newest = ["A review of harbour photography", "Tides move the boats", "Gulls as a source of error"]
    assert listed() == [*newest, "Counting boats in the harbour"]
    assert listed(limit=2, offset=1) == newest[1:]
    assert listed(query="pike BOATS") == ["Tides move the boats", "Counting boats in the harbour"]
    assert listed(query="journal") == ["Gulls as a source of error", "Counting boats in the harbour"]
    assert listed(since=2017, before=2020) == newest[1:]
    assert listed(query="100%_") == []


@pytest.mark.parametrize("form", ["bibtex", "ris", "csl", "jsonl"])
def test_export(served: Served, library_folder: Path, form: str) -> None:
    answer = served.client.post("/api/export", json={"ids": ["harbour", "tides", "harbour"], "format": form})
    assert answer.headers["content-disposition"].startswith('attachment; filename="papers.')
    command = [
        sys.executable,
        "-m",
        "citewell",
        "export",
        "harbour",
        "tides",
        "--format",
        form,
        "--library",
        str(library_folder),
    ]
    assert answer.content == subprocess.run(command, capture_output=True, check=True, env=environment()).stdout
    missing = served.client.post("/api/export", json={"ids": ["harbour", "nobody"]})
    assert missing.status_code == 404


@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        ("/api/suggest", {"title": "boats", "pipeline": "nope"}, 422, "citewell pipelines"),
        ("/api/suggest", {"title": "  "}, 422, "The query is empty"),
        ("/api/suggest", {"title": "boats", "k": 0}, 422, "k: "),
        ("/api/suggest", {"titel": "boats"}, 422, "titel: "),
        ("/api/suggest", {"title": "boats", "pipeline": "dense-cited"}, 422, "vectors"),
        ("/api/search", {}, 422, "question: "),
        ("/api/export", {"ids": []}, 422, "ids: "),
    ],
)
def test_invalid_requests_get_a_one_line_error(served: Served, path: str, body: object, status: int, message: str) -> None:
    answer = served.client.post(path, json=body)
    assert answer.status_code == status
    assert message in answer.json()["detail"]
    assert "\n" not in answer.json()["detail"]


def test_an_exception_in_a_stage_becomes_a_one_line_error(library_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def suggest(self, *arguments: object) -> None:
            raise ZeroDivisionError("in\na stage")

    monkeypatch.setattr("citewell.serve.handlers.suggest.pipeline", lambda name: Broken())
    parameters = schemas.SuggestRequest(title="boats", pipeline="mine").model_dump()
    head = msgspec.json.encode(WorkerRequest("suggest", parameters))
    response, body = respond(LibraryFollower(library_folder), head, b"")
    assert response.status == 500
    assert msgspec.json.decode(body)["detail"].startswith("The pipeline 'mine' failed (ZeroDivisionError);")


def test_every_request_and_response_has_an_example(served: Served) -> None:
    description = served.client.get("/api/openapi.json").json()
    used = description["components"]["schemas"]
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            contents = [operation.get("requestBody", {}), *operation["responses"].values()]
            for content in contents:
                for media, each in content.get("content", {}).items():
                    shape = each["schema"].get("items", each["schema"])
                    if "$ref" in shape and media == "application/json":
                        name = shape["$ref"].rpartition("/")[2]
                        assert used[name].get("examples"), f"{method} {path}: {name} has no example"
