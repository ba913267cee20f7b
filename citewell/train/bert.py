"""BERT in torch. Parameters have Hugging Face's names and shapes, so that weight files are compatible.

RoBERTa and MPNet are read as BERT (`citewell.models.layouts`); MPNet's bias by distance is a part of the attention mask.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from citewell.models.layouts import as_bert, distance_buckets

WEIGHTS, CONFIG = "model.safetensors", "config.json"
_FURTHER = 8
"""Further dimensions of queries and keys where padding is one: kernels want a multiple of eight."""
_FAR = -1e4


class _Attention(nn.Module):
    def __init__(self, size: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.self = nn.ModuleDict({name: nn.Linear(size, size) for name in ("query", "key", "value")})
        self._heads, self._dropout = heads, dropout

    def forward(self, hidden: Tensor, mask: Tensor, bias: Tensor | None = None) -> Tensor:
        texts, tokens, size = hidden.shape
        query, key, value = (
            self.self[name](hidden).view(texts, tokens, self._heads, -1).transpose(1, 2) for name in ("query", "key", "value")
        )
        scale = query.shape[3] ** -0.5
        if bias is not None:
            # One bias serves all texts; with each padding in it, it would be as large as all attention scores. Padding is a
            # further dimension instead, in which its keys are far from every query.
            padding = torch.where(mask[:, :, 0, :, None], 0.0, _FAR).to(key.dtype).expand(-1, self._heads, -1, -1)
            query = functional.pad(functional.pad(query, (0, 1), value=1.0), (0, _FURTHER - 1))
            key = functional.pad(torch.cat([key, padding], dim=3), (0, _FURTHER - 1))
        seen = mask if bias is None else bias.to(query.dtype).expand(texts, -1, -1, -1)
        dropout = self._dropout if self.training else 0.0
        output = functional.scaled_dot_product_attention(query, key, value, attn_mask=seen, dropout_p=dropout, scale=scale)
        return output.transpose(1, 2).reshape(texts, tokens, size)


class _Skip(nn.Module):
    """A dense layer, its input added, and the sum normalised."""

    def __init__(self, inner: int, size: int, eps: float, dropout: float) -> None:
        super().__init__()
        self.dense = nn.Linear(inner, size)
        self.LayerNorm = nn.LayerNorm(size, eps)
        self._dropout = nn.Dropout(dropout)

    def forward(self, hidden: Tensor, skip: Tensor) -> Tensor:
        normed: Tensor = self.LayerNorm(self._dropout(self.dense(hidden)) + skip)
        return normed


class _Layer(nn.Module):
    def __init__(self, config: dict[str, Any], dropout: float) -> None:
        super().__init__()
        size, inner, eps = config["hidden_size"], config["intermediate_size"], config["layer_norm_eps"]
        self.attention = _Attention(size, config["num_attention_heads"], dropout)
        self.attention.output = _Skip(size, size, eps, dropout)
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(size, inner)})
        self.output = _Skip(inner, size, eps, dropout)

    def forward(self, hidden: Tensor, mask: Tensor, bias: Tensor | None = None) -> Tensor:
        hidden = self.attention.output(self.attention(hidden, mask, bias), hidden)
        wide = functional.gelu(self.intermediate["dense"](hidden))
        output: Tensor = self.output(wide, hidden)
        return output


class Bert(nn.Module):
    """Token ids to token vectors."""

    def __init__(self, config: dict[str, Any], dropout: float = 0.1) -> None:
        super().__init__()
        self.config = config
        size = config["hidden_size"]
        self.embeddings = nn.ModuleDict(
            {
                "word_embeddings": nn.Embedding(config["vocab_size"], size),
                "position_embeddings": nn.Embedding(config["max_position_embeddings"], size),
                "token_type_embeddings": nn.Embedding(config["type_vocab_size"], size),
                "LayerNorm": nn.LayerNorm(size, config["layer_norm_eps"]),
            }
        )
        self._dropout = nn.Dropout(dropout)
        layers = nn.ModuleList(_Layer(config, dropout) for _ in range(config["num_hidden_layers"]))
        self.encoder = nn.ModuleDict({"layer": layers})
        if buckets := config.get("relative_attention_num_buckets"):
            self.encoder["relative_attention_bias"] = nn.Embedding(buckets, config["num_attention_heads"])

    @property
    def layers(self) -> nn.ModuleList:
        layers = self.encoder["layer"]
        assert isinstance(layers, nn.ModuleList)
        return layers

    def forward(self, ids: Tensor, mask: Tensor, kinds: Tensor | None = None, places: Tensor | None = None) -> Tensor:
        places = torch.arange(ids.shape[1], device=ids.device) if places is None else places
        words = self.embeddings["word_embeddings"](ids) + self.embeddings["position_embeddings"](places)
        kinds = torch.zeros_like(ids) if kinds is None else kinds
        hidden = self._dropout(self.embeddings["LayerNorm"](words + self.embeddings["token_type_embeddings"](kinds)))
        bias = self._score_bias(ids.shape[1]) if "relative_attention_bias" in self.encoder else None
        for layer in self.layers:
            hidden = layer(hidden, mask[:, None, None, :], bias)
        return hidden

    @torch.no_grad()
    def _score_bias(self, tokens: int) -> Tensor:
        """What MPNet adds to the attention scores, by the distance of two tokens: heads, from, to.

        It stays as it was pretrained: its gradient would be as large as all attention scores.
        """
        table = self.encoder["relative_attention_bias"].weight
        buckets = torch.from_numpy(distance_buckets(tokens, len(table))).to(table.device)
        places = torch.arange(tokens, device=table.device)
        return table[buckets[places[:, None] - places + tokens - 1]].permute(2, 0, 1).contiguous()


def mean_vector(hidden: Tensor, mask: Tensor) -> Tensor:
    """The mean token vector of each text, at length 1."""
    weights = mask.to(hidden.dtype)[:, :, None]
    mean = (hidden * weights).sum(1).float() / weights.sum(1).float().clamp(min=1)
    return functional.normalize(mean, dim=1)


def first_vector(hidden: Tensor, mask: Tensor) -> Tensor:
    """The vector of the first token of each text, at length 1."""
    return functional.normalize(hidden[:, 0].float(), dim=1)


def read_bert(folder: Path, dropout: float = 0.1) -> Bert:
    """Load the weights in a folder in Hugging Face's layout."""
    from safetensors.torch import load_file

    stored = {name: value.float() for name, value in load_file(folder / WEIGHTS).items()}
    config, weights = as_bert(json.loads((folder / CONFIG).read_text("utf-8")), stored, folder)
    bert = Bert(config, dropout)
    missing, _ = bert.load_state_dict(weights, strict=False)
    if missing:
        raise ValueError(f"{folder} lacks the weights {', '.join(missing[:3])}")
    return bert


def write_bert(bert: Bert, folder: Path, extra: dict[str, Tensor] | None = None) -> None:
    """Write half-precision weights and config.json in Hugging Face's layout."""
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    weights = {**bert.state_dict(), **(extra or {})}
    save_file({name: value.detach().half().cpu().contiguous() for name, value in weights.items()}, folder / WEIGHTS)
    config = {**bert.config, "num_hidden_layers": len(bert.layers), "torch_dtype": "float16"}
    (folder / CONFIG).write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
