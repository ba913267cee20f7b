"""Annotated documents: the PubTator format, BioC-XML, and files with mistakes."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from citewell.errors import CitewellError
from citewell.progress import Progress
from citewell.train.annotations import AnnotationReader

PUBTATOR = """10|t|Aspirin in heart failure
10|a|We gave aspirin to mice.
10\t0\t7\tAspirin\tChemical\tMESH:D001241
10\t11\t24\theart failure\tDisease\tMESH:D006333|MESH:D000001
10\t45\t49\tmice\tSpecies\t10090
10\t45\t49\tmice\tSpecies\t-
10\tCID\tD001241\tD006333

11|t|A title without annotations

12|t|p53
12|a|
12\t0\t3\tp53\tGene\t7157;22059
"""
BIOC = """<?xml version="1.0"?><!DOCTYPE collection SYSTEM "BioC.dtd">
<collection><document><id>20</id><passage><text>Aspirin</text>
<annotation id="1"><infon key="identifier">MESH:D001241</infon><infon key="type">Chemical</infon>
<location offset="0" length="7"/><text>Aspirin</text></annotation>
<annotation id="2"><infon key="type">Gene</infon><text></text></annotation></passage></document>
<document><id>21</id><passage><annotation id="1"><infon key="identifier">7157</infon><infon key="type">Gene</infon>
<text>p53</text></annotation></passage></document></collection>
"""


class Lines(Progress):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def message(self, line: str) -> None:
        self.lines.append(line)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "annotations.txt"


def test_documents_have_the_concepts_of_their_mentions(path: Path) -> None:
    path.write_text(PUBTATOR)
    reader = AnnotationReader(path)
    first, second, third = reader
    assert first.mentions == [
        ("MESH:D001241", "Aspirin"),
        ("MESH:D006333", "heart failure"),
        ("MESH:D000001", "heart failure"),
        ("Species:10090", "mice"),
    ]
    assert (second.id, second.mentions) == ("11", [])
    assert third.mentions == [("Gene:7157", "p53"), ("Gene:22059", "p53")], "numbers of genes are not numbers of species"
    assert (reader.documents, reader.broken, reader.unlinked) == (3, 0, 1)
    path.write_bytes(gzip.compress(PUBTATOR.replace("\n", "\r\n").encode()))
    assert list(AnnotationReader(path)) == [first, second, third]


def test_broken_lines_are_counted_and_named(path: Path) -> None:
    broken = ["10\tzero\tseven\tAspirin\tChemical\tD1", "99\t0\t7\tAspirin\tChemical\tD1", "nonsense", "10\t7\t0\tx\ty\tD1"]
    path.write_text(PUBTATOR.replace("\n\n11|t", "\n" + "\n".join(broken) + "\n\n11|t"))
    lines = Lines()
    reader = AnnotationReader(path, lines)
    assert len(list(reader)) == 3 and reader.broken == 4
    assert [line.split(": ")[0].removeprefix(f"{path}, ") for line in lines.lines[:4]] == [f"line {at}" for at in range(8, 12)]
    assert "3 documents; 4 problems, 1 mentions without a concept" in lines.lines[-1]
    path.write_text(PUBTATOR + "nonsense\n" * 30)
    many = Lines()
    assert len(list(AnnotationReader(path, many))) == 3
    assert len(many.lines) == 22 and "10 further problems" in many.lines[20]


def test_bioc_is_read_as_far_as_it_is_well_formed(path: Path) -> None:
    path.write_text(BIOC)
    reader = AnnotationReader(path)
    assert [(each.id, each.mentions) for each in reader] == [
        ("20", [("MESH:D001241", "Aspirin")]),
        ("21", [("Gene:7157", "p53")]),
    ]
    assert reader.broken == 1
    path.write_text(BIOC[: BIOC.index("<document><id>21")] + "<document></passage>")
    lines = Lines()
    assert [each.id for each in AnnotationReader(path, lines)] == ["20"]
    assert any("the XML is damaged" in line for line in lines.lines)


def test_a_file_without_documents_is_an_error(path: Path) -> None:
    path.write_text("a,b\n1,2\n")
    with pytest.raises(CitewellError, match="no annotated document"):
        list(AnnotationReader(path))
    path.write_bytes(b"\x1f\x8bnothing")
    with pytest.raises(CitewellError, match="cannot read the annotations"):
        list(AnnotationReader(path))
