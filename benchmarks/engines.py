"""The engines that are compared, each run in a process of its own: build an index, answer the queries, print JSON.

Every one gets the same papers and the same queries of distinct words, scores all of them with BM25 (k1 1.2, b 0.75), returns
the best 1000, and uses one thread. Time is CPU time of the second pass over the queries; parsing queries is not counted for the
peers, and is for citewell.
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


def _timed(search: Callable[[int], object], count: int) -> float:
    """CPU milliseconds a query, the best of two passes after one to warm up."""
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        for query in range(count):
            search(query)
        best = min(best, (time.process_time() - start) / count * 1e3)
    return best


def citewell(papers: int, queries: list[list[int]]) -> dict[str, Any]:
    from citewell.library import Library
    from citewell.papers import Query
    from citewell.retrieve.bm25 import Bm25
    from citewell.retrieve.request import Request
    from citewell.retrieve.scoring import load_compiled

    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "papers.jsonl"
        synthetic.write_jsonl(source, papers)
        library = Library(Path(folder) / "library")
        wall, cpu = time.perf_counter(), time.process_time()
        library.add([source])
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        # The peaks of the process and of the one that builds segments for it, though they need not coincide.
        peak = sum(resource.getrusage(who).ru_maxrss * 1024 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        size = library.info()["bytes"]
        source.unlink()
        load_compiled()
        stage = Bm25(size=TOP)
        texts = [" ".join(map(synthetic.word, query)) for query in queries]
        milliseconds = _timed(lambda query: stage.rank(Request(library, Query(title=texts[query]))), len(queries))
        touched, floor = _floor(library, texts)
        best = stage.rank(Request(library, Query(title=texts[0])))
    return {
        "milliseconds": milliseconds,
        "index_seconds": cpu,
        "papers_per_second": papers / wall,
        "import_peak_bytes": peak,
        "library_bytes": size,
        "touched_bytes": touched,
        "floor_milliseconds": floor,
        "best": [float(best.scores[0]), int(best.papers[0]) - 1],
    }


def _floor(library: Any, texts: list[str]) -> tuple[float, float]:
    """The bytes of postings that a query touches, and the CPU milliseconds to read them once and do nothing else."""
    from citewell.text.analysis import terms

    touched = 0
    slices = []
    for text in texts:
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
        slices.append([part[: len(part) // 8 * 8].view(np.uint64) for part in found])
        touched += sum(part.nbytes for part in found)
    read = _timed(lambda query: [np.bitwise_or.reduce(part) for part in slices[query]], len(texts))
    return touched / len(texts), read


def bm25s(papers: int, queries: list[list[int]]) -> dict[str, Any]:
    import bm25s as engine

    names = [synthetic.word(number) for number in range(synthetic.VOCABULARY)]
    numbers = list(range(synthetic.VOCABULARY))
    rows = [[numbers[word] for word in row] for chunk in synthetic.papers(papers) for row in chunk.tolist()]
    start = time.process_time()
    retriever = engine.BM25(method="lucene", k1=1.2, b=0.75, backend="numba")
    retriever.index((rows, {name: number for number, name in enumerate(names)}), show_progress=False)
    built = time.process_time() - start
    del rows
    tokens = [[names[word] for word in query] for query in queries]
    found = retriever.retrieve(tokens[:1], k=TOP, show_progress=False, n_threads=1)
    best = float("inf")
    # Its compiled path takes a batch; that is the fastest way to call it.
    for _ in range(3):
        start = time.process_time()
        retriever.retrieve(tokens, k=TOP, show_progress=False, n_threads=1)
        best = min(best, (time.process_time() - start) / len(tokens) * 1e3)
    return {"milliseconds": best, "index_seconds": built, "best": [float(found.scores[0][0]), int(found.documents[0][0])]}


def tantivy(papers: int, queries: list[list[int]]) -> dict[str, Any]:
    import tantivy as engine

    names = np.array([synthetic.word(number) for number in range(synthetic.VOCABULARY)], object)
    schema = engine.SchemaBuilder()
    schema.add_text_field("text", stored=False, tokenizer_name="whitespace", index_option="freq")
    schema.add_integer_field("number", stored=True, indexed=False)
    with tempfile.TemporaryDirectory() as folder:
        index = engine.Index(schema.build(), path=folder)
        writer = index.writer(1_000_000_000, 1)
        start = time.process_time()
        number = 0
        for chunk in synthetic.papers(papers):
            for row in names[chunk].tolist():
                writer.add_document(engine.Document(text=" ".join(row), number=number))
                number += 1
        writer.commit()
        writer.wait_merging_threads()
        built = time.process_time() - start
        index.reload()
        searcher = index.searcher()
        parsed = [index.parse_query(" ".join(names[query]), ["text"]) for query in queries]
        milliseconds = _timed(lambda query: searcher.search(parsed[query], TOP, count=False), len(queries))
        score, address = searcher.search(parsed[0], 1).hits[0]
        best = [float(score), int(searcher.doc(address)["number"][0])]
    return {"milliseconds": milliseconds, "index_seconds": built, "best": best}


ENGINES = {"citewell": citewell, "bm25s (numba)": bm25s, "tantivy": tantivy}


if __name__ == "__main__":
    name, papers, query_count, terms = sys.argv[1], *map(int, sys.argv[2:5])
    print(json.dumps(ENGINES[name](papers, synthetic.queries(query_count, terms))))
