"""The server says what the commands say, in the shapes that its description names."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from citewell.serve import shapes
from tests.serve.served import Served, environment

CONTEXT = "Boats were first counted from photographs [?] of a harbour."


def citewell(library: Path, *arguments: str) -> Any:
    """What a command prints with --json."""
    command = [sys.executable, "-m", "citewell", *arguments, "--json"]
    done = subprocess.run(command, capture_output=True, check=True, env=environment(CITEWELL_LIBRARY=str(library)))
    return json.loads(done.stdout)


@pytest.mark.parametrize("pipeline", ["fast", "best"])
def test_suggestions_are_those_of_the_command(served: Served, shelf: Path, pipeline: str) -> None:
    asked = {"title": "Gulls", "context": CONTEXT, "k": 3, "pipeline": pipeline}
    answer = served.client.post("/api/suggest", json=asked)
    assert answer.status_code == 200
    command = ("suggest", "--title", "Gulls", "--context", CONTEXT, "-k", "3", "--pipeline", pipeline)
    assert answer.json() == citewell(shelf, *command)
    found = shapes.Suggestions.model_validate(answer.json())
    assert found.suggestions[0].title == "Counting boats in the harbour"


def test_filters_and_what_is_cited_already_are_heeded(served: Served) -> None:
    def ids(**given: Any) -> set[str]:
        asked = {"title": "boats gulls harbour", "pipeline": "fast", **given}
        return {each["id"] for each in served.client.post("/api/suggest", json=asked).json()["suggestions"]}

    everything = ids()
    assert len(everything) == 4
    assert len(ids(since=2018)) == 2
    assert ids(since=2018) | ids(before=2018) == everything
    assert len(ids(venue="harbours")) == 2
    assert ids(exclude=["harbour"]) == everything - {"harbour"}


def test_search_is_that_of_the_command(served: Served, shelf: Path) -> None:
    question = "are gulls mistaken for boats?"
    answer = served.client.post("/api/search", json={"question": question, "k": 2, "pipeline": "fast", "snippets": 1})
    assert answer.json() == citewell(shelf, "search", question, "-k", "2", "--pipeline", "fast", "--snippets", "1")
    found = shapes.Search.model_validate(answer.json())
    passage = found.papers[0].sentences[0]
    assert passage.text == "Gulls are mistaken for boats."
    assert passage.end - passage.begin == len(passage.text)
    assert "gulls" in passage.words


def test_what_the_library_holds(served: Served, shelf: Path) -> None:
    found = served.client.get("/api/library").json()
    years = found.pop("years")
    assert years == {"2015": 1, "2017": 1, "2019": 1, "2021": 1}
    known = citewell(shelf, "library", "info")
    assert {**found, "bytes": 0} == {**known, "bytes": 0}  # a log of SQLite's may come and go
    shapes.LibraryInfo.model_validate({**found, "years": years})
    assert served.client.get("/api/pipelines").json() == citewell(shelf, "pipelines")
    health = served.client.get("/api/health").json()
    assert (health["status"], health["papers"]) == ("ok", 4)


def test_a_paper_by_any_of_its_names(served: Served, shelf: Path) -> None:
    known = citewell(shelf, "show", "harbour")
    for name in (
        "harbour",
        "doi:10.1000/harbour",
        "10.1000/harbour",
        "doi%3A10.1000%2Fharbour",
        "https://doi.org/10.1000/harbour",
    ):
        assert served.client.get(f"/api/papers/{name}").json() == known
    assert {each["title"] for each in shapes.WholePaper.model_validate(known).model_dump()["cited_by"]} == {
        "Gulls as a source of error",
        "Tides move the boats",
        "A review of harbour photography",
    }
    missing = served.client.get("/api/papers/nobody/knows")
    assert missing.status_code == 404
    assert "nobody/knows" in missing.json()["detail"]


def test_papers_related_to_one_tell_how(served: Served) -> None:
    found = shapes.Related.model_validate(served.client.get("/api/papers/doi:10.1000/tides/related?k=3").json())
    assert "doi:10.1000/tides" not in {each.id for each in found.suggestions}
    links = {each.title: [reason.text for reason in each.reasons if reason.kind == "link"] for each in found.suggestions}
    assert links["Counting boats in the harbour"] == ["cited by it"]
    found = shapes.Related.model_validate(served.client.get("/api/papers/harbour/related").json())
    assert {text for each in found.suggestions for text in [each.reasons[0].text]} == {"cites it"}
    assert {each.year for each in found.suggestions} == {2017, 2019, 2021}


def test_looking_through_the_library(served: Served) -> None:
    def listed(**given: Any) -> list[str]:
        page = shapes.PaperPage.model_validate(served.client.get("/api/papers", params=given).json())
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
def test_papers_leave_as_files(served: Served, shelf: Path, form: str) -> None:
    answer = served.client.post("/api/export", json={"ids": ["harbour", "tides", "harbour"], "format": form})
    assert answer.headers["content-disposition"].startswith('attachment; filename="papers.')
    command = [sys.executable, "-m", "citewell", "export", "harbour", "tides", "--format", form, "--library", str(shelf)]
    assert answer.content == subprocess.run(command, capture_output=True, check=True, env=environment()).stdout
    missing = served.client.post("/api/export", json={"ids": ["harbour", "nobody"]})
    assert missing.status_code == 404


@pytest.mark.parametrize(
    ("path", "body", "status", "told"),
    [
        ("/api/suggest", {"title": "boats", "pipeline": "nope"}, 422, "citewell pipelines"),
        ("/api/suggest", {"title": "  "}, 422, "say what you are writing"),
        ("/api/suggest", {"title": "boats", "k": 0}, 422, "k: "),
        ("/api/suggest", {"titel": "boats"}, 422, "titel: "),
        ("/api/suggest", {"title": "boats", "pipeline": "dense-cited"}, 422, "vectors"),
        ("/api/search", {}, 422, "question: "),
        ("/api/export", {"ids": []}, 422, "ids: "),
    ],
)
def test_what_cannot_be_used_is_told_in_a_line(served: Served, path: str, body: object, status: int, told: str) -> None:
    answer = served.client.post(path, json=body)
    assert answer.status_code == status
    assert told in answer.json()["detail"]
    assert "\n" not in answer.json()["detail"]


def test_every_body_and_answer_has_an_example(served: Served) -> None:
    described = served.client.get("/api/openapi.json").json()
    used = described["components"]["schemas"]
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            contents = [operation.get("requestBody", {}), *operation["responses"].values()]
            for content in contents:
                for media, each in content.get("content", {}).items():
                    shape = each["schema"].get("items", each["schema"])
                    if "$ref" in shape and media == "application/json":
                        name = shape["$ref"].rpartition("/")[2]
                        assert used[name].get("examples"), f"{method} {path}: {name} has no example"
