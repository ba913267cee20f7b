"""The engines under comparison, each in its own process: it builds its index, then runs the passes that are requested.

Every engine gets the same papers and the same queries of distinct words, scores with BM25 (k1 1.2, b 0.75), returns the best
1000, and uses one thread. Parsing the query counts for citewell and not for the others. citewell answers every query of every
pass from a new request, so nothing that it remembers of a query is used again; `tests/benchmarks` checks this.
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

from benchmarks import checkouts, synthetic

TOP = 1000

Engine = tuple[dict[str, Any], dict[str, Callable[[], object]]]
"""What the build showed, and what can be run by name: passes over all queries, and changes of the index."""


def citewell(papers: int, queries: list[list[int]], folder: Path) -> Engine:
    from citewell.library import Library
    from citewell.papers import Query

    source = folder / "papers.jsonl"
    synthetic.write_jsonl(source, papers)
    library = Library(folder / "library")
    wall, cpu = time.perf_counter(), time.process_time()
    library.add([source])
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    # The peaks of this process and of the one that builds segments for it; they need not coincide.
    peak = sum(resource.getrusage(who).ru_maxrss * 1024 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    source.unlink()
    checkouts.merge_all(library)
    checkouts.load_compiled()
    titles = [" ".join(map(synthetic.word, query)) for query in queries]
    rank = checkouts.bm25_ranker(library, TOP)
    ranking = rank(Query(title=titles[0]))
    shown = {
        "index_seconds": cpu,
        "papers_per_second": papers / wall,
        "import_peak_bytes": peak,
        "library_bytes": library.info()["bytes"],
        "touched_bytes": sum(part.nbytes for title in titles for part in checkouts.touched(library, title)) / len(titles),
        "best": [float(ranking.scores[0]), int(ranking.papers[0]) - 1],
    }
    library.reload()
    parts = [part for title in titles for part in checkouts.touched(library, title)]

    def update() -> None:
        """Add new versions of one paper in a hundred, so that a segment of every block is partly replaced."""
        nonlocal parts
        synthetic.write_updates(source, papers)
        library.add([source])
        source.unlink()
        library.reload()
        parts = [part for title in titles for part in checkouts.touched(library, title)]
        library.reload()

    library.reload()
    return shown, {
        "answer": lambda: [rank(Query(title=title)) for title in titles],
        "read": lambda: [np.bitwise_or.reduce(part) for part in parts],
        "update": update,
    }


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
    first = retriever.retrieve(tokens[:1], k=TOP, show_progress=False, n_threads=1)
    best = [float(first.scores[0][0]), int(first.documents[0][0])]
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
    """Build, print what that showed, then run what each line of standard input names and print its CPU milliseconds a query."""
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
