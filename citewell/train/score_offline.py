"""Scores the candidates of `citewell.train.offline_scoring` with Medić's models, on a GPU if there is one.

The texts of all candidates are encoded once; the query only affects the attention. Needs only numpy and torch:
``python -m citewell.train.score_offline INPUTS WEIGHTS SCORES``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from citewell.models.enhanced_context import PADDING, Shape
from citewell.models.enhanced_onnx import read_weights
from citewell.train.enhanced_network import CandidateBatch, Network, QueryBatch, Text
from citewell.train.packs import Arrays, load, save

_TEXT_BATCH = 1024


def load_network(folder: Path, device: torch.device) -> Network:
    """The model whose training wrote its weights to a folder."""
    model = Network(Shape.read(folder))
    model.load_state_dict({name: torch.from_numpy(tensor) for name, tensor in read_weights(folder).items()})
    return model.to(device).eval()


@torch.no_grad()
def score(inputs: Arrays, model: Network, device: torch.device) -> Arrays:
    """The scores of every query's candidates; NaN where there is none."""
    texts, context, citing = (_texts(inputs, name, device) for name in ("text", "context", "citing"))
    hidden = torch.cat(
        [model.encode(_rows(texts, rows)) for rows in torch.arange(len(texts.ids), device=device).split(_TEXT_BATCH)]
    )
    gap, authors, cited = (torch.from_numpy(inputs[name]).to(device) for name in ("gap", "authors", "cited"))
    scores = np.full(inputs["rows"].shape, np.nan, np.float32)
    for at, row in enumerate(inputs["rows"]):
        present = np.flatnonzero(row >= 0)
        if len(present):
            papers, row_number = torch.from_numpy(row[present].astype("int64")).to(device), torch.tensor([at], device=device)
            queries = QueryBatch(_rows(context, row_number), gap[row_number].long(), _rows(citing, row_number))
            candidates = CandidateBatch(
                _rows(texts, papers), authors[papers].long(), cited[at][torch.from_numpy(present).to(device)]
            )
            scores[at, present] = model.scores(queries, hidden[papers], candidates)[0].float().cpu().numpy()
    return {"scores": scores}


def _texts(inputs: Arrays, name: str, device: torch.device) -> Text:
    """Texts of the inputs, padded."""
    starts = inputs[f"{name}_at"]
    lengths = np.diff(starts)
    columns = np.arange(max(1, int(lengths.max(initial=1))))
    present = columns < lengths[:, None]
    ids = np.full(present.shape, PADDING, np.int64)
    ids[present] = inputs[name]
    return Text(torch.from_numpy(ids).to(device), torch.from_numpy(lengths).to(device))


def _rows(texts: Text, rows: Tensor) -> Text:
    return Text(texts.ids[rows], texts.lengths[rows])


if __name__ == "__main__":
    chosen = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    save(score(load(Path(sys.argv[1])), load_network(Path(sys.argv[2]), chosen), chosen), Path(sys.argv[3]))
