"""Search results of the arXiv API."""

from __future__ import annotations

from pathlib import Path

from reading import DATA, papers, problems, taken

from citewell.papers import Paper
from citewell.sources import arxiv_atom
from citewell.text.names import parse_all

FILE = DATA / "arxiv_atom.xml"


def test_entries_become_papers() -> None:
    records = taken(arxiv_atom, FILE)
    assert problems(records) == []
    assert papers(records)[0] == Paper(
        title="Counting boats in the harbour of Malmö",
        abstract="We count boats, and gulls.",
        authors=parse_all(["Mira Holt", "Jon Pike"]),
        year=2019,
        date="2019-03-04",
        venue="J. Harbours 3 (2020) 1-9",
        ids=["arxiv:1903.01234", "doi:10.1000/harbour"],
        keywords=["cs.CV", "quant-ph"],
        extra={
            "journal-ref": "J. Harbours 3 (2020) 1-9",
            "note": "9 pages",
            "type": "preprint",
            "url": "https://arxiv.org/abs/1903.01234",
        },
    )
    assert (papers(records)[1].ids, papers(records)[1].venue) == (["arxiv:hep-th/9901001"], "arXiv")


def test_errors_and_broken_entries_do_not_affect_others(tmp_path: Path) -> None:
    written = FILE.read_text()
    complaint = "<entry><id>http://arxiv.org/api/errors#x</id><title>Error</title><summary>incorrect id</summary></entry>"
    broken = "<entry><id>http://arxiv.org/abs/1903.1</id><title>a & b</entry>"
    records = taken(
        arxiv_atom, written.replace("<entry>", f"{complaint}{broken}<entry><id/></entry><entry>", 1).encode(), tmp_path
    )
    assert len(papers(records)) == 2
    reasons = [problem.reason for problem in problems(records)]
    assert reasons[0] == "arXiv reports an error: incorrect id"
    assert reasons[-1] == "the entry has no arXiv id"
    assert len(reasons) == 3
