"""The base of all XML readers: damaged and hostile files lose as few records as possible."""

import codecs
import gzip
from pathlib import Path

import pytest

from citewell.papers import Paper, Problem
from citewell.sources import Source, xml


def titles(data: bytes, folder: Path, tags: tuple[str, ...] = ("r",)) -> list[str | tuple[str, int | None]]:
    """The text of each record, or (reason, line) of what was not taken."""
    path = folder / "file.xml"
    path.write_bytes(data)
    with Source(path) as source:
        records = xml.papers(source, tags, lambda record: Paper(title=xml.text(record)))
        return [(each.reason, each.line) if isinstance(each, Problem) else each.title for each in records]


def reasons(records: list[str | tuple[str, int | None]]) -> list[str]:
    return [each[0] for each in records if isinstance(each, tuple)]


def test_records_come_in_order_whatever_their_namespace(tmp_path: Path) -> None:
    data = b'<d xmlns="urn:a" xmlns:b="urn:b"><r>one</r><skip/><b:r> two\n <i>and</i>  more </b:r></d>'
    assert titles(data, tmp_path) == ["one", "two and more"]


def test_a_malformed_record_does_not_affect_others(tmp_path: Path) -> None:
    data = b"<d>\n<r>1</r>\n<r>2<b></r>\n<r>3</r>\n<r>4 & 5</r>\n<r>6</r>\n<r x=7>7</r>\n<r>8</r>\n</d>\n"
    records = titles(data, tmp_path)
    assert [each for each in records if isinstance(each, str)] == ["1", "3", "6", "8"]
    assert [each[1] for each in records if isinstance(each, tuple)] == [3, 5, 7]
    assert all("not well-formed" in reason for reason in reasons(records))


def test_parents_and_their_namespaces_survive_a_malformed_record(tmp_path: Path) -> None:
    data = b'<a:d xmlns:a="urn:a" note="&lt;&#233;&quot;"><a:r>1</a:r><a:r><</a:r><a:r>3</a:r></a:d>'
    records = titles(data, tmp_path)
    assert (records[0], records[2]) == ("1", "3")
    assert len(records) == 3


def test_an_unclosed_record_does_not_absorb_the_next(tmp_path: Path) -> None:
    records = titles(b"<d>\n<r>1\n<r>2</r>\n<r>3</r>\n</d>", tmp_path)
    assert [each for each in records if isinstance(each, str)] == ["2", "3"]
    assert len(reasons(records)) == 1


def test_a_truncated_file_gives_its_complete_records(tmp_path: Path) -> None:
    assert titles(b"<d>\n<r>1</r>\n<r>2</r>\n<r>3", tmp_path) == [
        "1",
        "2",
        ("not well-formed XML: Premature end of data in tag r", 4),
    ]


def test_a_truncated_gzip_gives_its_complete_records(tmp_path: Path) -> None:
    numbers = b"".join(b"<r>%d %d</r>" % (number, number * 7919 % 10007) for number in range(60_000))
    records = titles(gzip.compress(b"<d>" + numbers + b"</d>")[:-20_000], tmp_path)
    assert records[0] == "0 0"
    assert len(records) > 10_000
    assert "gzip stream is truncated" in reasons(records)[-1]


def test_concatenated_documents_are_all_read(tmp_path: Path) -> None:
    one = b'<?xml version="1.0"?>\n<!DOCTYPE d>\n<d><r>1</r></d>\n'
    assert titles(one * 3, tmp_path) == ["1", "1", "1"]
    assert titles(b"<r>1</r>\n<r>2</r>\n<r><</r>\n<r>4</r>", tmp_path)[3] == "4"


@pytest.mark.parametrize("declared", ["", ' standalone="yes"'])
def test_character_entities_need_no_dtd(tmp_path: Path, declared: str) -> None:
    data = f'<?xml version="1.0"{declared}?><d><r>M&uuml;ller &amp; <i>&Eacute;t&eacute;</i>&ndash;x</r></d>'.encode()
    assert titles(data, tmp_path) == ["Müller & Été–x"]


def test_an_unknown_entity_is_a_problem(tmp_path: Path) -> None:
    records = titles(b"<d><r>1</r><r>&nosuch;</r><r>3</r></d>", tmp_path)
    assert records == ["1", ("uses the unknown entity &nosuch;", 1), "3"]


def test_an_entity_bomb_is_not_expanded(tmp_path: Path) -> None:
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
    bomb = f'<!DOCTYPE d [<!ENTITY e0 "ha">{entities}]>'
    for record in ("<r>&e11;</r>", '<r a="&e11;">x</r>'):
        records = titles(f"{bomb}<d>{record}<r>after</r></d>".encode(), tmp_path)
        assert reasons(records)
        assert "hahaha" not in str(records)


def test_external_entities_are_never_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("very secret")
    entities = f'<!ENTITY a SYSTEM "{secret.as_uri()}"><!ENTITY % b SYSTEM "{secret.as_uri()}"> %b;'
    records = titles(f'<!DOCTYPE d [{entities}]><d xmlns:i="urn:i"><r>&a;</r><r>2</r></d>'.encode(), tmp_path)
    assert reasons(records)
    assert "very secret" not in str(records)


@pytest.mark.parametrize(
    "inside",
    [b"x" * 12_000_000, b"<x/>" * 3_000_000, b"<!--" + b"x" * 12_000_000, b'<x a="' + b"x" * 12_000_000, b"<x>" * 100_000],
    ids=["text", "elements", "comment", "attribute", "depth"],
)
def test_an_endless_record_is_rejected(tmp_path: Path, inside: bytes) -> None:
    records = titles(b"<d><r>1</r><r>" + inside + b"</r><r>3</r></d>", tmp_path)
    assert records[0] == "1"
    assert records[-1] == "3"
    assert len(records) == 3


def test_null_bytes_and_wrong_encodings_are_problems(tmp_path: Path) -> None:
    assert len(reasons(titles(b"<d><r>1</r><r>\0</r><r>3</r></d>", tmp_path))) == 1
    declared_wrongly = '<?xml version="1.0" encoding="utf-8"?><d><r>é</r><r>3</r></d>'.encode("latin-1")
    assert titles(declared_wrongly, tmp_path)[1:] == ["3"]
    assert reasons(titles(b'<?xml version="1.0" encoding="klingon"?><d><r>1</r></d>', tmp_path))


@pytest.mark.parametrize("data", [b"", b"\n \n", b"not XML at all", b"\0\0\0\0", b"<", b"<d>", bytes(range(256))])
def test_a_file_that_is_not_xml_is_one_problem(tmp_path: Path, data: bytes) -> None:
    records = titles(data, tmp_path)
    assert len(records) == len(reasons(records)) == 1


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1"])
def test_declared_encodings_are_honoured(tmp_path: Path, encoding: str) -> None:
    declared = "utf-8" if encoding == "utf-8-sig" else encoding
    data = f'<?xml version="1.0" encoding="{declared}"?>\n<d><r>é</r></d>'.encode(encoding)
    assert titles(data, tmp_path) == ["é"]
    assert xml.opening(data).root == "d"


def test_lines_are_those_of_the_file(tmp_path: Path) -> None:
    filling = b"<r>%s</r>\n" % (b"x" * 1000)
    records = titles(b"\n\n<d>\n" + filling * 200 + b"<r><</r>\n" + filling * 200 + b"<r>&nosuch;</r>\n</d>", tmp_path)
    assert [each[1] for each in records if isinstance(each, tuple)] == [204, 405]


def test_an_end_tag_may_fall_on_the_edge_of_a_chunk(tmp_path: Path) -> None:
    for length in range(64 * 1024 - 16, 64 * 1024 + 16):
        assert len(titles(b"<d><r>" + b"x" * length + b"</r><r>2</r><r><</r><r>4</r></d>", tmp_path)) == 4


@pytest.mark.parametrize(
    ("head", "root"),
    [
        (b"<dblp>", "dblp"),
        (
            codecs.BOM_UTF8 + b'\n<?xml version="1.0"?><!-- <x> --><?pi <y>?><!DOCTYPE z [<!ENTITY a "<b>">]> <a:root x="',
            "root",
        ),
        (b"<!-- endless", ""),
        (b'{"<dblp>": 1}', ""),
        (b"", ""),
    ],
)
def test_the_root_is_found_after_any_prolog(head: bytes, root: str) -> None:
    assert xml.opening(head).root == root


@pytest.mark.parametrize(
    ("parts", "date"),
    [
        (("2020",), "2020"),
        (("2020", "August"), "2020-08"),
        (("2020", "Jul-Aug", "3"), "2020-07-03"),
        (("2020", "7", "31"), "2020-07-31"),
        (("2020", "Spring"), "2020"),
        (("2020", "13", "40"), "2020"),
        (("", "Aug"), ""),
    ],
)
def test_dates_are_as_exact_as_their_parts(parts: tuple[str, ...], date: str) -> None:
    assert xml.iso_date(*parts) == date
