"""RoBERTa and MPNet as BERT: their weights under BERT's names.

RoBERTa counts positions from behind the number of its padding token and has no segments. MPNet does too, names its attention
differently, and adds to each attention score a bias by the distance of two tokens, which all layers share. Its weights keep a
name of their own, `DISTANCES`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from citewell.errors import CitewellError
from citewell.types import IntArray

POSITIONS = "embeddings.position_embeddings.weight"
SEGMENTS = "embeddings.token_type_embeddings.weight"
DISTANCES = "encoder.relative_attention_bias.weight"
"""A row for each bucket of distances, a column for each head."""
_SUPPORTED = ("bert", "roberta", "mpnet")
_DEFAULTS = {"model_type": "bert", "position_embedding_type": "absolute", "hidden_act": "gelu", "layer_norm_eps": 1e-12}
"""Defaults for a config.json that leaves these out, as old ones do."""
_MPNET = {
    "attention.attn.q": "attention.self.query",
    "attention.attn.k": "attention.self.key",
    "attention.attn.v": "attention.self.value",
    "attention.attn.o": "attention.output.dense",
    "attention.LayerNorm": "attention.output.LayerNorm",
}
_CLASSIFIER = {"classifier.dense": "pooler.dense", "classifier.out_proj": "classifier"}
_OLD = {"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"}
_FARTHEST = 128
"""Tokens further apart than this share a bucket."""

Tensor = TypeVar("Tensor", bound=Any)


def as_bert(
    config: Mapping[str, Any], tensors: Mapping[str, Tensor], place: object
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The configuration and the weights of a model, of numpy or torch, as those of a BERT model; `place` is for errors."""
    config = {**_DEFAULTS, **config}
    kind = config["model_type"]
    wrong = next((name for name in ("position_embedding_type", "hidden_act") if config[name] != _DEFAULTS[name]), "")
    if kind not in _SUPPORTED or wrong:
        detail = f" with {wrong} {config[wrong]}" if wrong else ""
        raise CitewellError(f"{place} has a model of type {kind}{detail}; only BERT, RoBERTa and MPNet can be read")
    renamed = {_renamed(name, kind): value for name, value in tensors.items()}
    if kind != "bert":
        first = int(config.get("pad_token_id", 1)) + 1
        renamed[POSITIONS] = renamed[POSITIONS][first:]
        # Two segments that are the same: a re-ranker learns to tell its two texts apart.
        only = renamed[SEGMENTS][0] if SEGMENTS in renamed else 0
        renamed[SEGMENTS] = renamed[POSITIONS][:2] * 0 + only
        config |= {"type_vocab_size": 2, "max_position_embeddings": len(renamed[POSITIONS])}
    return {**config, "model_type": "bert"}, renamed


def _renamed(name: str, kind: str) -> str:
    name = name.removeprefix(f"{kind}.").removeprefix("bert.")
    parts = {**_OLD, **(_MPNET if kind == "mpnet" else {}), **(_CLASSIFIER if kind != "bert" else {})}
    for theirs, ours in parts.items():
        if theirs in name:
            return name.replace(theirs, ours)
    return name


def distance_buckets(tokens: int, buckets: int) -> IntArray:
    """The bucket of each distance from ``-(tokens - 1)``, a token far ahead, to ``tokens - 1``, one far behind.

    Half of the buckets are for tokens ahead. Near tokens have a bucket of their own; the others share logarithmic ones.
    """
    distances = np.arange(1 - tokens, tokens)
    half = buckets // 2
    exact = half // 2
    size = np.abs(distances)
    # In single precision, as the models were trained: it decides at the edges of the buckets.
    ratio = np.log(np.maximum(size, 1).astype(np.float32) / np.float32(exact)) / np.float32(np.log(_FARTHEST / exact))
    shared = np.minimum(exact + (ratio * np.float32(half - exact)).astype(np.int64), half - 1)
    return np.where(distances < 0, half, 0) + np.where(size < exact, size, shared)
