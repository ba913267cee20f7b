"""How the benchmarks call citewell, in this checkout and in an older one that they are run against (`--before`).

Modules have moved since; where a name is not at its present place, its former one is tried.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent.parent


def moved(name: str, *modules: str) -> Any:
    """The object called `name` from the first of these modules that exists."""
    for module in modules:
        try:
            return getattr(import_module(module), name)
        except (ImportError, AttributeError):
            continue
    raise ImportError(f"{name} is in none of {', '.join(modules)}")


def command(checkout: Path, module: str, *arguments: str) -> tuple[list[str], dict[str, str]]:
    """The command that runs a benchmark module of this checkout over the package of another, and its environment."""
    python = checkout / ".venv" / "bin" / "python"
    line = [str(python) if python.exists() else sys.executable, "-P", "-c", _RUN, str(HERE), module, *arguments]
    path = [str(checkout), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return line, {**os.environ, "PYTHONPATH": os.pathsep.join(path)}


_RUN = """
import sys, runpy, importlib.util
from pathlib import Path
here, module = sys.argv[1:3]
# The package `benchmarks` is this checkout's, `citewell` is the other's.
place = Path(here) / "benchmarks"
spec = importlib.util.spec_from_file_location("benchmarks", place / "__init__.py", submodule_search_locations=[str(place)])
sys.modules["benchmarks"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sys.modules["benchmarks"])
sys.argv = sys.argv[2:]
runpy.run_module(module, run_name="__main__", alter_sys=True)
"""


def start(checkout: Path, module: str, *arguments: str) -> subprocess.Popen[str]:
    """Run a benchmark module over the package of a checkout, with pipes to talk to it."""
    line, environment = command(checkout, module, *arguments)
    return subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=checkout)


# -- lexical search ---------------------------------------------------------------------------------------------


def load_compiled() -> None:
    """Use the compiled scoring loop from the first query on."""
    moved("load_compiled", "citewell.library.index.scoring", "citewell.retrieve.scoring")()


def bm25_ranker(library: Any, size: int) -> Callable[[Any], Any]:
    """A function that ranks the papers of a library for a query, with nothing remembered between two calls."""
    request = moved("Request", "citewell.ranking.request", "citewell.retrieve.request")
    try:
        collection = moved("LocalCollection", "citewell.collection.local")
    except ImportError:
        former = moved("Bm25", "citewell.retrieve.bm25")(size=size)
        return lambda query: former.rank(request(library, query))
    stage = moved("BM25", "citewell.retrieve.bm25")(size=size)
    return lambda query: stage.retrieve(request(collection(library), query))


def merge_all(library: Any) -> None:
    """Merge the segments of every block into one, as merging in the background does in time."""
    manifests = moved("manifest", "citewell.library.index", "citewell.library")
    postings = moved("postings", "citewell.library.index", "citewell.library")
    write_segment = moved("write_segment", "citewell.library.index.builder", "citewell.library.building")
    map_arrays = moved("map_arrays", "citewell.arrays", "citewell.library.arrays")
    folder = library.folder / manifests.FOLDER
    manifest = manifests.load(library.folder)
    stacks: dict[tuple[str, int], list[Any]] = {}
    for entry in manifest.segments:
        stacks.setdefault((entry.field, entry.block), []).append(entry)
    segments = []
    for (name, block), stack in stacks.items():
        if len(stack) == 1 or name not in postings.INDEXED:
            segments += stack
            continue
        parts = [postings.Postings(**map_arrays(folder / entry.file, entry.bytes)) for entry in stack]
        merged = postings.merge(parts, keep_gone=False)
        about = [{language for entry in stack for language in entry.languages}] if hasattr(stack[0], "languages") else []
        segments += [write_segment(folder, name, block, merged, *about)] if merged is not None else []
    manifests.commit(library.folder, manifests.Manifest(generation=manifest.generation + 1, segments=segments))
    library.reload()


def touched(library: Any, text: str) -> list[Any]:
    """The postings that a query reads, as they lie in memory; reading them once is the least that an answer can take."""
    from citewell.text.analysis import terms

    hashes = np.array(sorted(terms(text)), np.int64)
    parts = []
    for segment in library.index.segments("own"):
        places = segment.look_up(hashes)
        for term in np.flatnonzero(places.counts):
            here = slice(places.starts[term], places.ends[term])
            if places.rows[term] >= 0:
                parts.append(segment.postings.dense[places.rows[term]])
            else:
                parts += [segment.postings.docs[here], segment.postings.frequencies[here]]
    return [part[: len(part) // 8 * 8].view(np.uint64) for part in parts]


# -- pipelines, vectors, citations ---------------------------------------------------------------------------------


def pipeline(name: str) -> Any:
    """The pipeline called `name`."""
    return moved("pipeline", "citewell.pipeline.registry", "citewell.pipeline.pipeline", "citewell.pipeline")(name)


def searcher(chosen: Any) -> Callable[[Any, Any], Any]:
    """A function that answers a query with papers and two sentences of each."""
    former = getattr(chosen, "search", None)
    return former if former is not None else lambda library, query: chosen.suggest(library, query, 10, 2)


def vector_search(codes: Any, scales: Any) -> Any:
    """Vectors in memory, opened for search as a library's are."""
    vectors = moved("Vectors", "citewell.library.vectors.store", "citewell.library.vectors")
    opened = vector_search_class()
    count = len(codes)
    rows = vectors(np.arange(count, dtype=np.int32), np.ones(count, np.int64), codes, scales)
    return opened([(rows, np.ones(count, bool))])


def vector_search_class() -> Any:
    """The class that answers which vectors are nearest."""
    try:
        return moved("VectorSearch", "citewell.library.vectors.search")
    except ImportError:
        return moved("Near", "citewell.library.vectors.search", "citewell.retrieve.scanning")


def vector_store(folder: Path, encoder: str, text: str) -> Any:
    """The stored vectors of one encoder and text."""
    try:
        return moved("VectorStore", "citewell.library.vectors.store")(folder, encoder, text)
    except ImportError:
        return moved("Shelf", "citewell.library.vectors.store", "citewell.library.vectors")(folder, encoder, text)


def quantised(vectors: Any) -> Any:
    """Vectors as int8, and their scales."""
    return moved("quantised", "citewell.library.vectors.store", "citewell.library.vectors")(vectors)


def load_compiled_products() -> None:
    """Use the compiled scan of vectors from the first query on."""
    moved("load_compiled", "citewell.library.vectors.search", "citewell.retrieve.scanning")()
