"""The attention of a served transformer: how much each token attends to each other token, by layer and head.

The served graph returns vectors only. Here it runs with further outputs: what each layer reads, from which the shares are
computed as the layer computes them, with its own queries and keys; or the shares themselves, where the graph has them (MPNet).
An int8 graph also rounds what a layer reads, so its shares differ slightly from these.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from citewell import extras, threads
from citewell.errors import CitewellError
from citewell.models.onnx import MODEL
from citewell.types import Float32Array

_ATTENTION = ("Attention", "QAttention")
_SHARES = " shares"
"""The end of the name of shares in a graph that computes them by plain operators."""


class AttentionReader:
    """The graph in a model's folder, with its attention."""

    def __init__(self, folder: Path) -> None:
        extras.require("onnx")
        import onnx
        import onnxruntime
        from onnx import helper, numpy_helper

        model = onnx.load(str(folder / MODEL))
        nodes = [node for node in model.graph.node if node.op_type in _ATTENTION]
        shares = [node.output[0] for node in model.graph.node if node.op_type == "Softmax" and node.output[0].endswith(_SHARES)]
        if not nodes and not shares:
            raise CitewellError(f"the graph in {folder} shows no attention; only models that citewell converted do")
        weights = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
        writers = {output: node for node in model.graph.node for output in node.output}
        self._layers = [_Layer(node, weights, writers) for node in nodes]
        self._outputs = shares or [layer.reads for layer in self._layers]
        outputs = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in self._outputs]
        del model.graph.output[:]
        model.graph.output.extend(outputs)
        options = threads.session_options(1)
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        self._kinds = any(each.name == "kinds" for each in self._session.get_inputs())

    def shares(self, ids: Sequence[int]) -> Float32Array:
        """The shares of one text, by layer, head, attending token and attended token; the last axis sums to 1."""
        tokens = np.array([ids], np.int32)
        inputs = {"ids": tokens, "mask": np.ones_like(tokens)} | ({"kinds": np.zeros_like(tokens)} if self._kinds else {})
        outputs = self._session.run(self._outputs, inputs)
        if not self._layers:
            return np.concatenate(outputs).astype(np.float32)
        return np.stack([layer.shares(read[0]) for layer, read in zip(self._layers, outputs, strict=True)])


class _Layer:
    """The queries and keys of one layer, and the name of what it reads."""

    def __init__(self, node: Any, weights: dict[str, Any], writers: dict[str, Any]) -> None:
        self._heads = next(each.i for each in node.attribute if each.name == "num_heads")
        inputs = list(node.input)
        self._bias = np.asarray(weights[inputs[2]], np.float32)
        if node.op_type == "Attention":
            self.reads = inputs[0]
            self._weights = np.asarray(weights[inputs[1]], np.float32)
        else:  # int8: input, weights, bias, scale of the input, of the weights, mask, zero points of both
            self.reads = writers[inputs[0]].input[0]
            codes, scale, zero = (np.asarray(weights[inputs[at]], np.float32) for at in (1, 4, 7))
            self._weights = (codes - zero) * scale

    def shares(self, read: Float32Array) -> Float32Array:
        """The shares of one text, by head, attending and attended token."""
        query, key, _ = np.split(read @ self._weights + self._bias, 3, axis=1)
        by_head = [part.reshape(len(read), self._heads, -1).transpose(1, 0, 2) for part in (query, key)]
        scores = by_head[0] @ by_head[1].transpose(0, 2, 1) / np.sqrt(by_head[0].shape[2])
        raised = np.exp(scores - scores.max(axis=2, keepdims=True))
        return np.asarray(raised / raised.sum(axis=2, keepdims=True), np.float32)
