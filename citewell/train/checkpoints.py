"""The best weights so far: what a training keeps of itself by what dev says, since more steps are not always better."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import nn


class Best:
    """The weights of the moment when a measure was highest."""

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self._value = -1.0
        self._weights: dict[str, Any] = {}

    def offer(self, value: float) -> None:
        """Keep the weights as they are now, if they are better than those before."""
        if value > self._value:
            self._value = value
            self._weights = {name: weight.detach().clone() for name, weight in self._model.state_dict().items()}

    def take(self) -> None:
        """Put the best weights back into the model."""
        if self._weights:
            self._model.load_state_dict(self._weights)

    def state(self) -> dict[str, Any]:
        return {"value": self._value, "weights": self._weights}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._value, self._weights = state["value"], dict(state["weights"])
