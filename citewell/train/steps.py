"""The training loop of all torch models: steps, dev measures at intervals, logging and checkpoints."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from citewell.progress import SILENT, Progress
from citewell.train.checkpoints import Checkpoint
from citewell.train.curve import Curve, Values

_LOSS_EVERY = 50


class BatchSource(Protocol):
    """Samples batches, and can save and restore its state."""

    def state(self) -> dict[str, Any]: ...

    def restore(self, state: Mapping[str, Any]) -> None: ...


class Steps:
    """The training loop of one model."""

    def __init__(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        source: BatchSource,
        folder: Path,
        checkpoint: Checkpoint,
        progress: Progress = SILENT,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._model, self._optimizer, self._source = model, optimizer, source
        self._curve, self._checkpoint, self._progress = Curve(folder), checkpoint, progress
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
        decline: str = "cosine",
        save_every: int = 0,
    ) -> None:
        """Run the remaining steps, calling `before` each of them and measuring `dev` at intervals of `every` steps.

        A checkpoint is saved with each measure, or at intervals of `save_every` steps.
        """
        self._resume()
        self._progress.start("training", steps, "steps")
        self._progress.advance(self.step)
        while self.step < steps:
            started = time.monotonic()
            if before is not None and (values := before(self.step)):
                self._log(values)
            value = self._step(loss, rate * rate_share(self.step, steps, warmup, decline), clip)
            self.step += 1
            self.seconds += time.monotonic() - started
            self._progress.advance()
            if self.step % _LOSS_EVERY == 0:
                self._log({"loss": round(float(value), 4)})
            if self.step % every == 0 or self.step == steps:
                self._log(dev())
                if self.step % (save_every or every) == 0 or self.step == steps:
                    self._save()

    def _step(self, loss: Callable[[], Tensor], rate: float, clip: float) -> Tensor:
        self._model.train()
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        value = loss()
        self._optimizer.zero_grad(set_to_none=True)
        value.backward()
        if clip < math.inf:
            nn.utils.clip_grad_norm_(self._model.parameters(), clip)
        self._optimizer.step()
        return value.detach()

    def _save(self) -> None:
        state = {"model": self._model.state_dict(), "optimizer": self._optimizer.state_dict(), "draws": self._source.state()}
        self._checkpoint.save({"step": self.step, "seconds": self.seconds, **state})

    def _resume(self) -> None:
        state = self._checkpoint.load()
        if state is not None:
            self.step, self.seconds = state["step"], state["seconds"]
            self._model.load_state_dict(state["model"])
            self._optimizer.load_state_dict(state["optimizer"])
            self._source.restore(state["draws"])
        self._curve.truncate(self.step)

    def _log(self, values: Values) -> None:
        self._curve.log(self.step, self.seconds, values)


def rate_share(step: int, steps: int, warmup: float, decline: str = "cosine") -> float:
    """The factor of the learning rate: linear warm-up, then decline by a cosine or ``linear``."""
    risen = max(1, int(steps * warmup))
    if step < risen:
        return (step + 1) / risen
    done = (step - risen) / max(1, steps - risen)
    return 1 - done if decline == "linear" else 0.5 * (1 + math.cos(math.pi * done))
