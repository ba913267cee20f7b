"""The static encoder: one vector a token, a text being the mean of its tokens' vectors.

It starts from what the encoder makes of each token alone, brought to fewer dimensions, and learns from the same pairs and from
how the encoder scores the papers of each batch. Only numpy and torch are needed:
``python -m citewell.train.static PACK ENCODER RECIPE OUT``.
"""

from __future__ import annotations

import json
import sys
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from citewell.models.inputs import Inputs
from citewell.train import losses
from citewell.train.batches import CLS, SEP, Tokens
from citewell.train.encoder import Numbers, Training, rate_share
from citewell.train.packs import load


@dataclass(frozen=True)
class StaticNumbers:
    """The numbers of a recipe beyond those of batches and rates."""

    dimensions: int = 256
    teacher: float = 1.0
    """How much the encoder's scores count beside the pairs."""


class Static(nn.Module):
    """Token numbers to vectors of texts."""

    def __init__(self, table: Tensor) -> None:
        super().__init__()
        self.table = nn.Embedding.from_pretrained(table, freeze=False)

    def forward(self, tokens: Tokens) -> Tensor:
        counted = tokens.mask & (tokens.ids != CLS) & (tokens.ids != SEP)
        return functional.normalize((self.table(tokens.ids) * counted[:, :, None]).sum(1), dim=1)


@torch.no_grad()
def first_table(teacher: Training, dimensions: int) -> Tensor:
    """What the encoder makes of each token alone, in its main directions, rare tokens longer than frequent ones."""
    teacher.model.eval()
    ids = torch.arange(teacher.model.config["vocab_size"], device=teacher.device)
    parts = []
    for some in ids.split(4096):
        text = torch.stack([torch.full_like(some, CLS), some, torch.full_like(some, SEP)], dim=1)
        parts.append(teacher.encode(Tokens(text, torch.ones_like(text, dtype=torch.bool))))
    vectors = torch.cat(parts)
    vectors = vectors - vectors.mean(0)
    _, _, axes = torch.linalg.svd(vectors, full_matrices=False)
    times = torch.bincount(torch.from_numpy(teacher.arrays["tokens"].astype(np.int64)), minlength=len(ids)).to(vectors.device)
    share = times / times.sum()
    return vectors @ axes[:dimensions].T * (1e-4 / (1e-4 + share))[:, None]


def fit(pack: Path, encoder: Path, recipe: dict[str, Any], out: Path, device: str = "") -> Static:
    """Train a static encoder from a pack and the encoder that it learns from."""
    out.mkdir(parents=True, exist_ok=True)
    chosen = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    numbers = Numbers(**{**recipe.get("numbers", {}), "mine_at": ()})
    own = StaticNumbers(**recipe.get("static", {}))
    teacher = Training(load(pack), encoder, numbers, Inputs(**recipe.get("inputs", {})), out, chosen)
    model = Static(first_table(teacher, own.dimensions)).to(chosen)
    optimizer = torch.optim.Adam(model.parameters(), numbers.rate)
    started = time.monotonic()
    for step in range(numbers.steps):
        for group in optimizer.param_groups:
            group["lr"] = numbers.rate * rate_share(step, numbers.steps, numbers.warmup)
        questions, _, texts, hidden = teacher.drawn_batch()
        asked, found = model(texts[0]), model(texts[1])
        scores = asked @ found.T
        right = torch.arange(len(questions), device=chosen)
        loss = losses.in_batch_softmax(scores, right, hidden, numbers.temperature)
        if own.teacher:
            with torch.no_grad():
                teacher.model.eval()
                wanted = teacher.encode(texts[0]) @ teacher.encode(texts[1]).T
            loss = loss + own.teacher * losses.likeness(scores, wanted, numbers.temperature)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        if (step + 1) % numbers.dev_every == 0 or step + 1 == numbers.steps:
            teacher.step, teacher.seconds = step + 1, time.monotonic() - started
            teacher.note({"loss": round(float(loss.detach()), 4), **teacher.dev(model)})
    table = model.table.weight.detach().float().cpu().numpy()
    np.save(out / "table.npy", table.astype(np.float16))
    teacher.texts.inputs.write(out)
    (out / "recipe.json").write_text(json.dumps(recipe, indent=1) + "\n", encoding="utf-8")
    return model


if __name__ == "__main__":
    fit(Path(sys.argv[1]), Path(sys.argv[2]), tomllib.loads(Path(sys.argv[3]).read_text("utf-8")), Path(sys.argv[4]))
