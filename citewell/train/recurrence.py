"""The recurrence of many LSTMs at once, each with weights of its own.

Torch's LSTM runs one model, whose steps are too small to fill a GPU; here every step is one product for all models. Texts are
packed by time: step t has only the texts that are longer than t, the longest ones first.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor


class Recurrence(torch.autograd.Function):
    """Hidden states from what words give to the gates: (packed words, stacks, 4 H) to (packed words, stacks, H)."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, weights: Tensor, sizes: Sequence[int]) -> Tensor:
        _, stacks, width = inputs.shape
        hidden: list[Tensor] = []
        gates: list[Tensor] = []
        cells = [inputs.new_zeros(sizes[0] * stacks, width // 4)]
        for at, (step, count) in enumerate(zip(inputs.split(list(sizes)), sizes, strict=True)):
            recurrent = torch.empty_like(step) if at else torch.zeros_like(step)
            if at:
                torch.bmm(hidden[-1][:count].transpose(0, 1), weights, out=recurrent.transpose(0, 1))
            cell = cells[-1][: count * stacks]
            state, cell, gate = _cell(step.reshape(-1, width), recurrent.view(-1, width), cell)
            hidden.append(state.view(count, stacks, -1))
            cells.append(cell)
            gates.append(gate)
        ctx.sizes, ctx.cells, ctx.gates = sizes, cells, gates
        states = torch.cat(hidden)
        ctx.save_for_backward(weights, states)
        return states

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        (upward,) = gradients
        weights, hidden = ctx.saved_tensors
        sizes: list[int] = list(ctx.sizes)
        stacks, size = hidden.shape[1:]
        transposed = weights.transpose(1, 2)
        backward = []
        parts = upward.split(sizes)
        of_hidden = of_cell = upward.new_zeros(0, stacks, size)
        for at in range(len(sizes) - 1, -1, -1):
            count = sizes[at]
            of_hidden = parts[at] + _padded(of_hidden, count)
            cell, after, gate = ctx.cells[at][: count * stacks], ctx.cells[at + 1], ctx.gates[at]
            flat = of_hidden.reshape(-1, size), _padded(of_cell, count).reshape(-1, size)
            of_gates, before = _cell_backward(*flat, cell, after, gate)
            of_cell = before.view(count, stacks, size)
            backward.append(of_gates.view(count, stacks, 4 * size))
            of_hidden = torch.bmm(backward[-1].transpose(0, 1), transposed).transpose(0, 1)
        of_inputs = torch.cat(backward[::-1])
        return of_inputs, _of_weights(hidden, of_inputs, sizes), None


def starts(sizes: Sequence[int]) -> list[int]:
    """Where each step begins in packed words."""
    return [0, *accumulate(sizes)][:-1]


def _cell(inputs: Tensor, recurrent: Tensor, cell: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """One step: hidden states, cells, and the activated gates, which the way back needs."""
    if inputs.is_cuda:
        state, after, gates = torch.ops.aten._thnn_fused_lstm_cell(inputs, recurrent, cell)
        return state, after, gates
    enter, forget, new, leave = (inputs + recurrent).chunk(4, dim=1)
    enter, forget, new, leave = torch.sigmoid(enter), torch.sigmoid(forget), torch.tanh(new), torch.sigmoid(leave)
    after = forget * cell + enter * new
    return leave * torch.tanh(after), after, torch.cat([enter, forget, new, leave], dim=1)


def _cell_backward(of_hidden: Tensor, of_cell: Tensor, cell: Tensor, after: Tensor, gates: Tensor) -> tuple[Tensor, Tensor]:
    """The gradients of the gates before their activations, and of the cells before the step."""
    if gates.is_cuda:
        back = torch.ops.aten._thnn_fused_lstm_cell_backward_impl(of_hidden, of_cell, cell, after, gates, False)
        return back[0], back[1]
    enter, forget, new, leave = gates.chunk(4, dim=1)
    squashed = torch.tanh(after)
    of_cell = of_cell + of_hidden * leave * (1 - squashed * squashed)
    of_gates = [
        of_cell * new * enter * (1 - enter),
        of_cell * cell * forget * (1 - forget),
        of_cell * enter * (1 - new * new),
        of_hidden * squashed * leave * (1 - leave),
    ]
    return torch.cat(of_gates, dim=1), of_cell * forget


def _padded(rows: Tensor, count: int) -> Tensor:
    """Rows with zeros after them, `count` in all."""
    return rows if len(rows) == count else torch.cat([rows, rows.new_zeros(count - len(rows), *rows.shape[1:])])


def _of_weights(hidden: Tensor, of_inputs: Tensor, sizes: Sequence[int]) -> Tensor:
    """The gradient of the weights: the states before each step with the gradients of its gates."""
    device, first = hidden.device, sizes[0]
    steps = torch.repeat_interleave(torch.tensor(sizes[:-1], device=device), torch.tensor(sizes[1:], device=device))
    before = hidden.index_select(0, torch.arange(first, len(hidden), device=device) - steps)
    return torch.bmm(before.permute(1, 2, 0), of_inputs[first:].transpose(0, 1))
