"""The engines that are compared, each in a process of its own that builds its index and then answers when it is told to.

Every one gets the same papers and the same queries of distinct words, scores all of them with BM25 (k1 1.2, b 0.75), returns
the best 1000, and uses one thread. Parsing queries is not counted for the peers, and is for citewell.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import synthetic

TOP = 1000

Engine = tuple[dict[str, Any], dict[str, Callable[[], object]]]
"""What building showed, and what can be timed: a pass over all queries, by name."""


def citewell(papers: int, queries: list[list[int]], folder: Path) -> Engine:
    from citewell.collection.local import LocalCollection
    from citewell.library import Library
    from citewell.library.index.scoring import load_compiled
    from citewell.papers import Query
    from citewell.ranking.request import Request
    from citewell.retrieve.bm25 import BM25

    source = folder / "papers.jsonl"
    synthetic.write_jsonl(source, papers)
    library = Library(folder / "library")
    wall, cpu = time.perf_counter(), time.process_time()
    library.add([source])
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    # The peaks of the process and of the one that builds segments for it, though they need not coincide.
    peak = sum(resource.getrusage(who).ru_maxrss * 1024 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    source.unlink()
    load_compiled()
    stage = BM25(size=TOP)
    requests = [Request(LocalCollection(library), Query(title=" ".join(map(synthetic.word, query)))) for query in queries]
    best = stage.retrieve(requests[0])
    touched = [_touched(library, request.query.title) for request in requests]
    shown = {
        "index_seconds": cpu,
        "papers_per_second": papers / wall,
        "import_peak_bytes": peak,
        "library_bytes": library.info()["bytes"],
        "touched_bytes": sum(part.nbytes for parts in touched for part in parts) / len(queries),
        "best": [float(best.scores[0]), int(best.papers[0]) - 1],
    }
    return shown, {
        "answer": lambda: [stage.retrieve(request) for request in requests],
        "read": lambda: [np.bitwise_or.reduce(part) for parts in touched for part in parts],
    }


def _touched(library: Any, text: str) -> list[Any]:
    """The postings that a query touches, as they lie in memory; reading them once is the least that an answer can take."""
    from citewell.text.analysis import terms

    hashes = np.array(sorted(terms(text)), np.int64)
    found = []
    for segment in library.index.segments("own"):
        places = segment.look_up(hashes)
        for term in np.flatnonzero(places.counts):
            here = slice(places.starts[term], places.ends[term])
            if places.rows[term] >= 0:
                found.append(segment.postings.dense[places.rows[term]])
            else:
                found += [segment.postings.docs[here], segment.postings.frequencies[here]]
    return [part[: len(part) // 8 * 8].view(np.uint64) for part in found]


def bm25s(papers: int, queries: list[list[int]], folder: Path) -> Engine:
    import bm25s as engine

    names = [synthetic.word(number) for number in range(synthetic.VOCABULARY)]
    numbers = list(range(synthetic.VOCABULARY))
    rows = [[numbers[word] for word in row] for chunk in synthetic.papers(papers) for row in chunk.tolist()]
    start = time.process_time()
    retriever = engine.BM25(method="lucene", k1=1.2, b=0.75, backend="numba")
    retriever.index((rows, {name: number for number, name in enumerate(names)}), show_progress=False)
    shown = {"index_seconds": time.process_time() - start}
    del rows
    tokens = [[names[word] for word in query] for query in queries]
    found = retriever.retrieve(tokens[:1], k=TOP, show_progress=False, n_threads=1)
    best = [float(found.scores[0][0]), int(found.documents[0][0])]
    # Its compiled path takes a batch; that is the fastest way to call it.
    return {**shown, "best": best}, {"answer": lambda: retriever.retrieve(tokens, k=TOP, show_progress=False, n_threads=1)}


def tantivy(papers: int, queries: list[list[int]], folder: Path) -> Engine:
    import tantivy as engine

    names = np.array([synthetic.word(number) for number in range(synthetic.VOCABULARY)], object)
    schema = engine.SchemaBuilder()
    schema.add_text_field("text", stored=False, tokenizer_name="whitespace", index_option="freq")
    schema.add_integer_field("number", stored=True, indexed=False)
    index = engine.Index(schema.build(), path=str(folder))
    writer = index.writer(1_000_000_000, 1)
    start = time.process_time()
    number = 0
    for chunk in synthetic.papers(papers):
        for row in names[chunk].tolist():
            writer.add_document(engine.Document(text=" ".join(row), number=number))
            number += 1
    writer.commit()
    writer.wait_merging_threads()
    shown = {"index_seconds": time.process_time() - start}
    index.reload()
    searcher = index.searcher()
    parsed = [index.parse_query(" ".join(names[query]), ["text"]) for query in queries]
    score, address = searcher.search(parsed[0], 1).hits[0]
    best = [float(score), int(searcher.doc(address)["number"][0])]
    return {**shown, "best": best}, {"answer": lambda: [searcher.search(query, TOP, count=False) for query in parsed]}


ENGINES = {"citewell": citewell, "bm25s (numba)": bm25s, "tantivy": tantivy}


def main() -> None:
    """Build, say what that showed, then time a pass for every line of standard input that names one."""
    name, papers, count, terms = sys.argv[1], *map(int, sys.argv[2:5])
    with tempfile.TemporaryDirectory() as folder:
        shown, passes = ENGINES[name](papers, synthetic.queries(count, terms), Path(folder))
        print(json.dumps(shown), flush=True)
        for line in sys.stdin:
            start = time.process_time()
            passes[line.strip()]()
            print((time.process_time() - start) / count * 1e3, flush=True)


if __name__ == "__main__":
    main()
