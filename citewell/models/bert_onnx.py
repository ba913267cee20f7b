"""From a BERT model in Hugging Face's layout to one int8 ONNX file, without torch.

The graph is written node by node with onnxruntime's fused operators (attention, skip + layer norm, bias + gelu), which its
optimiser would arrive at. An encoder ends in the mean of the token vectors, or the first of them, at length 1; a model with a
classifier of one or two outputs, a cross-encoder, in that output (or how far the second is above the first) for the first
token. Weights are then quantised to 8 bits per channel; activations are quantised as they come.
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
from citewell.models.torch_file import read_torch_file

CONFIG, WEIGHTS, OLD_WEIGHTS = "config.json", "model.safetensors", "pytorch_model.bin"
_OPSET = 17
_FUSED = "com.microsoft"
_USUAL = {"model_type": "bert", "position_embedding_type": "absolute", "hidden_act": "gelu", "layer_norm_eps": 1e-12}
"""What a description that does not say otherwise means; old ones say little."""
_PLACES = "embeddings.position_embeddings.weight"
_MOST_OUTPUTS = 2
"""A classifier of more outputs than this tells kinds apart, not right from wrong."""

Tensors = dict[str, npt.NDArray[np.float32]]


def convert(folder: Path, target: Path, rounded: bool = True, by_first_token: bool = False, longest: int | None = None) -> None:
    """Write the model in `folder` (config.json and weights) to the ONNX file `target`, quantised if `rounded`.

    One that never reads more than `longest` tokens needs to know no more places.
    """
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    config = {**_USUAL, **json.loads((folder / CONFIG).read_text("utf-8"))}
    for name in ("model_type", "position_embedding_type", "hidden_act"):
        if config[name] != _USUAL[name]:
            raise CitewellError(
                f"{folder} holds a {config['model_type']} model with {name} {config[name]}; only BERT's can be converted"
            )
    tensors = _tensors(folder)
    tensors[_PLACES] = tensors[_PLACES][:longest]
    model = _graph(config, tensors, by_first_token)
    with tempfile.TemporaryDirectory() as scratch:
        whole, small = Path(scratch) / "whole.onnx", Path(scratch) / "small.onnx"
        onnx.save(model, whole)
        if rounded:
            # Shape inference does not know the fused operators, so it is told that what they give is float.
            options = {"DefaultTensorType": onnx.TensorProto.FLOAT}
            with _quiet():
                quantize_dynamic(whole, small, per_channel=True, weight_type=QuantType.QInt8, extra_options=options)
        part = target.with_name(f"{target.name}.part")
        part.write_bytes((small if rounded else whole).read_bytes())
        part.rename(target)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the advice to let onnxruntime's optimiser go over the graph first, which has nothing to do here."""
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


def _tensors(folder: Path) -> Tensors:
    from safetensors.numpy import load_file

    path = folder / WEIGHTS
    found = load_file(path) if path.is_file() else read_torch_file(folder / OLD_WEIGHTS)
    # Old files call the scale and shift of a norm by other names.
    names = {name: name.removeprefix("bert.").replace("LayerNorm.gamma", "LayerNorm.weight") for name in found}
    return {names[name].replace("LayerNorm.beta", "LayerNorm.bias"): value.astype(np.float32) for name, value in found.items()}


class _Nodes:
    """The nodes and weights of a graph as it grows."""

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
    hidden = _embedded(nodes, config, tensors)
    cross, layers = _is_cross_encoder(tensors), int(config["num_hidden_layers"])
    for layer in range(layers):
        # Of the last layer nothing is wanted but the first token, where that one speaks for the text.
        alone = (cross or by_first_token) and layer == layers - 1
        hidden = _layer(nodes, f"encoder.layer.{layer}", hidden, config, tensors, alone)
    names = ["ids", "mask"]
    if cross:
        names.append("kinds")
        _classified(nodes, hidden, tensors)
        output = helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["texts", 1])
    else:
        _first(nodes, hidden) if by_first_token else _pooled(nodes, hidden)
        output = helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["texts", int(config["hidden_size"])])
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT32, ["texts", "tokens"]) for name in names]
    graph = helper.make_graph(nodes.nodes, "model", inputs, [output], nodes.weights)
    opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_FUSED, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def _embedded(nodes: _Nodes, config: dict[str, Any], tensors: Tensors) -> str:
    """Word, place and kind of each token, summed and normalised."""
    words = nodes.weight("words", tensors["embeddings.word_embeddings.weight"])
    kinds = tensors["embeddings.token_type_embeddings.weight"]
    places = tensors[_PLACES]
    nodes.add("Gather", [words, "ids"], "word vectors")
    nodes.add("Shape", ["ids"], "tokens", start=1, end=2)
    zero = nodes.weight("zero", np.array([0], np.int64))
    if _is_cross_encoder(tensors):
        nodes.add("Gather", [nodes.weight("kinds of text", kinds), "kinds"], "kind vectors")
        nodes.add("Add", ["word vectors", "kind vectors"], "words and kinds")
    else:  # all are of the first kind
        places = places + kinds[0]
    nodes.add("Slice", [nodes.weight("places", places), zero, "tokens"], "place vectors")
    summed = "words and kinds" if _is_cross_encoder(tensors) else "word vectors"
    nodes.add("Add", [summed, "place vectors"], "embedded")
    return _normed(nodes, "embeddings.LayerNorm", "embedded", config, tensors)


def _normed(nodes: _Nodes, name: str, hidden: str, config: dict[str, Any], tensors: Tensors) -> str:
    scale = nodes.weight(f"{name}.scale", tensors[f"{name}.weight"])
    bias = nodes.weight(f"{name}.bias", tensors[f"{name}.bias"])
    return nodes.add("LayerNormalization", [hidden, scale, bias], f"{name} out", axis=-1, epsilon=config["layer_norm_eps"])


def _layer(nodes: _Nodes, name: str, hidden: str, config: dict[str, Any], tensors: Tensors, alone: bool) -> str:
    """A layer of all tokens, or of the first one alone: it looks at all, and the rest of the work is done for it only."""
    parts = [f"{name}.attention.self.{part}" for part in ("query", "key", "value")]
    weights = nodes.weight(f"{name}.qkv", np.concatenate([tensors[f"{part}.weight"].T for part in parts], axis=1))
    biases = nodes.weight(f"{name}.qkv bias", np.concatenate([tensors[f"{part}.bias"] for part in parts]))
    heads = int(config["num_attention_heads"])
    attended = nodes.add("Attention", [hidden, weights, biases, "mask"], f"{name} attended", _FUSED, num_heads=heads)
    if alone:
        first = nodes.weight("first token", np.array([0], np.int64))
        attended = nodes.add("Gather", [attended, first], "first attended", axis=1)
        hidden = nodes.add("Gather", [hidden, first], "first hidden", axis=1)
    hidden = _skipped(nodes, f"{name}.attention.output", attended, hidden, config, tensors)
    inner = nodes.weight(f"{name}.inner", tensors[f"{name}.intermediate.dense.weight"].T)
    nodes.add("MatMul", [hidden, inner], f"{name} wide")
    bias = nodes.weight(f"{name}.inner bias", tensors[f"{name}.intermediate.dense.bias"])
    nodes.add("BiasGelu", [f"{name} wide", bias], f"{name} active", _FUSED)
    return _skipped(nodes, f"{name}.output", f"{name} active", hidden, config, tensors)


def _skipped(nodes: _Nodes, name: str, hidden: str, skip: str, config: dict[str, Any], tensors: Tensors) -> str:
    """A dense layer, the layer's input added to it, and the sum normalised."""
    dense = nodes.weight(f"{name}.dense", tensors[f"{name}.dense.weight"].T)
    nodes.add("MatMul", [hidden, dense], f"{name} dense")
    scale = nodes.weight(f"{name}.scale", tensors[f"{name}.LayerNorm.weight"])
    shift = nodes.weight(f"{name}.shift", tensors[f"{name}.LayerNorm.bias"])
    bias = nodes.weight(f"{name}.dense bias", tensors[f"{name}.dense.bias"])
    inputs = [f"{name} dense", skip, scale, shift, bias]
    return nodes.add("SkipLayerNormalization", inputs, f"{name} out", _FUSED, epsilon=config["layer_norm_eps"])


def _is_cross_encoder(tensors: Tensors) -> bool:
    return "classifier.weight" in tensors and len(tensors["classifier.weight"]) <= _MOST_OUTPUTS


def _classified(nodes: _Nodes, hidden: str, tensors: Tensors) -> None:
    """The score by the first token."""
    vectors = hidden
    if "pooler.dense.weight" in tensors:
        nodes.add("MatMul", [vectors, nodes.weight("pooler", tensors["pooler.dense.weight"].T)], "bare pooled")
        nodes.add("Add", ["bare pooled", nodes.weight("pooler bias", tensors["pooler.dense.bias"])], "shifted pooled")
        vectors = nodes.add("Tanh", ["shifted pooled"], "pooled")
    head, bias = tensors["classifier.weight"], tensors["classifier.bias"]
    if len(head) > 1:
        head, bias = head[1:] - head[:1], bias[1:] - bias[:1]
    # A product of one column is not worth quantising, and its error would fall on the score itself.
    nodes.add("Mul", [vectors, nodes.weight("head", head[0])], "shares")
    last = nodes.weight("head axis", np.array([-1], np.int64))
    nodes.add("ReduceSum", ["shares", last], "bare scores", keepdims=0)
    nodes.add("Add", ["bare scores", nodes.weight("head bias", bias)], "scores")


def _first(nodes: _Nodes, hidden: str) -> None:
    """The vector of the first token, at length 1."""
    nodes.add("Squeeze", [hidden, nodes.weight("token axis", np.array([1], np.int64))], "first vector")
    nodes.add("LpNormalization", ["first vector"], "vectors", axis=-1, p=2)


def _pooled(nodes: _Nodes, hidden: str) -> None:
    """The mean of the vectors of the tokens that the mask names, at length 1."""
    from onnx import TensorProto

    nodes.add("Cast", ["mask"], "mask as float", to=TensorProto.FLOAT)
    last = nodes.weight("last axis", np.array([-1], np.int64))
    nodes.add("Unsqueeze", ["mask as float", last], "mask column")
    nodes.add("Mul", [hidden, "mask column"], "masked")
    tokens = nodes.weight("token axis", np.array([1], np.int64))
    nodes.add("ReduceSum", ["masked", tokens], "summed", keepdims=0)
    nodes.add("LpNormalization", ["summed"], "vectors", axis=-1, p=2)
