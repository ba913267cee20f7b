"""Papers by the authors of a draft, and the references of their other papers."""

from __future__ import annotations

from dataclasses import replace

from citewell.library import Library
from citewell.papers import Paper, Query
from citewell.pipeline.api import suggest
from citewell.text.names import parse_all


def test_papers_are_found_by_the_authors_of_the_draft(tiny: Library) -> None:
    query = Query(title="Of nothing in particular", authors=["Pike, J.", "Mira Holt"], exclude=["tides"])
    suggestions = suggest(tiny, query, "same-authors")
    assert [each.paper.id for each in suggestions] == ["harbour"]
    assert suggestions[0].reasons[0].text == "By an author of the draft: Mira Holt, J. Pike."
    tiny.take([Paper("Fog", authors=parse_all(["J. Pike", "Ann Other"]), id="fog", ids=["doi:10.1/fog"])])
    tiny.reload()
    assert [each.paper.id for each in suggest(tiny, query, "same-authors")] == ["harbour", "fog"]
    cited = suggest(tiny, replace(query, authors=["Lee Moss"], exclude=[]), "references-of-same-authors")
    assert {each.paper.id for each in cited} == {"harbour", "gulls", "tides"}
    assert cited[0].reasons[0].text == "Cited by “Tides move the boats”, a paper by an author of the draft, and by 1 more."
    assert not suggest(tiny, Query(title="Boats"), "same-authors")


def test_an_author_who_is_added_later_is_found(tiny: Library) -> None:
    tiny.take([Paper("Of piers", id="piers", ids=["doi:10.1/piers"])])
    tiny.take([Paper("Of piers", authors=parse_all(["Nell Wharf"]), ids=["doi:10.1/piers"])])
    tiny.reload()
    assert [each.paper.id for each in suggest(tiny, Query(authors=["N. Wharf"]), "same-authors")] == ["piers"]
    tiny.remove(["piers"])
    tiny.reload()
    assert not suggest(tiny, Query(authors=["N. Wharf"]), "same-authors") and tiny.check().sound
