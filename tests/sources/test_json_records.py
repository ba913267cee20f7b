"""JSON in every packing, damaged or not, in bounded memory."""

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from citewell.papers import Problem
from citewell.sources import InputError, Source, json_records, source


def read(data: bytes | str, folder: Path) -> list[Any]:
    """The title of each record, or (reason, line)."""
    path = folder / "file.json"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    with Source(path) as opened:
        found = list(json_records.records(opened))
    return [(each.reason, each.line) if isinstance(each, Problem) else each.get("t") for _, each in found]


@pytest.mark.parametrize(
    "written",
    [
        '{"t": 1}\n{"t": 2}\n{"t": 3}\n',
        '{"t": 1}\r\n\r\n{"t": 2}\r\n{"t": 3}',
        '[{"t": 1}, {"t": 2}, {"t": 3}]',
        '[\n  {"t": 1},\n  {"t": 2},\n  {"t": 3}\n]\n',
        '{"meta": {"data": [1]}, "results": [{"t": 1}, {"t": 2}, {"t": 3}], "rest": [{"t": 4}]}',
        '{\n "items": [\n  {\n   "t": 1\n  }, {"t": 2}, {"t": 3}]}',
        '{"message": {"items": [{"t": 1}, {"t": 2}, {"t": 3}]}}',
        '{"data": [{"t": 1}]}\n{"data": [{"t": 2}, {"t": 3}]}',
        '{\n "t": 1\n}\n{\n "t": 2\n}\n{\n "t": 3\n}\n',
    ],
)
def test_every_packing(written: str, tmp_path: Path) -> None:
    assert read(written, tmp_path) == [1, 2, 3]
    assert read("\ufeff" + written, tmp_path) == [1, 2, 3]


def test_answers_of_an_api_one_a_line_however_long(tmp_path: Path) -> None:
    answers = [
        json.dumps({"meta": {}, "results": [{"t": n, "x": "x" * 90_000}, {"t": n + 1}], "rest": [{"t": 0}]}) for n in (1, 3, 5)
    ]
    assert read("\n".join(answers), tmp_path) == [1, 2, 3, 4, 5, 6]
    assert read(answers[0], tmp_path) == [1, 2]


def test_a_bad_line_is_named(tmp_path: Path) -> None:
    found = read('{"t": 1}\n{"t": \n[1]\n{"t": 4}\n', tmp_path)
    assert (found[0], found[3]) == (1, 4)
    assert found[1][0].startswith("not valid JSON")
    assert [found[1][1], found[2]] == [2, ("not a JSON object", 3)]


def test_a_bad_item_of_an_array_costs_itself(tmp_path: Path) -> None:
    found = read('[\n{"t": 1},\n{"t": 2, "a": [{"x": "never closed}]},\n{"t": 3},\n7,\n{"t": 4}\n]', tmp_path)
    assert [each for each in found if isinstance(each, int)] == [1, 3, 4]
    assert [each[1] for each in found if isinstance(each, tuple)] == [3, 5]


def test_a_truncated_array_gives_what_came_before(tmp_path: Path) -> None:
    assert read('[{"t": 1},\n{"t": 2},\n{"t": 3, "x": "abc', tmp_path) == [1, 2, ("the file ends in the middle of a record", 3)]
    assert read('[{"t": 1}, {"t": 2}', tmp_path) == [1, 2]


def test_what_programs_write_though_json_forbids_it(tmp_path: Path) -> None:
    assert read('{"t": NaN}\n{"t": "\\ud800"}\n{"t": "a\tb"}\n', tmp_path)[1:] == ["\ud800", "a\tb"]
    assert read('{"t": "é"}'.encode("cp1252"), tmp_path) == ["é"]


def test_depth_and_length_are_no_trouble(tmp_path: Path) -> None:
    deep = '{"t":' + "[" * 200_000
    assert read(f'{{"t": 1}}\n{deep}\n{{"t": 3}}', tmp_path)[1] == ("nested too deeply", 2)
    assert read(f'[{{"t": 1}},\n{deep},\n{{"t": 3}}]', tmp_path)[-1] == 3
    digits = '{"t": ' + "9" * 10_000 + "}"
    assert read(f'{{"t": 1}}\n{digits}\n{{"t": 3}}', tmp_path)[1] == ("not valid JSON: a number is too long", 2)
    assert read(f'[{{"t": 1}},\n{digits},\n{{"t": 3}}]', tmp_path)[::2] == [1, 3]


def test_a_record_beyond_the_bound_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_records, "MAX_LINE_BYTES", 3 << 20)
    monkeypatch.setattr(json_records, "_MAX_WASTE", 100 << 20)
    long = '{"t": 2, "x": "' + "x" * (12 << 20) + '"}'
    found = read(f'[{{"t": 1}}, {long}, {{"t": 3}}]', tmp_path)
    assert [found[0], found[-1]] == [1, 3]
    assert found[1][0] == "longer than 3 MiB"


def test_a_line_beyond_the_bound_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "MAX_LINE_BYTES", 1000)
    found = read('{"t": 1}\n{"t": "' + "x" * 5000 + '"}\n{"t": 3}\n', tmp_path)
    assert [found[0], found[2]] == [1, 3]


def test_a_file_of_beginnings_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_records, "_MAX_WASTE", 1 << 20)
    with pytest.raises(InputError, match="too damaged"):
        read("[" + '{"t": [' * 900 + "1," * 100_000, tmp_path)


def test_memory_is_that_of_a_record_not_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    with path.open("w") as out:
        out.write("[")
        for number in range(40_000):
            out.write(json.dumps({"t": number, "x": "word " * 100}) + ",\n")
        out.write('{"t": 0}]')
    tracemalloc.start()
    with Source(path) as opened:
        assert sum(1 for _ in json_records.records(opened)) == 40_001
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12 << 20 < path.stat().st_size


def test_the_first_record_of_a_cut_head() -> None:
    record = {"id": "x", "text": 'quotes " and \\ and {[', "list": [{"a": 1}, {"b": [1, 2]}], "more": "words, words"}
    whole = json.dumps(record).encode()
    for cut in range(2, len(whole)):
        found = json_records.first_record(whole[:cut])
        assert found.keys() <= record.keys()
        assert cut < 12 or found["id"] == "x"
    assert json_records.first_record(whole) == record
