"""References, contexts and sentences that a file no longer has: the library is the one built from the files as they are now."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from citewell.library.library import Library
from citewell.papers import Context, Paper, Reference


def written(path: Path, *records: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def paper(name: str, references: list[Any] = [], **more: Any) -> dict[str, Any]:  # noqa: B006
    return {"id": name, "title": f"Paper {name}", "year": 2020, "references": references, **more}


def described(library: Library) -> list[tuple[object, ...]]:
    """What a library knows of its papers and how they are linked."""
    papers = []
    for each in library:
        number = library.number(each.id)
        cited = [library.store.papers([num])[num].title for _, num in library.store.links("cites", [number])]
        contexts = [(context.text, tuple(str(r.ids or r.title) for r in context.cited)) for context in each.contexts]
        # A reference to a paper that was removed has all names of that paper, not only the one that the citing paper used.
        waiting = sorted({r.title.removeprefix("Paper ") or r.ids[0].removeprefix("local:") for r in each.references})
        sentences = tuple(sentence.text for sentence in each.sentences)
        papers.append((each.id, each.title, tuple(sorted(cited)), tuple(waiting), tuple(sorted(contexts)), sentences))
    return sorted(papers)


def indexed(library: Library) -> list[tuple[object, ...]]:
    """The citations as the index has them, by title."""
    graph, listed = library.index.graph, library.index.listed("own")
    titles = {number: each.title for number, each in library.store.papers(listed.tolist()).items()}
    pairs = []
    for number in listed.tolist():
        targets, _ = graph.neighbours("cites", listed[listed == number])
        pairs += [(titles[number], titles[target]) for target in targets.tolist() if target in titles]
    return sorted(pairs)


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path / "library")


def test_a_reference_that_is_gone_is_no_citation(library: Library, tmp_path: Path) -> None:
    file = tmp_path / "papers.jsonl"
    library.add([written(file, paper("a", ["b", "c", "missing"]), paper("b"), paper("c"))])
    outcome = library.add([written(file, paper("a", ["c"]), paper("b"), paper("c"))])
    assert outcome.changed == 1
    assert described(library)[0][2] == ("Paper c",)
    assert indexed(library) == [("Paper a", "Paper c")]
    assert library.check().sound
    assert library.add([file]).changed == 0


def test_what_another_source_lists_stays(library: Library, tmp_path: Path) -> None:
    library.take([Paper("Paper a", year=2020, ids=["doi:10.1000/a"], references=[Reference(["doi:10.1000/b"])])], source="dump")
    library.take([Paper("Paper b", year=2019, ids=["doi:10.1000/b"])], source="dump")
    file = tmp_path / "papers.jsonl"
    library.add([written(file, paper("a", ["doi:10.1000/c"], doi="10.1000/a"), paper("c", doi="10.1000/c"))])
    library.add([written(file, paper("a", doi="10.1000/a"), paper("c", doi="10.1000/c"))])
    assert ("Paper a", "Paper b") in indexed(library)


def test_a_context_that_is_gone_no_longer_says_anything_of_the_cited_paper(library: Library, tmp_path: Path) -> None:
    def records(*texts: str) -> list[Paper]:
        cited = Reference(["doi:10.1000/b"])
        contexts = [Context(text, [cited], id=f"c{at}") for at, text in enumerate(texts)]
        citing = Paper("Paper a", year=2020, ids=["doi:10.1000/a"], references=[cited], contexts=contexts)
        return [citing, Paper("Paper b", year=2019, ids=["doi:10.1000/b"])]

    library.take(records("boats TARGETCIT", "gulls TARGETCIT"), source="service")
    library.take(records("boats TARGETCIT"), source="service")
    number = library.number("doi:10.1000/b")
    assert [text for _, _, text in library.store.cited_contexts([number], 9)] == ["boats TARGETCIT"]
    assert indexed(library) == [("Paper a", "Paper b")]
    assert library.check().sound


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
def test_after_any_edits_the_links_are_those_of_a_library_built_afresh(tmp_path: Path, seed: int) -> None:
    choose = random.Random(seed)
    library = Library(tmp_path / "library")
    files = [tmp_path / "one.jsonl", tmp_path / "two.jsonl"]
    for _ in range(6):
        for file in choose.sample(files, choose.randint(1, 2)):
            names = choose.sample([f"{file.stem}{number}" for number in range(6)], choose.randint(1, 6))
            records = []
            for name in names:
                cited: list[Any] = [
                    f"{choose.choice(['one', 'two'])}{choose.randrange(7)}" for _ in range(choose.randint(0, 3))
                ]
                if choose.random() < 0.3:
                    cited.append({"title": f"Paper two{choose.randrange(7)}", "year": 2020})
                said = [f"{name} says {choose.choice('xyz')}." for _ in range(choose.randint(0, 2))]
                records.append(paper(name, cited, sentences=said, venue=choose.choice(["Here", "There"])))
            library.add([written(file, *records)], sync=True)
            assert library.check().sound
    there = [file for file in files if file.exists()]
    order = {name: at for at, (name,) in enumerate(library.store.db.execute("SELECT name FROM sources ORDER BY num"))}
    fresh = Library(tmp_path / "fresh")
    fresh.add(sorted(there, key=lambda file: order[str(file)]))
    assert described(library) == described(fresh)
    assert indexed(library) == indexed(fresh)
