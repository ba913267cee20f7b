"""Does everything fit together? The store in itself, the index in itself, and the one with the other."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from citewell.errors import CitewellError
from citewell.library import manifest as manifests
from citewell.library.arrays import checksum
from citewell.library.index import Index
from citewell.library.postings import FIELDS
from citewell.library.store import Store

_DANGLING = {
    "citations whose citing paper is missing": "SELECT count(*) FROM citations WHERE citing NOT IN (SELECT num FROM papers)",
    "citations whose cited paper is missing": "SELECT count(*) FROM citations WHERE cited NOT IN (SELECT num FROM papers)",
    "waiting references of missing papers": "SELECT count(*) FROM waiting WHERE citing NOT IN (SELECT num FROM papers)",
    "contexts whose citing paper is missing": "SELECT count(*) FROM contexts WHERE citing NOT IN (SELECT num FROM papers)",
    "context targets whose context is missing": "SELECT count(*) FROM targets WHERE context NOT IN (SELECT num FROM contexts)",
    "context targets whose cited paper is missing": (
        "SELECT count(*) FROM targets WHERE cited IS NOT NULL AND cited NOT IN (SELECT num FROM papers)"
    ),
    "identifiers whose paper is missing": "SELECT count(*) FROM ids WHERE paper NOT IN (SELECT num FROM papers)",
    "sentences whose paper is missing": "SELECT count(*) FROM sentences WHERE paper NOT IN (SELECT num FROM papers)",
}
_EXPECTED = {
    "own": "SELECT num FROM papers",
    "cited": "SELECT DISTINCT cited FROM targets WHERE cited IS NOT NULL",
    "citing": "SELECT DISTINCT citing FROM contexts",
}


@dataclass(slots=True)
class Verdict:
    """What a check found."""

    store: list[str] = field(default_factory=list)
    """Damage to the store itself; only a backup or adding the sources again mends it."""
    index: list[str] = field(default_factory=list)
    """Damage to derived files, which ``citewell library rebuild`` mends."""
    notes: list[str] = field(default_factory=list)
    """True but harmless."""

    @property
    def sound(self) -> bool:
        return not (self.store or self.index)


def check(library: Path) -> Verdict:
    """Verify counts, checksums and both ends of every citation."""
    store = Store.open(library)
    try:
        verdict = Verdict()
        _check_store(store, verdict)
        _check_index(library, store, verdict)
        return verdict
    finally:
        store.close()


def _check_store(store: Store, verdict: Verdict) -> None:
    for (line,) in store.db.execute("PRAGMA quick_check(5)"):
        if line != "ok":
            verdict.store.append(f"SQLite: {line}")
    for what, query in _DANGLING.items():
        if count := int(store.db.execute(query).fetchone()[0]):
            verdict.store.append(f"{count:,} {what}")


def _check_index(library: Path, store: Store, verdict: Verdict) -> None:
    try:
        manifest = manifests.load(library)
    except CitewellError as error:
        verdict.index.append(str(error))
        return
    for entry in manifest.segments:
        path = library / manifests.FOLDER / entry.file
        if path.exists() and path.stat().st_size == entry.bytes and checksum(path) != entry.crc32:
            verdict.index.append(f"{entry.file} does not match its checksum")
    index = Index.open(library)
    verdict.index += index.warnings
    dirty = dict(store.db.execute("SELECT paper, fields FROM dirty"))
    if dirty:
        verdict.notes.append(f"{len(dirty):,} papers are stored but not indexed yet; the next 'citewell add' does it")
    for bit, name in enumerate(FIELDS):
        expected = np.sort(np.fromiter((num for (num,) in store.db.execute(_EXPECTED[name])), np.int64))
        pending = np.array([num for num, fields in dirty.items() if fields >> bit & 1], np.int64)
        listed = np.setdiff1d(index.listed(name), pending)
        expected = np.setdiff1d(expected, pending)
        if missing := len(np.setdiff1d(expected, listed)):
            verdict.index.append(f"{missing:,} papers are missing from the {name} postings")
        if surplus := len(np.setdiff1d(listed, expected)):
            verdict.index.append(f"{surplus:,} papers in the {name} postings are not in the store")
