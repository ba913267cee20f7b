"""JSON in every layout, valid or damaged, in bounded memory."""

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
        result = list(json_records.records(opened))
    return [(each.reason, each.line) if isinstance(each, Problem) else each.get("t") for _, each in result]


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
def test_every_layout(written: str, tmp_path: Path) -> None:
    assert read(written, tmp_path) == [1, 2, 3]
    assert read("\ufeff" + written, tmp_path) == [1, 2, 3]


def test_long_api_answers_one_per_line(tmp_path: Path) -> None:
    answers = [
        json.dumps({"meta": {}, "results": [{"t": n, "x": "x" * 90_000}, {"t": n + 1}], "rest": [{"t": 0}]}) for n in (1, 3, 5)
    ]
    assert read("\n".join(answers), tmp_path) == [1, 2, 3, 4, 5, 6]
    assert read(answers[0], tmp_path) == [1, 2]


def test_a_bad_line_is_reported(tmp_path: Path) -> None:
    result = read('{"t": 1}\n{"t": \n[1]\n{"t": 4}\n', tmp_path)
    assert (result[0], result[3]) == (1, 4)
    assert result[1][0].startswith("not valid JSON")
    assert [result[1][1], result[2]] == [2, ("not a JSON object", 3)]


def test_a_bad_item_of_an_array_is_skipped(tmp_path: Path) -> None:
    result = read('[\n{"t": 1},\n{"t": 2, "a": [{"x": "never closed}]},\n{"t": 3},\n7,\n{"t": 4}\n]', tmp_path)
    assert [each for each in result if isinstance(each, int)] == [1, 3, 4]
    assert [each[1] for each in result if isinstance(each, tuple)] == [3, 5]


def test_a_truncated_array_gives_its_complete_records(tmp_path: Path) -> None:
    assert read('[{"t": 1},\n{"t": 2},\n{"t": 3, "x": "abc', tmp_path) == [1, 2, ("the file ends in the middle of a record", 3)]
    assert read('[{"t": 1}, {"t": 2}', tmp_path) == [1, 2]


def test_common_invalid_json_is_accepted(tmp_path: Path) -> None:
    assert read('{"t": NaN}\n{"t": "\\ud800"}\n{"t": "a\tb"}\n', tmp_path)[1:] == ["\ud800", "a\tb"]
    assert read('{"t": "é"}'.encode("cp1252"), tmp_path) == ["é"]


def test_depth_and_length(tmp_path: Path) -> None:
    deep = '{"t":' + "[" * 200_000
    assert read(f'{{"t": 1}}\n{deep}\n{{"t": 3}}', tmp_path)[1] == ("nested too deeply", 2)
    assert read(f'[{{"t": 1}},\n{deep},\n{{"t": 3}}]', tmp_path)[-1] == 3
    digits = '{"t": ' + "9" * 10_000 + "}"
    assert read(f'{{"t": 1}}\n{digits}\n{{"t": 3}}', tmp_path)[1] == ("not valid JSON: a number is too long", 2)
    assert read(f'[{{"t": 1}},\n{digits},\n{{"t": 3}}]', tmp_path)[::2] == [1, 3]


def test_a_record_over_the_limit_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_records, "MAX_LINE_BYTES", 3 << 20)
    monkeypatch.setattr(json_records, "_MAX_WASTE", 100 << 20)
    long = '{"t": 2, "x": "' + "x" * (12 << 20) + '"}'
    result = read(f'[{{"t": 1}}, {long}, {{"t": 3}}]', tmp_path)
    assert [result[0], result[-1]] == [1, 3]
    assert result[1][0] == "longer than 3 MiB"


def test_a_line_over_the_limit_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "MAX_LINE_BYTES", 1000)
    result = read('{"t": 1}\n{"t": "' + "x" * 5000 + '"}\n{"t": 3}\n', tmp_path)
    assert [result[0], result[2]] == [1, 3]


def test_a_file_of_unclosed_records_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_records, "_MAX_WASTE", 1 << 20)
    with pytest.raises(InputError, match="too damaged"):
        read("[" + '{"t": [' * 900 + "1," * 100_000, tmp_path)


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
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


def test_the_first_record_of_a_truncated_head() -> None:
    record = {"id": "x", "text": 'quotes " and \\ and {[', "list": [{"a": 1}, {"b": [1, 2]}], "more": "words, words"}
    whole = json.dumps(record).encode()
    for cut in range(2, len(whole)):
        result = json_records.first_record(whole[:cut])
        assert result.keys() <= record.keys()
        assert cut < 12 or result["id"] == "x"
    assert json_records.first_record(whole) == record
