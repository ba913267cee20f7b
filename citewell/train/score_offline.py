"""Marking an examination (`citewell.train.offline_scoring`) by Medić's models, on a GPU where there is one.

The texts of all candidates are read once; what is asked only decides what is made of them. numpy and torch are enough:
``python -m citewell.train.score_offline EXAM WEIGHTS MARKS``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from citewell.models.enhanced_context import NOBODY, Shape
from citewell.models.enhanced_onnx import WEIGHTS
from citewell.train.enhanced_network import Asked, Found, Network, Text
from citewell.train.packs import Arrays, load, save

_AT_ONCE = 1024


def network(folder: Path, device: torch.device) -> Network:
    """The model whose training left its weights in a folder."""
    model = Network(Shape.read(folder))
    with np.load(folder / WEIGHTS) as held:
        model.load_state_dict({name: torch.from_numpy(held[name]) for name in held.files})
    return model.to(device).eval()


@torch.no_grad()
def marks(exam: Arrays, model: Network, device: torch.device) -> Arrays:
    """The scores of every question's candidates; NaN where there is none."""
    texts, context, citing = (_texts(exam, name, device) for name in ("text", "context", "citing"))
    hidden = torch.cat([model.read(_rows(texts, some)) for some in torch.arange(len(texts.ids), device=device).split(_AT_ONCE)])
    gap, authors, cited = (torch.from_numpy(exam[name]).to(device) for name in ("gap", "authors", "cited"))
    found = np.full(exam["rows"].shape, np.nan, np.float32)
    for at, row in enumerate(exam["rows"]):
        there = np.flatnonzero(row >= 0)
        if len(there):
            papers, this = torch.from_numpy(row[there].astype("int64")).to(device), torch.tensor([at], device=device)
            asked = Asked(_rows(context, this), gap[this].long(), _rows(citing, this))
            known = Found(_rows(texts, papers), authors[papers].long(), cited[at][torch.from_numpy(there).to(device)])
            found[at, there] = model.scores(asked, hidden[papers], known)[0].float().cpu().numpy()
    return {"marks": found}


def _texts(exam: Arrays, name: str, device: torch.device) -> Text:
    """Texts of an examination, padded."""
    starts = exam[f"{name}_at"]
    lengths = np.diff(starts)
    columns = np.arange(max(1, int(lengths.max(initial=1))))
    there = columns < lengths[:, None]
    ids = np.full(there.shape, NOBODY, np.int64)
    ids[there] = exam[name]
    return Text(torch.from_numpy(ids).to(device), torch.from_numpy(lengths).to(device))


def _rows(texts: Text, some: Tensor) -> Text:
    return Text(texts.ids[some], texts.lengths[some])


if __name__ == "__main__":
    chosen = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    save(marks(load(Path(sys.argv[1])), network(Path(sys.argv[2]), chosen), chosen), Path(sys.argv[3]))
