"""Converts a BERT, RoBERTa or MPNet model in Hugging Face's layout to one int8 ONNX file, without torch.

The graph is built node by node from onnxruntime's fused operators (attention, skip + layer norm, bias + gelu), the ones that
its optimiser would produce. An encoder returns the mean of the token vectors, or the first token vector, at length 1. A
cross-encoder (a model with a classifier of one or two outputs) returns the output for the first token, or the difference of the
two outputs. Weights are quantised to 8 bits per channel, activations dynamically, except for MPNet
(`citewell.models.quantisation`). MPNet's attention is built from plain operators, because the fused one cannot add a bias by
distance.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from citewell.files import write_atomically
from citewell.models.layouts import DISTANCES, POSITIONS, as_bert, distance_buckets
from citewell.models.quantisation import WORDS, quantise
from citewell.models.torch_file import read_torch_file

CONFIG, WEIGHTS, OLD_WEIGHTS = "config.json", "model.safetensors", "pytorch_model.bin"
_OPSET = 17
_FUSED = "com.microsoft"
_MAX_OUTPUTS = 2
"""A classifier with more outputs is not a relevance model."""

Tensors = dict[str, npt.NDArray[np.float32]]


def convert(
    folder: Path, target: Path, quantised: bool = True, by_first_token: bool = False, max_tokens: int | None = None
) -> None:
    """Convert the model in `folder` (config.json and weights) to the ONNX file `target`, quantised if `quantised`.

    A model that never reads more than `max_tokens` tokens keeps no more position embeddings than that.
    """
    import onnx

    config, tensors = as_bert(json.loads((folder / CONFIG).read_text("utf-8")), _tensors(folder), folder)
    tensors[POSITIONS] = tensors[POSITIONS][:max_tokens]
    model = _graph(config, tensors, by_first_token)
    with tempfile.TemporaryDirectory() as scratch:
        full, small = Path(scratch) / "whole.onnx", Path(scratch) / "small.onnx"
        onnx.save(model, full)
        if quantised:
            quantise(full, small, with_activations=DISTANCES not in tensors)
        write_atomically(target, (small if quantised else full).read_bytes(), durable=False)


def _tensors(folder: Path) -> Tensors:
    from safetensors.numpy import load_file

    path = folder / WEIGHTS
    tensors = load_file(path) if path.is_file() else read_torch_file(folder / OLD_WEIGHTS)
    return {name: value.astype(np.float32) for name, value in tensors.items()}


class _Nodes:
    """The nodes and weights of a graph under construction."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.weights: list[Any] = []

    def weight(self, name: str, value: npt.NDArray[Any]) -> str:
        from onnx import numpy_helper

        self.weights.append(numpy_helper.from_array(np.asarray(value, order="C"), name))
        return name

    def add(self, kind: str, inputs: list[str], output: str, domain: str = "", **attributes: Any) -> str:
        from onnx import helper

        self.nodes.append(helper.make_node(kind, inputs, [output], domain=domain, name=f"node of {output}", **attributes))
        return output


def _graph(config: dict[str, Any], tensors: Tensors, by_first_token: bool) -> Any:
    from onnx import TensorProto, helper

    nodes = _Nodes()
    hidden = _add_embeddings(nodes, config, tensors)
    if DISTANCES in tensors:
        _add_score_bias(nodes, tensors)
    cross, layers = _is_cross_encoder(tensors), int(config["num_hidden_layers"])
    for layer in range(layers):
        # If the first token represents the text, the last layer only needs that token.
        first_only = (cross or by_first_token) and layer == layers - 1
        hidden = _add_layer(nodes, f"encoder.layer.{layer}", hidden, config, tensors, first_only)
    names = ["ids", "mask"]
    if cross:
        names.append("kinds")
        _add_classifier(nodes, hidden, tensors)
        output = helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["texts", 1])
    else:
        _add_first_token(nodes, hidden) if by_first_token else _add_mean(nodes, hidden)
        output = helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["texts", int(config["hidden_size"])])
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT32, ["texts", "tokens"]) for name in names]
    graph = helper.make_graph(nodes.nodes, "model", inputs, [output], nodes.weights)
    opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_FUSED, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def _add_embeddings(nodes: _Nodes, config: dict[str, Any], tensors: Tensors) -> str:
    """Word, position and segment embeddings of each token, summed and normalised."""
    words = nodes.weight(WORDS, tensors["embeddings.word_embeddings.weight"])
    kinds = tensors["embeddings.token_type_embeddings.weight"]
    places = tensors[POSITIONS]
    nodes.add("Gather", [words, "ids"], "word vectors")
    nodes.add("Shape", ["ids"], "tokens", start=1, end=2)
    zero = nodes.weight("zero", np.array([0], np.int64))
    if _is_cross_encoder(tensors):
        nodes.add("Gather", [nodes.weight("kinds of text", kinds), "kinds"], "kind vectors")
        nodes.add("Add", ["word vectors", "kind vectors"], "words and kinds")
    else:  # all tokens are of the first segment
        places = places + kinds[0]
    nodes.add("Slice", [nodes.weight("places", places), zero, "tokens"], "place vectors")
    total = "words and kinds" if _is_cross_encoder(tensors) else "word vectors"
    nodes.add("Add", [total, "place vectors"], "embedded")
    return _add_layer_norm(nodes, "embeddings.LayerNorm", "embedded", config, tensors)


def _add_layer_norm(nodes: _Nodes, name: str, hidden: str, config: dict[str, Any], tensors: Tensors) -> str:
    scale = nodes.weight(f"{name}.scale", tensors[f"{name}.weight"])
    bias = nodes.weight(f"{name}.bias", tensors[f"{name}.bias"])
    return nodes.add("LayerNormalization", [hidden, scale, bias], f"{name} out", axis=-1, epsilon=config["layer_norm_eps"])


def _add_layer(nodes: _Nodes, name: str, hidden: str, config: dict[str, Any], tensors: Tensors, first_only: bool) -> str:
    """One transformer layer. With `first_only`, attention sees all tokens but only the first one is computed further."""
    parts = [f"{name}.attention.self.{part}" for part in ("query", "key", "value")]
    weights = nodes.weight(f"{name}.qkv", np.concatenate([tensors[f"{part}.weight"].T for part in parts], axis=1))
    biases = nodes.weight(f"{name}.qkv bias", np.concatenate([tensors[f"{part}.bias"] for part in parts]))
    heads = int(config["num_attention_heads"])
    if DISTANCES in tensors:
        attended = _add_attention(nodes, name, hidden, weights, biases, heads, len(tensors[f"{parts[0]}.bias"]))
    else:
        attended = nodes.add("Attention", [hidden, weights, biases, "mask"], f"{name} attended", _FUSED, num_heads=heads)
    if first_only:
        first = nodes.weight("first token", np.array([0], np.int64))
        attended = nodes.add("Gather", [attended, first], "first attended", axis=1)
        hidden = nodes.add("Gather", [hidden, first], "first hidden", axis=1)
    hidden = _add_skip_layer(nodes, f"{name}.attention.output", attended, hidden, config, tensors)
    inner = nodes.weight(f"{name}.inner", tensors[f"{name}.intermediate.dense.weight"].T)
    nodes.add("MatMul", [hidden, inner], f"{name} wide")
    bias = nodes.weight(f"{name}.inner bias", tensors[f"{name}.intermediate.dense.bias"])
    nodes.add("BiasGelu", [f"{name} wide", bias], f"{name} active", _FUSED)
    return _add_skip_layer(nodes, f"{name}.output", f"{name} active", hidden, config, tensors)


def _add_score_bias(nodes: _Nodes, tensors: Tensors) -> None:
    """What is added to all attention scores: a bias by distance, and next to nothing for padding."""
    from onnx import TensorProto

    limit, buckets = len(tensors[POSITIONS]), len(tensors[DISTANCES])
    by_distance = nodes.weight("bias by distance", tensors[DISTANCES][distance_buckets(limit, buckets)].T)
    start, step = (nodes.weight(name, np.array(value, np.int64)) for name, value in (("range start", 0), ("range step", 1)))
    nodes.add("Squeeze", ["tokens"], "token count")
    nodes.add("Range", [start, "token count", step], "places of tokens")
    row, column = (nodes.weight(name, np.array([axis], np.int64)) for name, axis in (("row axis", 0), ("column axis", 1)))
    nodes.add("Unsqueeze", ["places of tokens", column], "from")
    nodes.add("Unsqueeze", ["places of tokens", row], "to")
    nodes.add("Sub", ["from", "to"], "distances")
    nodes.add("Add", ["distances", nodes.weight("shift of distances", np.array(limit - 1, np.int64))], "rows of distances")
    nodes.add("Gather", [by_distance, "rows of distances"], "bias of heads", axis=1)
    nodes.add("Unsqueeze", ["bias of heads", row], "bias of texts")
    nodes.add("Cast", ["mask"], "mask of scores", to=TensorProto.FLOAT)
    nodes.add("Sub", ["mask of scores", nodes.weight("one", np.array(1, np.float32))], "padding")
    nodes.add("Mul", ["padding", nodes.weight("very low", np.array(1e9, np.float32))], "padding low")
    nodes.add("Unsqueeze", ["padding low", nodes.weight("score axes", np.array([1, 2], np.int64))], "padding bias")
    nodes.add("Add", ["bias of texts", "padding bias"], "score bias")


def _add_attention(nodes: _Nodes, name: str, hidden: str, weights: str, biases: str, heads: int, size: int) -> str:
    """Attention with the bias of `_add_score_bias`."""
    nodes.add("MatMul", [hidden, weights], f"{name} bare qkv")
    nodes.add("Add", [f"{name} bare qkv", biases], f"{name} all qkv")
    shape = nodes.weight(f"{name} qkv shape", np.array([0, 0, 3, heads, size // heads], np.int64))
    nodes.add("Reshape", [f"{name} all qkv", shape], f"{name} by head")
    nodes.add("Transpose", [f"{name} by head"], f"{name} heads first", perm=[2, 0, 3, 1, 4])
    parts = []
    for at, part in enumerate(("query", "key", "value")):
        place = nodes.weight(f"{name} place of {part}", np.array(at, np.int64))
        parts.append(nodes.add("Gather", [f"{name} heads first", place], f"{name} {part}", axis=0))
    nodes.add("Transpose", [parts[1]], f"{name} turned key", perm=[0, 1, 3, 2])
    nodes.add("MatMul", [parts[0], f"{name} turned key"], f"{name} bare scores")
    scale = nodes.weight(f"{name} scale", np.array(1 / np.sqrt(size // heads), np.float32))
    nodes.add("Mul", [f"{name} bare scores", scale], f"{name} scaled scores")
    nodes.add("Add", [f"{name} scaled scores", "score bias"], f"{name} scores")
    nodes.add("Softmax", [f"{name} scores"], f"{name} shares", axis=-1)
    nodes.add("MatMul", [f"{name} shares", parts[2]], f"{name} attended heads")
    nodes.add("Transpose", [f"{name} attended heads"], f"{name} tokens first", perm=[0, 2, 1, 3])
    return nodes.add(
        "Reshape", [f"{name} tokens first", nodes.weight(f"{name} shape", np.array([0, 0, size], np.int64))], f"{name} attended"
    )


def _add_skip_layer(nodes: _Nodes, name: str, hidden: str, skip: str, config: dict[str, Any], tensors: Tensors) -> str:
    """A dense layer, its input added, and the sum normalised."""
    dense = nodes.weight(f"{name}.dense", tensors[f"{name}.dense.weight"].T)
    nodes.add("MatMul", [hidden, dense], f"{name} dense")
    scale = nodes.weight(f"{name}.scale", tensors[f"{name}.LayerNorm.weight"])
    shift = nodes.weight(f"{name}.shift", tensors[f"{name}.LayerNorm.bias"])
    bias = nodes.weight(f"{name}.dense bias", tensors[f"{name}.dense.bias"])
    inputs = [f"{name} dense", skip, scale, shift, bias]
    return nodes.add("SkipLayerNormalization", inputs, f"{name} out", _FUSED, epsilon=config["layer_norm_eps"])


def _is_cross_encoder(tensors: Tensors) -> bool:
    return "classifier.weight" in tensors and len(tensors["classifier.weight"]) <= _MAX_OUTPUTS


def _add_classifier(nodes: _Nodes, hidden: str, tensors: Tensors) -> None:
    """The score, from the first token."""
    vectors = hidden
    if "pooler.dense.weight" in tensors:
        nodes.add("MatMul", [vectors, nodes.weight("pooler", tensors["pooler.dense.weight"].T)], "bare pooled")
        nodes.add("Add", ["bare pooled", nodes.weight("pooler bias", tensors["pooler.dense.bias"])], "shifted pooled")
        vectors = nodes.add("Tanh", ["shifted pooled"], "pooled")
    head, bias = tensors["classifier.weight"], tensors["classifier.bias"]
    if len(head) > 1:
        head, bias = head[1:] - head[:1], bias[1:] - bias[:1]
    # A product with one column is not worth quantising, and its error would go straight into the score.
    nodes.add("Mul", [vectors, nodes.weight("head", head[0])], "shares")
    last = nodes.weight("head axis", np.array([-1], np.int64))
    nodes.add("ReduceSum", ["shares", last], "bare scores", keepdims=0)
    nodes.add("Add", ["bare scores", nodes.weight("head bias", bias)], "scores")


def _add_first_token(nodes: _Nodes, hidden: str) -> None:
    """The vector of the first token, at length 1."""
    nodes.add("Squeeze", [hidden, nodes.weight("token axis", np.array([1], np.int64))], "first vector")
    nodes.add("LpNormalization", ["first vector"], "vectors", axis=-1, p=2)


def _add_mean(nodes: _Nodes, hidden: str) -> None:
    """The mean of the unmasked token vectors, at length 1."""
    from onnx import TensorProto

    nodes.add("Cast", ["mask"], "mask as float", to=TensorProto.FLOAT)
    last = nodes.weight("last axis", np.array([-1], np.int64))
    nodes.add("Unsqueeze", ["mask as float", last], "mask column")
    nodes.add("Mul", [hidden, "mask column"], "masked")
    tokens = nodes.weight("token axis", np.array([1], np.int64))
    nodes.add("ReduceSum", ["masked", tokens], "summed", keepdims=0)
    nodes.add("LpNormalization", ["summed"], "vectors", axis=-1, p=2)
