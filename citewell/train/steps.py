"""The steps of a training with torch: a loss is made small; now and then what that is worth is measured, noted and kept.

Encoder, static encoder and cross-encoder are all trained by these.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from citewell.train.checkpoint import Checkpoint
from citewell.train.curve import Curve, Values
from citewell.train.monitoring import Unwatched, Watcher

_LOSS_EVERY = 50


class Draws(Protocol):
    """Who draws the batches, and goes on drawing from where it was."""

    def state(self) -> dict[str, Any]: ...

    def restore(self, state: Mapping[str, Any]) -> None: ...


class Steps:
    """The steps of one model."""

    def __init__(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        draws: Draws,
        folder: Path,
        checkpoint: Checkpoint,
        watcher: Watcher | None = None,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._model, self._optimizer, self._draws = model, optimizer, draws
        self._curve, self._checkpoint, self._watcher = Curve(folder), checkpoint, watcher or Unwatched()
        self.step = 0
        self.seconds = 0.0

    def run(
        self,
        steps: int,
        rate: float,
        warmup: float,
        loss: Callable[[], Tensor],
        dev: Callable[[], Values],
        every: int,
        before: Callable[[int], Values] | None = None,
        clip: float = math.inf,
    ) -> None:
        """Take all steps that are left; `before` each something may be done, `dev` is measured `every` so many."""
        self._resume()
        self._watcher.training(steps)
        self._watcher.trained(self.step)
        while self.step < steps:
            started = time.monotonic()
            if before is not None and (values := before(self.step)):
                self._note(values)
            reached = self._one(loss, rate * rate_share(self.step, steps, warmup), clip)
            self.step += 1
            self.seconds += time.monotonic() - started
            self._watcher.trained(1)
            if self.step % _LOSS_EVERY == 0:
                self._note({"loss": round(float(reached), 4)})
            if self.step % every == 0 or self.step == steps:
                self._note(dev())
                self._keep()

    def _one(self, loss: Callable[[], Tensor], rate: float, clip: float) -> Tensor:
        self._model.train()
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        reached = loss()
        self._optimizer.zero_grad(set_to_none=True)
        reached.backward()
        if clip < math.inf:
            nn.utils.clip_grad_norm_(self._model.parameters(), clip)
        self._optimizer.step()
        return reached.detach()

    def _keep(self) -> None:
        state = {"model": self._model.state_dict(), "optimizer": self._optimizer.state_dict(), "draws": self._draws.state()}
        self._checkpoint.save({"step": self.step, "seconds": self.seconds, **state})

    def _resume(self) -> None:
        state = self._checkpoint.load()
        if state is not None:
            self.step, self.seconds = state["step"], state["seconds"]
            self._model.load_state_dict(state["model"])
            self._optimizer.load_state_dict(state["optimizer"])
            self._draws.restore(state["draws"])
        self._curve.cut(self.step)

    def _note(self, values: Values) -> None:
        self._curve.note(self.step, self.seconds, values)


def rate_share(step: int, steps: int, warmup: float) -> float:
    """The share of the full rate: rising, then falling along a cosine."""
    risen = max(1, int(steps * warmup))
    return (step + 1) / risen if step < risen else 0.5 * (1 + math.cos(math.pi * (step - risen) / max(1, steps - risen)))
