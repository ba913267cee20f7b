"""RIS as Zotero, EndNote, Mendeley and publishers write it, and the MEDLINE tags of PubMed's and ERIC's own exports.

There is one tag per line. A record ends with ``ER``, or if that is missing, where the next one begins; a line without a tag
continues the previous one. Tags with the same meaning in different programs are listed together, the preferred one first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from citewell.identifiers import canonical, recognise
from citewell.papers import Name, Paper, Problem, Remainder, Verbatim
from citewell.sources import clean
from citewell.sources.clean import date, day, one_per_scheme, pubmed_title, text, unique, untagged, year
from citewell.sources.first_line import kind
from citewell.sources.plain_text import beginning, exact_lines
from citewell.sources.source import Source
from citewell.text.names import literal
from citewell.text.ris_names import read_name, write_name

NAME = "RIS"
PRIORITY = 30

_MAX_RECORD = 16 * 1024 * 1024
_TAG = re.compile(r"([A-Z][A-Z0-9]{1,4})( {0,3})- ?(.*)", re.DOTALL)
_TAG_WIDTH = 4
_BEGINNING = re.compile(r"^(?:TY {1,3}- ?[A-Z]|PMID- ?\d+\s*$|OWN {0,2}- ?ERIC\s*$)", re.MULTILINE)
_OTHER_FORMAT = re.compile(r"\A\s*[{\[<]|^[ \t]*@\w+\s*[{(]", re.MULTILINE)

_MEDLINE = {
    "FAU": "AU",
    "AU": "short AU",
    "FED": "A2",
    "ED": "short A2",
    "DEP": "DA",
    "OAB": "N2",
    "ISBN": "BN",
    "DP": "Y1",
    "JT": "JF",
    "TA": "JA",
    "VI": "VL",
    "IP": "IS",
    "PG": "SP",
    "IS": "SN",
    "MH": "KW",
    "OT": "KW",
    "PT": "TY",
    "LA": "LA",
    "PL": "CY",
    "BTI": "T2",
    "CN": "AU",
    "ISSN": "SN",
}
"""The RIS tag for each MEDLINE tag; others have the same meaning in both formats or are not used. ``short`` tags are names with
initials, which are dropped where full names are given."""
_MEDLINE_DAY = re.compile(r"(\d{4})(\d\d)(\d\d)", re.ASCII)

_TITLE = ("TI", "T1", "CT", "BT")
_AUTHOR = ("AU", "A1")
_VENUE = ("JF", "T2", "JO", "JA", "J1", "J2", "BT", "PB")
_YEAR = ("PY", "Y1", "DA")
_ABSTRACT = ("AB", "N2")
_LINKS = ("UR", "L1", "L2", "LK", "L3", "L4")
_OWN_ID = "citewell-id:"
_PUBMED = re.compile(r"pubmed|medline|\bnlm\b", re.IGNORECASE)
_PMID_OF = {"C2": re.compile(r"scopus", re.IGNORECASE), "C5": re.compile(r"embase", re.IGNORECASE)}
"""Tags that have a PubMed id in the exports of some databases."""
_MARKED_PMID = re.compile(r"(\d+)\[pmid\]")
_ACCESSION = re.compile(r"(WOS):(\w+)", re.IGNORECASE)
_NUMBER_KIND = re.compile(r"\s*\((ISSN|ISBN)\)")
_DIGIT = re.compile(r"\d|(?<=\d)[xX]\b", re.ASCII)
_PAGES = re.compile(r"pp?\.?\s*(?=\d)")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WITH_ISBN = frozenset(("BOOK", "CHAP", "EBOOK", "ECHAP", "EDBOOK"))
_EXTRA = {
    "VL": "volume",
    "IS": "issue",
    "SN": "issn",
    "PB": "publisher",
    "CY": "address",
    "ET": "edition",
    "LA": "language",
    "T3": "series",
    "DB": "database",
    "DP": "database-provider",
    "N1": "note",
    "C7": "article-number",
    "ID": "citekey",
    "TY": "type",
    "ST": "shorttitle",
    "AN": "accession-number",
}
_TAKEN = {*_TITLE, *_AUTHOR, *_VENUE, *_YEAR, *_ABSTRACT, *_LINKS, "SP", "EP", "KW", "DO", "PMID", "PMC"}
_PEOPLE = {"A2": "editor", "ED": "editor", "A3": "collection-editor", "A4": "translator"}
_NAMES = frozenset((*_AUTHOR, *_PEOPLE, "U1"))
"""Tags whose values may be names, in which no-break spaces have a meaning."""
_FURTHER_TAG = re.compile(r"[a-z][a-z0-9]")
_OWN_PERSON = "citewell-person:"
_OWN_FIELD = "citewell-field:"
_SPACES = re.compile(r"[ \t\r\n]+")


@dataclass(slots=True)
class _Record:
    """The values of each tag, in file order; each value is a list of lines."""

    line: int
    medline: bool = False
    own_first: bool = False
    """Whether the record begins with the name of its database, as those of ERIC do, and not with its number in PubMed."""
    loose: bool = False
    """Whether the tags of the record are followed by one space instead of two."""
    values: dict[str, list[list[str]]] = field(default_factory=dict)
    last: list[str] = field(default_factory=list)
    last_tag: str = ""
    size: int = 0
    raw: list[str] = field(default_factory=list)
    """The lines of the record as the file has them."""
    lead: str = ""
    """What the file has before the record and after the one before."""

    def accepts(self, tag: str, spaces: str) -> bool:
        """Whether something that looks like a tag is one, and not the beginning of a line such as ``DNA - we show``."""
        if self.medline:
            return len(tag) + len(spaces) == _TAG_WIDTH or (len(tag) >= _TAG_WIDTH and len(spaces) < 2)
        return len(spaces) == 2 or (self.loose and len(tag) == 2 and len(spaces) == 1)

    def add(self, tag: str, value: str) -> None:
        if self.medline and tag == "CN":
            value = write_name(literal(value))
        if self.medline and tag == "MH":  # a heading with qualifiers: "Boats/*history"
            value = value.partition("/")[0].strip("* ")
        tag = _MEDLINE.get(tag, tag) if self.medline else tag
        self.last, self.last_tag = [value], tag
        self.values.setdefault(tag, []).append(self.last)

    def continue_value(self, line: str) -> None:
        """Add a line without a tag; EndNote writes one keyword on each."""
        if self.last_tag == "KW":
            self.values["KW"].append([line])
        else:
            self.last.append(line)

    def cleaned(self) -> _Texts:
        joined = {
            tag: [(_name_line if tag in _NAMES else text)(value[0] if len(value) == 1 else " ".join(value)) for value in values]
            for tag, values in self.values.items()
        }
        return _Texts({tag: filled for tag, values in joined.items() if (filled := [each for each in values if each])})


def _name_line(value: str) -> str:
    """A value on one line, with its no-break spaces."""
    return _SPACES.sub(" ", clean.lines(value)).strip(" ")


class _Texts(dict[str, list[str]]):
    """The values of a record by tag, none of them empty."""

    def all(self, *tags: str) -> list[str]:
        """The values under all of `tags`."""
        return [value for tag in tags for value in self.get(tag, ())]

    def first(self, *tags: str) -> str:
        """The first value under the first of `tags` that has one."""
        return next((self[tag][0] for tag in tags if tag in self), "")


def matches(head: bytes) -> bool:
    start = beginning(head)
    first_tag = _BEGINNING.search(start)
    if first_tag is None or _OTHER_FORMAT.search(start, 0, first_tag.start()):
        return False
    return kind(head) is None


def read(source: Source) -> Iterator[Paper | Problem | Remainder]:
    passed_over = ""
    for position, record in enumerate(_records(source)):
        if isinstance(record, Problem):
            yield record
            continue
        if isinstance(record, Remainder):
            yield Remainder(passed_over + record.text)
            continue
        whole = "".join(record.raw)
        written = whole.rstrip("\r\n")
        paper = _paper(record.cleaned(), record.medline)
        lead = passed_over + record.lead
        if paper.title or paper.ids:
            if not record.medline:
                paper.verbatim = Verbatim(written, lead, position)
            passed_over = whole[len(written) :]
            yield paper
        else:
            passed_over = lead + whole
            yield Problem("a record with neither a title nor an identifier", record.line, damaged=False)


def _records(source: Source) -> Iterator[_Record | Problem | Remainder]:
    """The records of a file, including those without an end tag, and what follows the last one."""
    record: _Record | None = None
    reported = False
    between: list[str] = []
    for number, raw in exact_lines(source):
        line = raw.rstrip("\r\n")
        tagged = _TAG.match(line)
        tag, spaces, value = tagged.groups() if tagged else ("", "", "")
        pubmed = tag == "PMID" and not spaces and value.strip().isdigit()
        eric = tag == "OWN" and len(spaces) < 2 and (record is None or record.own_first)
        if (tag == "TY" and spaces and not (record and record.medline)) or pubmed or eric:
            if record:
                yield record
            record = _Record(number, medline=pubmed or eric, own_first=eric, loose=len(spaces) == 1, lead="".join(between))
            between, reported = [], False
        if record is None:
            between.append(raw)
            # Ovid writes other tags between its records.
            if tag in (*_TITLE, *_AUTHOR) and len(spaces) == 2 and not reported:
                yield Problem(f"{tag} is outside of any record: a line with TY is missing", number)
                reported = True
            continue
        is_tag = record.accepts(tag, spaces)
        record.size += len(line) + 1
        record.raw.append(raw)
        if is_tag and tag == "ER":
            yield record
            record = None
        elif record.size > _MAX_RECORD:
            yield Problem(f"a record is longer than {_MAX_RECORD >> 20} MiB", record.line)
            between, record = [record.lead, *record.raw], None
        elif is_tag:
            record.add(tag, value)
        elif record.last and (rest := line.strip()):
            record.continue_value(rest)
    if record:
        yield record
    yield Remainder("".join(between))


def _paper(record: _Texts, medline: bool) -> Paper:
    if medline:
        _normalise_medline(record)
    title_tag = next((tag for tag in _TITLE if record.first(tag)), "")
    published = _date(record)
    venue = record.first(*(tag for tag in _VENUE if tag != title_tag))
    return Paper(
        title=_title(untagged(record.first(title_tag) if title_tag else record.first("T2")), medline),
        abstract=untagged(record.first(*_ABSTRACT)),
        authors=_names(record.all(*_AUTHOR)),
        year=year(published) or year(record.first(*_YEAR)),
        date=published if len(published) > 4 else "",
        venue=venue if title_tag else "",
        ids=_ids(record, medline),
        keywords=unique(part.strip() for each in record.all("KW", "DE") for part in each.split(";")),
        extra=_extra(record, venue, medline),
        people=_people(record),
    )


def is_further_tag(name: str) -> bool:
    """Whether a further field of a paper has the name of a tag that this reader only keeps."""
    return bool(_FURTHER_TAG.fullmatch(name)) and name.upper() not in {*_TAKEN, *_EXTRA, *_PEOPLE, "ER"}


def _title(title: str, medline: bool) -> str:
    return pubmed_title(title) if medline else title


def _names(values: list[str]) -> list[Name]:
    return [name for each in values if any(name := read_name(each))]


def _people(record: _Texts) -> dict[str, list[Name]]:
    """Everybody but the authors, by role; RIS has no tags for some roles."""
    people: dict[str, list[Name]] = {}
    for tag, role in _PEOPLE.items():
        people[role] = people.get(role, []) + _names(record.all(tag))
    for value in record.all("U1"):
        if value.startswith(_OWN_PERSON):
            role, _, name = value.removeprefix(_OWN_PERSON).strip().partition(": ")
            people[text(role)] = people.get(text(role), []) + _names([name])
    return {role: names for role, names in people.items() if role and names}


def _normalise_medline(record: _Texts) -> None:
    """Use the short forms of names only where there are no full ones, and find the identifiers whose kind is in brackets."""
    for tag in ("AU", "A2"):
        full = record.get(tag, [])
        if not any("," in value for value in full) and (short := record.get(f"short {tag}")):
            record[tag] = [*map(_inverted, short), *full]
    published = _MEDLINE_DAY.fullmatch(record.first("DA"))
    if published and "Y1" not in record:
        record["DA"] = ["-".join(published.groups())]
    else:
        record.pop("DA", None)
    for value in record.all("LID", "AID"):
        if value.endswith("[doi]"):
            record.setdefault("DO", []).append(value.removesuffix("[doi]"))


def _inverted(short: str) -> str:
    """``Berg A`` as ``Berg, A``."""
    family, _, initials = short.rpartition(" ")
    return f"{family}, {initials}" if family and initials.isupper() and "," not in family else short


def _date(record: _Texts) -> str:
    """The most exact of the dates that agree: ``2020``, ``2020/05/17/`` or MEDLINE's ``2020 May 17``."""
    dates = []
    for value in record.all(*_YEAR):
        words = value.split()
        if len(words) > 1 and words[1][:3].lower() in _MONTHS:
            dates.append(day(words[0], _MONTHS.index(words[1][:3].lower()) + 1, *words[2:3]))
        else:
            dates.append(date(value))
    known = [each for each in dates if each]
    return max((each for each in known if each[:4] == known[0][:4]), key=len, default="")


def _ids(record: _Texts, medline: bool) -> list[str]:
    ids = [each for value in record.all("DO", "DI", "M3") if (each := canonical("doi", value))][:1]
    accession = record.first("AN").upper()
    if accession.startswith("PMID") or _PUBMED.search(record.first("DB") + record.first("DP")):
        accession = accession.removeprefix("PMID").lstrip(": ")
        ids.append(canonical("pmid", accession) or "")
    ids += [canonical("pmid", each) or "" for each in record.all("PMID")]
    ids += [
        canonical("pmid", each) or ""
        for tag, database in _PMID_OF.items()
        if database.search(record.first("DB"))
        for each in record.all(tag)
    ]
    ids += [canonical("pmid", marked[1]) or "" for each in record.all("U1") if (marked := _MARKED_PMID.fullmatch(each))]
    ids += [canonical("pmcid", each) or "" for each in record.all("PMC", "C2") if each.upper().startswith("PMC")]
    ids += [recognise(part) or "" for each in record.all(*_LINKS, "LID", "AID") for part in each.split()]
    ids += [f"wos:{known[2].upper()}" for each in record.all("AN") if (known := _ACCESSION.fullmatch(each))]
    ids += [f"eric:{each}" for each in record.all("OID")] if medline else []
    ids = one_per_scheme(ids)
    own = (each.removeprefix(_OWN_ID).strip() for each in map(text, record.all("U1")) if each.startswith(_OWN_ID))
    return unique([*ids, *(recognise(each) or each for each in own)])


def _numbers(listed: str, of_type: str) -> dict[str, str]:
    """The ISBNs and the ISSNs in ``SN``, by the number of their digits, else by the type of the record."""
    numbers: dict[str, list[str]] = {}
    for each in listed.split("; "):
        known = _NUMBER_KIND.search(each)
        digits = len(_DIGIT.findall(each))
        by_length = {8: "issn", 10: "isbn", 13: "isbn"}.get(digits, "isbn" if of_type in _WITH_ISBN else "issn")
        numbers.setdefault(known[1].lower() if known else by_length, []).append(
            _NUMBER_KIND.sub("", each.removeprefix("ISSN-"))
        )
    return {name: "; ".join(values) for name, values in numbers.items()}


def _extra(record: _Texts, venue: str, medline: bool) -> dict[str, str]:
    extra = {name: "; ".join(unique(record[tag])) for tag, name in _EXTRA.items() if tag in record}
    first, last = record.first("SP"), record.first("EP")
    if (first, last) == ("No", "Specified"):  # Ovid's "No Pagination Specified"
        first = last = ""
    extra["pages"] = _PAGES.sub("", f"{first}-{last}" if first and last and "-" not in first else first or last)
    extra["shortjournal"] = next((each for each in record.all("JO", "JA", "J1", "J2", "T2") if each != venue), "")
    extra["url"] = record.first(*_LINKS)
    if medline:
        extra["isbn"] = record.first("BN")
    extra |= _numbers(extra.pop("issn", ""), extra.get("type", ""))
    for tag in record.keys() - _TAKEN - _EXTRA.keys() - _PEOPLE.keys() if not medline else ():
        values = [each for each in record.all(tag) if not each.startswith((_OWN_ID, _OWN_PERSON, _OWN_FIELD))]
        extra[tag.lower()] = "; ".join(unique(map(text, values)))
    for value in record.all("U1"):
        if value.startswith(_OWN_FIELD):
            name, _, content = value.removeprefix(_OWN_FIELD).strip().partition(": ")
            extra[text(name)] = text(content)
    return {name: value for name, value in extra.items() if name and value}
