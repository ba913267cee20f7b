"""How much attention the encoder of queries gives to the topic sentence.

The attention that its tokens receive is summed, and averaged over all layers, heads and attending tokens; once also over the
first token only, whose last vector is the query's in models such as SciNCL. Equal attention to all tokens would give the share
of the tokens themselves, which is next to it. For the paragraph task. Settings: ``systems``, pipelines with dense retrieval by
a transformer.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from citewell.errors import CitewellError
from citewell.evaluate.analyses.contract import Request, Result
from citewell.evaluate.analyses.systems import evaluation_of, systems_of
from citewell.evaluate.queries import JudgedQuery
from citewell.models import encoder
from citewell.models.attention import AttentionReader
from citewell.pipeline.pipeline import Pipeline
from citewell.retrieve.dense import Dense
from citewell.types import Float32Array


def topic_attention(request: Request) -> Result:
    """One row per system: the attention that the topic sentence gets, and its share of the tokens."""
    systems = systems_of(request)
    queries = evaluation_of(request).queries()
    rows: list[list[str | float]] = []
    notes = []
    for chosen in systems.pipelines:
        shares, without = _shares(chosen, queries, request)
        rows.append([chosen.name, *np.mean(shares, axis=0).tolist()])
        if without:
            notes.append(f"{chosen.name} reads no topic sentence in {without} of {len(queries)} queries; they are left out.")
    columns = ["system", "attention to the topic sentence", "from the first token only", "its share of the tokens"]
    return Result(columns, rows, systems.note(f"{len(queries):,} queries.", *notes), "bars")


def _shares(chosen: Pipeline, queries: Sequence[JudgedQuery], request: Request) -> tuple[list[list[float]], int]:
    """The three shares of each query, and how many queries have no topic sentence in what the encoder reads."""
    stage = next((each for each in chosen.all_stages() if isinstance(each, Dense)), None)
    if stage is None:
        raise CitewellError(f"{chosen.name} has no encoder of queries; name pipelines with dense retrieval in 'systems'")
    model = encoder.load(stage.encoder)
    if not isinstance(model, encoder.Encoder):
        raise CitewellError(f"the encoder {stage.encoder!r} is static and has no attention")
    reader = AttentionReader(model.folder)
    special = set(model.tokens(""))
    shares = []
    request.progress.start(f"attention of {stage.encoder}", len(queries), "queries")
    for judged in queries:
        tokens = stage.query_tokens(judged.query)
        start, end = topic_span(tokens, model.tokens(judged.query.context, special=False), special)
        if end > start:
            shares.append(attention_shares(reader.shares(tokens), start, end))
        request.progress.advance()
    request.progress.finish()
    if not shares:
        raise CitewellError(f"{chosen.name} reads no topic sentences")
    return shares, len(queries) - len(shares)


def attention_shares(attention: Float32Array, start: int, end: int) -> list[float]:
    """The attention to the tokens from `start` to `end`: from all tokens, from the first; and their share of the tokens.

    `attention` is by layer, head, attending and attended token.
    """
    received = attention[:, :, :, start:end].sum(axis=3)
    return [float(received.mean()), float(received[:, :, 0].mean()), (end - start) / attention.shape[3]]


def topic_span(tokens: Sequence[int], topic: Sequence[int], special: set[int]) -> tuple[int, int]:
    """Where the topic sentence is among the tokens of a query: all of it, or its beginning where a token budget cut it.

    The end is the start if it is not there.
    """
    best = (0, 0)
    for start in range(len(tokens)):
        length = 0
        while length < len(topic) and start + length < len(tokens) and tokens[start + length] == topic[length]:
            length += 1
        end = start + length
        if length > best[1] - best[0] and (length == len(topic) or end == len(tokens) or tokens[end] in special):
            best = (start, end)
    return best
