"""Word vectors from a base of words (`citewell.train.words`), for models that read stems.

The published systems start from word vectors that others trained on far more text. A base has a vector for each form of a word;
a stem gets the mean of its forms, where a frequent form counts more: by Zipf's law, in inverse proportion to its rank.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from citewell.errors import CitewellError
from citewell.extras import require
from citewell.models.word_vectors import WordVectors
from citewell.text.analysis import Vocabulary
from citewell.train.card import TOKENIZER
from citewell.train.sentence_data import SentenceData
from citewell.train.words import SPECIAL, VECTORS


def from_base(folder: Path, data: SentenceData) -> WordVectors:
    """The vectors of the words of the data that the base in `folder` has."""
    require("safetensors")
    from safetensors.numpy import load_file

    try:
        forms = json.loads((folder / TOKENIZER).read_text("utf-8"))["model"]["vocab"]
        vectors = load_file(folder / "model.safetensors")[VECTORS].astype(np.float32)
    except (OSError, KeyError, ValueError) as error:
        raise CitewellError(f"{folder} is not a base of words ({error}); train one with: citewell train words") from None
    numbers = {int(each): at for at, each in enumerate(data.hashes.tolist())}
    vocabulary = Vocabulary()
    sums = np.zeros((len(data.hashes), vectors.shape[1]), np.float32)
    weights = np.zeros(len(data.hashes), np.float32)
    for form, row in forms.items():
        stem = vocabulary.hashes[vocabulary.number(form.encode())] if form not in SPECIAL else 0
        if stem and stem in numbers:
            weight = 1 / (1 + row)
            sums[numbers[stem]] += weight * vectors[row]
            weights[numbers[stem]] += weight
    known = np.flatnonzero(weights)
    if not len(known):
        raise CitewellError(f"the base {folder} has none of the words of the sets; train one on them: citewell train words")
    means = (sums[known] / weights[known, None]).astype(np.float32)
    return WordVectors.of(data.hashes[known], data.papers_with[known], len(data.paper_at) - 1, means)
