"""Unit tests of the modules for positions, edits and highlighting, run in the browser."""

from __future__ import annotations

import random
from typing import Any

TEXTS = ["", "plain", "a 😀 b", "𝒳𝒴 and 𝔸", "ÄÖ é e\u0301", "👩‍👩‍👧 family", "end 😀", "\n𝜆\n\n𝜇"]


def _units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def test_positions_convert_between_code_points_and_units(page: Any) -> None:
    results = page.evaluate(
        """async (texts) => {
          const { Offsets } = await import("/static/offsets.js");
          return texts.map((text) => {
            const offsets = new Offsets(text);
            const count = [...text].length;
            return Array.from({ length: count + 1 }, (_, at) => [offsets.units(at), offsets.points(offsets.units(at))]);
          });
        }""",
        TEXTS,
    )
    for text, places in zip(TEXTS, results, strict=True):
        assert places == [[_units(text[:at]), at] for at in range(len(text) + 1)]


def test_marks_stay_on_their_text_after_edits(page: Any) -> None:
    chance = random.Random(7)
    cases = []
    for _ in range(400):
        before = "".join(chance.choices("ab \n", k=chance.randrange(14)))
        begin = chance.randint(0, len(before))
        end = chance.randint(begin, len(before))
        after = before[:begin] + "".join(chance.choices("ab \n", k=chance.randrange(5))) + before[end:]
        cases.append([before, after])
    results = page.evaluate(
        """async (cases) => {
          const { difference, shifted } = await import("/static/edits.js");
          return cases.map(([before, after]) => {
            const edit = difference(before, after);
            const same = [];
            for (let begin = 0; begin < before.length; begin += 1)
              for (let end = begin + 1; end <= before.length; end += 1)
                if (end <= edit.begin || begin >= edit.end) {
                  const now = shifted({ begin, end }, edit);
                  same.push(before.slice(begin, end) === after.slice(now.begin, now.end));
                }
            return [edit, same.every(Boolean)];
          });
        }""",
        cases,
    )
    for (before, after), (edit, same) in zip(cases, results, strict=True):
        middle = after[edit["begin"] : edit["end"] + edit["moved"]]
        assert before[: edit["begin"]] + middle + before[edit["end"] :] == after
        assert same


def test_a_cut_range_is_dropped_and_an_edited_range_grows(page: Any) -> None:
    results = page.evaluate(
        """async () => {
          const { difference, shifted } = await import("/static/edits.js");
          const edit = difference("one two three", "one 2 three");
          return [[5, 13], [0, 13], [8, 13]].map(([begin, end]) => shifted({ begin, end }, edit));
        }"""
    )
    assert results == [None, {"begin": 0, "end": 11}, {"begin": 6, "end": 11}]


def test_words_are_highlighted_by_stem(page: Any) -> None:
    marked = page.evaluate(
        """async () => {
          const { highlight } = await import("/static/highlight.js");
          const pieces = highlight("Topics of a topic model; utopic.", ["topics", "models"]);
          return pieces.map((each) => each.tagName ? `<${each.textContent}>` : each).join("");
        }"""
    )
    assert marked == "<Topics> of a <topic> <model>; utopic."


def test_a_citation_is_masked_before_the_server_has_parsed_it(page: Any) -> None:
    context = page.evaluate(
        r"""async () => {
          const { placeAt } = await import("/static/place.js");
          const { ParsedDraft } = await import("/static/parsed_draft.js");
          const text = "First one. We follow \\emph{earlier work}~\\citep[p. 3]{old} and rank by words \\cite{} here. Last.";
          return placeAt(new ParsedDraft(), text, text.indexOf("\\cite{}") + 6).query.context;
        }"""
    )
    assert context == "We follow earlier work OTHERCIT and rank by words TARGETCIT here"
