"""Manuscripts over HTTP: exact positions, no access to the server's disk, and malicious archives."""

from __future__ import annotations

import io
import json
import stat
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from citewell.serve import draft_schemas
from citewell.serve.errors import ApiError
from citewell.serve.handlers import uploads
from tests.serve.served import Served, environment

LATEX = r"""\documentclass{article}
\title{Boats and gulls}
\begin{document}
\begin{abstract}We count boats.\end{abstract}
Boats 🚤 were first counted from photographs \cite{}. Gulls disturb the count \cite{reis}, as \cite{nobody} says.
\input{/etc/passwd}
\bibliography{refs}
\end{document}
"""
BIB = "@article{reis, title={Gulls as a source of error}, author={Reis, Ana}, year={2017}}\n"


def zipped(files: dict[str, str]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return out.getvalue()


def sent(served: Served, name: str, data: bytes) -> Any:
    answer = served.client.post("/api/draft/file", files={"file": (name, data)})
    assert answer.status_code == 200, answer.text
    draft_schemas.DraftFile.model_validate(answer.json())
    return answer.json()


def test_positions_in_a_text(served: Served) -> None:
    answer = served.client.post("/api/draft", json={"text": LATEX, "bibliography": BIB})
    assert answer.status_code == 200
    draft_schemas.Draft.model_validate(answer.json())
    draft = answer.json()
    assert (draft["format"], draft["title"]) == ("latex", "Boats and gulls")
    assert [LATEX[citation["begin"] : citation["end"]] for citation in draft["citations"]] == [
        r"\cite{}",
        r"\cite{reis}",
        r"\cite{nobody}",
    ]
    assert [citation["gap"] for citation in draft["citations"]] == [True, False, False]
    assert [citation["papers"] for citation in draft["citations"]] == [[], ["gulls"], []]
    assert "TARGETCIT" in draft["citations"][0]["context"]
    assert [(entry["key"], entry["id"]) for entry in draft["bibliography"]] == [("reis", "gulls")]
    assert "root:" not in answer.text


def test_an_uploaded_file_returns_its_text(served: Served) -> None:
    draft = sent(served, "draft.tex", LATEX.encode())
    assert draft["text"] == LATEX
    assert draft["citations"][0]["gap"]
    markdown = "# Boats\n\nGulls are mistaken for boats [@?]. Others count tides [@tides].\n"
    draft = sent(served, "draft.md", markdown.encode())
    assert (draft["format"], draft["text"]) == ("markdown", markdown)
    assert [citation["papers"] for citation in draft["citations"]] == [[], ["tides"]]


def test_an_uploaded_project_returns_its_files(served: Served) -> None:
    main = LATEX.replace("/etc/passwd", "parts/more")
    project = {
        "paper/main.tex": main,
        "paper/parts/more.tex": r"More boats \cite{?}.",
        "paper/refs.bib": BIB,
        "paper/fig.png": "x",
    }
    draft = sent(served, "paper.zip", zipped(project))
    assert draft["text"] == main
    assert set(draft["files"]) == {"parts/more.tex", "refs.bib"}
    inner = [citation for citation in draft["citations"] if citation["file"]]
    assert [draft["files"][citation["file"]][citation["begin"] : citation["end"]] for citation in inner] == [r"\cite{?}"]
    assert [entry["id"] for entry in draft["bibliography"]] == ["gulls"]


def test_chosen_papers_are_inserted_into_text_and_bibliography(served: Served) -> None:
    draft = served.client.post("/api/draft", json={"text": LATEX, "bibliography": BIB}).json()
    first, second, _ = draft["citations"]
    choices = [
        {"begin": first["begin"], "end": first["end"], "ids": ["doi:10.1000/harbour", "gulls"]},
        {"begin": second["begin"], "end": second["end"], "ids": ["tides"]},
    ]
    answer = served.client.post("/api/accept", json={"text": LATEX, "format": "latex", "choices": choices, "bibliography": BIB})
    assert answer.status_code == 200, answer.text
    accepted = draft_schemas.AcceptedDraft.model_validate(answer.json())
    harbour, tides = accepted.keys["doi:10.1000/harbour"], accepted.keys["tides"]
    assert accepted.keys["gulls"] == "reis"  # which its bibliography has already
    assert f"photographs \\cite{{{harbour}, reis}}." in accepted.text
    assert f"\\cite{{reis, {tides}}}, as" in accepted.text
    assert accepted.bibliography.startswith(BIB)
    assert accepted.bibliography.count("@") == 3
    again = served.client.post("/api/draft", json={"text": accepted.text, "bibliography": accepted.bibliography}).json()
    assert [citation["papers"] for citation in again["citations"]] == [["harbour", "gulls"], ["gulls", "tides"], []]


def test_check_returns_what_the_command_prints(served: Served, library_folder: Path, tmp_path: Path) -> None:
    claims = "It is well known that gulls disturb the counting of boats. Previous studies have shown that tides move them."
    draft = LATEX.replace("Gulls disturb", f"{claims} Gulls disturb").replace("\\input{/etc/passwd}\n", "")
    (tmp_path / "draft.tex").write_text(draft)
    (tmp_path / "refs.bib").write_text(BIB)
    command = [sys.executable, "-m", "citewell", "check", "draft.tex", "--json", "--library", str(library_folder)]
    done = subprocess.run(command, capture_output=True, cwd=tmp_path, env=environment())
    known = json.loads(done.stdout)
    answer = served.client.post("/api/check", json={"text": draft, "bibliography": BIB})
    report = draft_schemas.Findings.model_validate(answer.json())
    assert report.counts == known["counts"]
    assert report.counts["missing-key"] == 1
    for ours, theirs in zip(answer.json()["findings"], known["findings"], strict=True):
        assert {**ours, "file": ""} == {**theirs, "file": ""}
    (missing,) = (each for each in report.findings if each.kind == "missing-key")
    assert draft[missing.begin : missing.end] == r"\cite{nobody}"


def test_an_invalid_choice_is_reported(served: Served) -> None:
    for choice, status in (
        ({"begin": 5, "end": 10**9, "ids": ["tides"]}, 422),
        ({"begin": 5, "end": 5, "ids": ["nobody"]}, 404),
    ):
        answer = served.client.post("/api/accept", json={"text": LATEX, "format": "latex", "choices": [choice]})
        assert answer.status_code == status


@pytest.mark.parametrize("path", ["/etc/passwd", "../../../../../../etc/passwd", "parts/../../../../../etc/passwd"])
def test_a_project_cannot_include_files_outside_of_it(served: Served, path: str) -> None:
    data = zipped({"main.tex": LATEX.replace("/etc/passwd", path), "parts/x.tex": "x", path: "root:of:the:archive"})
    answer = served.client.post("/api/draft/file", files={"file": ("x.zip", data)})
    assert answer.status_code == 200
    assert "root:" not in answer.text


def test_malicious_archives_are_rejected() -> None:
    bomb = zipped({"main.tex": "a" * 60_000_000})
    assert len(bomb) < 100_000
    with pytest.raises(ApiError, match="more than 50 MB") as raised:
        uploads.read_upload("bomb.zip", bomb)
    assert raised.value.status == 413
    link = zipfile.ZipInfo("main.tex")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(ApiError, match="contains no"):
        uploads.read_upload("link.zip", out.getvalue())
    for names in (["a.tex", "a.tex/b.tex"], ["a.tex/b.tex", "a.tex"]):
        with pytest.raises(ApiError, match="both a file and a folder"):
            uploads.read_upload("x.zip", zipped(dict.fromkeys(names, "x")))


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
@pytest.mark.parametrize("inner", ["main.tex", "word/document.xml"])
def test_compression_without_streaming_is_rejected(method: int, inner: str) -> None:
    """With these methods a few hundred bytes become gigabytes before they can be counted."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        archive.writestr(inner, "a" * 1_000_000)
    with pytest.raises(ApiError, match="not compressed with Deflate"):
        uploads.read_upload("x.zip", out.getvalue())


def test_files_that_are_not_manuscripts_are_reported(served: Served) -> None:
    damaged = zipped({"main.tex": LATEX * 50})
    damaged = damaged[:200] + b"\xff" * 40 + damaged[240:]
    for name, data, message in (
        ("x.bin", b"\x00\x01\x02", "is not a text file"),
        ("x.txt", b" \n", "is empty"),
        ("x.zip", damaged, "damaged"),
        ("x.zip", damaged[:300], "damaged"),
        ("x.zip", zipped({"a.png": "x"}), "contains no"),
        ("x.zip", zipped({"\u00e4.tex": "x"}).replace("\u00e4".encode(), b"\xff\xfe"), "damaged"),
        ("x.zip", zipped({"\u00e4.tex": "x"}).replace("\u00e4".encode(), b"\xff\xfe", 1), "damaged"),
        ("x.docx", zipped({"word/document.xml": "<not xml"}), "damaged Word file"),
    ):
        answer = served.client.post("/api/draft/file", files={"file": (name, data)})
        assert answer.status_code == 422, (name, answer.text)
        assert message in answer.json()["detail"]
        assert "/tmp" not in answer.json()["detail"]
