"""Converts a BERT model in Hugging Face's layout to one int8 ONNX file, without torch.

The graph is built node by node from onnxruntime's fused operators (attention, skip + layer norm, bias + gelu), the ones that
its optimiser would produce. An encoder returns the mean of the token vectors, or the first token vector, at length 1. A
cross-encoder (a model with a classifier of one or two outputs) returns the output for the first token, or the difference of the
two outputs. Weights are quantised to 8 bits per channel, activations dynamically.
"""

from __future__ import annotations

import json
import logging
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from citewell.errors import CitewellError
from citewell.files import write_atomically
from citewell.models.torch_file import read_torch_file

CONFIG, WEIGHTS, OLD_WEIGHTS = "config.json", "model.safetensors", "pytorch_model.bin"
_OPSET = 17
_FUSED = "com.microsoft"
_DEFAULTS = {"model_type": "bert", "position_embedding_type": "absolute", "hidden_act": "gelu", "layer_norm_eps": 1e-12}
"""Defaults for a config.json that leaves these out, as old ones do."""
_POSITIONS = "embeddings.position_embeddings.weight"
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
    from onnxruntime.quantization import QuantType, quantize_dynamic

    config = {**_DEFAULTS, **json.loads((folder / CONFIG).read_text("utf-8"))}
    for name in ("model_type", "position_embedding_type", "hidden_act"):
        if config[name] != _DEFAULTS[name]:
            raise CitewellError(
                f"{folder} has a {config['model_type']} model with {name} {config[name]}; only BERT models can be converted"
            )
    tensors = _tensors(folder)
    tensors[_POSITIONS] = tensors[_POSITIONS][:max_tokens]
    model = _graph(config, tensors, by_first_token)
    with tempfile.TemporaryDirectory() as scratch:
        full, small = Path(scratch) / "whole.onnx", Path(scratch) / "small.onnx"
        onnx.save(model, full)
        if quantised:
            # Shape inference does not know the fused operators: declare their outputs as float.
            options = {"DefaultTensorType": onnx.TensorProto.FLOAT}
            with _without_warnings():
                quantize_dynamic(full, small, per_channel=True, weight_type=QuantType.QInt8, extra_options=options)
        write_atomically(target, (small if quantised else full).read_bytes(), durable=False)


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Silence onnxruntime's advice to optimise the graph first, which would change nothing here."""
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


def _tensors(folder: Path) -> Tensors:
    from safetensors.numpy import load_file

    path = folder / WEIGHTS
    tensors = load_file(path) if path.is_file() else read_torch_file(folder / OLD_WEIGHTS)
    # Old files use other names for the scale and shift of a norm.
    names = {name: name.removeprefix("bert.").replace("LayerNorm.gamma", "LayerNorm.weight") for name in tensors}
    return {
        names[name].replace("LayerNorm.beta", "LayerNorm.bias"): value.astype(np.float32) for name, value in tensors.items()
    }


class _Nodes:
    """The nodes and weights of a graph under construction."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.weights: list[Any] = []

    def weight(self, name: str, value: npt.NDArray[Any]) -> str:
        from onnx import numpy_helper

        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def add(self, kind: str, inputs: list[str], output: str, domain: str = "", **attributes: Any) -> str:
        from onnx import helper

        self.nodes.append(helper.make_node(kind, inputs, [output], domain=domain, name=f"node of {output}", **attributes))
        return output


def _graph(config: dict[str, Any], tensors: Tensors, by_first_token: bool) -> Any:
    from onnx import TensorProto, helper

    nodes = _Nodes()
    hidden = _add_embeddings(nodes, config, tensors)
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
    words = nodes.weight("words", tensors["embeddings.word_embeddings.weight"])
    kinds = tensors["embeddings.token_type_embeddings.weight"]
    places = tensors[_POSITIONS]
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
