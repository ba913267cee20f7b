"""Converts the weights of an enhanced-context model to one ONNX file, without torch.

The graph is built node by node: one LSTM reads all texts, one attention layer pools each with its own query vector, and a
cosine compares the enhanced context with the candidates. Variants with a bibliography add authors and citation counts. The
inputs are one query and a batch of candidates, the output is one score per candidate.

Weights are stored in half precision and computed in single. The table of words, which all models of a base share, is in a file
of its own, so that an archive of many models has it once.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from citewell.files import replaced
from citewell.models.enhanced_context import Shape

WEIGHTS, WORDS = "network.npz", "words.npz"
TABLE = "words.data"
"""The table of words of a served model."""
WORD_TABLE = "words.weight"
_OPSET = 17
_MASKED = -1e9

Tensors = dict[str, npt.NDArray[np.float32]]


def write_weights(folder: Path, tensors: Mapping[str, npt.NDArray[Any]]) -> None:
    """Write weights as `read_weights` reads them."""
    halves: dict[str, Any] = {name: value.astype(np.float16) for name, value in tensors.items()}
    np.savez(folder / WORDS, **{WORD_TABLE: halves.pop(WORD_TABLE)})
    np.savez(folder / WEIGHTS, **halves)


def read_weights(folder: Path) -> Tensors:
    """The weights in a folder, in single precision."""
    tensors: Tensors = {}
    for file in (WEIGHTS, WORDS):
        with np.load(folder / file, allow_pickle=False) as arrays:
            tensors |= {name: arrays[name].astype(np.float32) for name in arrays.files}
    return tensors


def convert(folder: Path, target: Path) -> None:
    """Convert the model in `folder` (shape.json, network.npz, words.npz) to the ONNX file `target` and its table of words."""
    import onnx

    tensors = read_weights(folder)
    with replaced(target.with_name(TABLE), durable=False) as part:
        part.write_bytes(tensors[WORD_TABLE].astype(np.float16).tobytes())
    with replaced(target, durable=False) as part:
        onnx.save(_Graph(Shape.read(folder), tensors).model(), part)


class _Graph:
    """The nodes and weights of a graph under construction."""

    def __init__(self, shape: Shape, tensors: Tensors) -> None:
        self._shape, self._tensors = shape, tensors
        self._nodes: list[Any] = []
        self._weights: dict[str, Any] = {}

    def model(self) -> Any:
        from onnx import TensorProto, helper

        inputs: dict[str, tuple[int, list[str | int]]] = {
            "context": (TensorProto.INT64, [1, "context tokens"]),
            "gap": (TensorProto.INT64, [1]),
            "papers": (TensorProto.INT64, ["papers", "tokens"]),
            "lengths": (TensorProto.INT32, ["papers"]),
        }
        if self._shape.parts.enhanced:
            inputs["citing"] = (TensorProto.INT64, [1, "citing tokens"])
        if self._shape.parts.bibliography:
            inputs["authors"] = (TensorProto.INT64, ["papers", self._shape.authors])
            inputs["cited"] = (TensorProto.FLOAT, ["papers", self._shape.years + 1])
        self._add_scores()
        graph = helper.make_graph(
            self._nodes,
            "enhanced context",
            [helper.make_tensor_value_info(name, kind, sizes) for name, (kind, sizes) in inputs.items()],
            [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["papers"])],
            list(self._weights.values()),
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=8)

    # -- building ------------------------------------------------------------------------------------------------------

    def _constant(self, name: str, value: npt.NDArray[Any]) -> str:
        from onnx import numpy_helper

        self._weights.setdefault(name, numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def _weight(self, name: str, value: npt.NDArray[np.float32]) -> str:
        """A weight, stored in half precision."""
        from onnx import TensorProto

        stored = f"{name} in half precision"
        if stored in self._weights:
            return name
        return self._add("Cast", [self._constant(stored, value.astype(np.float16))], name, to=TensorProto.FLOAT)

    def _integers(self, *values: int) -> str:
        return self._constant(f"whole {' '.join(map(str, values))}", np.array(values, np.int64))

    def _word_table(self) -> str:
        """The table of words, which is in a file next to the graph."""
        from onnx import TensorProto

        sizes = self._tensors[WORD_TABLE].shape
        table = TensorProto(name="words", data_type=TensorProto.FLOAT16, dims=sizes, data_location=TensorProto.EXTERNAL)
        table.external_data.add(key="location", value=TABLE)
        self._weights.setdefault("words", table)
        return "words"

    def _gather(self, table: str, rows: str, output: str) -> str:
        """Rows of a table in half precision, in single precision."""
        from onnx import TensorProto

        self._add("Gather", [table, rows], f"{output} in half precision")
        return self._add("Cast", [f"{output} in half precision"], output, to=TensorProto.FLOAT)

    def _add(self, kind: str, inputs: list[str], output: str, **attributes: Any) -> str:
        from onnx import helper

        self._nodes.append(helper.make_node(kind, inputs, [output], name=f"node of {output}", **attributes))
        return output

    def _dense(self, name: str, hidden: str, output: str) -> str:
        """A linear layer."""
        weight = self._weight(f"{name}.weight", self._tensors[f"{name}.weight"].T)
        self._add("MatMul", [hidden, weight], f"{output} bare")
        return self._add("Add", [f"{output} bare", self._weight(f"{name}.bias", self._tensors[f"{name}.bias"])], output)

    # -- the parts of the model ----------------------------------------------------------------------------------------

    def _add_scores(self) -> None:
        hidden = self._add_lstm("context")
        self._add("Gather", [hidden, "gap"], "gap column", axis=1)
        self._add("Squeeze", ["gap column", self._integers(1)], "gap vector")
        query = context = self._add_attention("context", hidden, "gap vector")
        if self._shape.parts.enhanced:
            citing = self._add_attention("citing", self._add_lstm("citing"), context)
            query = self._add("Add", [context, citing], "enhanced context")
        paper = self._add_attention("papers", self._add_lstm("papers", "lengths"), query, "lengths")
        if not self._shape.parts.bibliography:
            self._cosine(query, paper, "scores")
            return
        text, bibliography = self._cosine(query, paper, "text score"), self._bibliography()
        if self._shape.parts.weighted:
            self._add("Sigmoid", [self._dense("weighing", context, "weights")], "bounded weights")
            self._add("Softmax", ["bounded weights"], "shares", axis=1)
            text, bibliography = self._share(0, text), self._share(1, bibliography)
        self._add("Add", [text, bibliography], "scores")

    def _add_lstm(self, name: str, lengths: str = "") -> str:
        """The hidden states of a BiLSTM: (texts, tokens, both directions)."""
        self._gather(self._word_table(), name, f"{name} words")
        self._add("Transpose", [f"{name} words"], f"{name} by time", perm=[1, 0, 2])
        weights = [self._weight(f"lstm {part}", self._lstm(part)) for part in ("W", "R", "B")]
        inputs = [f"{name} by time", *weights, *([lengths] if lengths else [])]
        self._add("LSTM", inputs, f"{name} read", hidden_size=self._shape.hidden, direction="bidirectional")
        self._add("Transpose", [f"{name} read"], f"{name} by text", perm=[2, 0, 1, 3])
        return self._add("Reshape", [f"{name} by text", self._integers(0, 0, 2 * self._shape.hidden)], f"{name} hidden")

    def _lstm(self, part: str) -> npt.NDArray[np.float32]:
        """Torch's weights of both directions, with the gates in ONNX's order."""
        names = {"W": ("weight_ih",), "R": ("weight_hh",), "B": ("bias_ih", "bias_hh")}[part]
        directions = []
        for end in ("", "_reverse"):
            each = [np.split(self._tensors[f"lstm.{name}_l0{end}"], 4) for name in names]
            directions.append(np.concatenate([gate for i, f, c, o in each for gate in (i, o, f, c)]))
        return np.stack(directions)

    def _add_attention(self, name: str, hidden: str, query: str, lengths: str = "") -> str:
        """Attention pooling of a text for a query vector: (texts, dimensions)."""
        keys = self._weight("attention keys", self._tensors["attention.keys.weight"].T)
        queries = self._weight("attention queries", self._tensors["attention.queries.weight"].T)
        self._add("MatMul", [query, queries], f"{name} projected query")
        self._add("MatMul", [hidden, keys], f"{name} projected keys")
        self._add("Unsqueeze", [f"{name} projected query", self._integers(1)], f"{name} projected query by token")
        self._add("Add", [f"{name} projected keys", f"{name} projected query by token"], f"{name} projected sum")
        self._add("Tanh", [f"{name} projected sum"], f"{name} activation")
        last = self._weight("attention scores", self._tensors["attention.scores.weight"].T)
        self._add("MatMul", [f"{name} activation", last], f"{name} attention")
        scores = f"{name} attention"
        if lengths:
            scores = self._without_padding(name, scores, lengths)
        self._add("Softmax", [scores], f"{name} attention shares", axis=1)
        self._add("Mul", [hidden, f"{name} attention shares"], f"{name} weighted")
        return self._add("ReduceSum", [f"{name} weighted", self._integers(1)], f"{name} vector", keepdims=0)

    def _without_padding(self, name: str, scores: str, lengths: str) -> str:
        from onnx import TensorProto

        self._add("Shape", [name], f"{name} width as list", start=1, end=2)
        self._add("Squeeze", [f"{name} width as list"], f"{name} width")
        zero, one = (self._constant(f"number {value}", np.array(value, np.int64)) for value in (0, 1))
        self._add("Range", [zero, f"{name} width", one], f"{name} places")
        self._add("Cast", [lengths], f"{name} ends", to=TensorProto.INT64)
        self._add("Unsqueeze", [f"{name} ends", self._integers(1)], f"{name} ends by text")
        self._add("Less", [f"{name} places", f"{name} ends by text"], f"{name} there")
        self._add("Unsqueeze", [f"{name} there", self._integers(2)], f"{name} there by token")
        far = self._constant("far", np.array(_MASKED, np.float32))
        return self._add("Where", [f"{name} there by token", scores, far], f"{name} attention inside")

    def _cosine(self, one: str, other: str, output: str) -> str:
        self._add("Mul", [one, other], f"{output} products")
        self._add("ReduceSum", [f"{output} products", self._integers(1)], f"{output} product", keepdims=0)
        for at, name in enumerate((one, other)):
            self._add("ReduceL2", [name], f"{output} length {at}", axes=[1], keepdims=0)
        self._add("Mul", [f"{output} length 0", f"{output} length 1"], f"{output} lengths")
        return self._add("Div", [f"{output} product", f"{output} lengths"], output)

    def _bibliography(self) -> str:
        """The score of authors and citation counts: (papers)."""
        people = self._constant("people", self._tensors["people.weight"].astype(np.float16))
        self._gather(people, "authors", "author vectors")
        self._add("Transpose", ["author vectors"], "author channels", perm=[0, 2, 1])
        for at, size in enumerate(self._shape.kernels):
            weight, bias = (
                self._weight(f"group {at} {part}", self._tensors[f"groups.{at}.{part}"]) for part in ("weight", "bias")
            )
            self._add("Conv", ["author channels", weight, bias], f"groups of {size}", kernel_shape=[size])
            self._add("ReduceMax", [f"groups of {size}"], f"best of {size}", axes=[2], keepdims=0)
        self._add("Concat", [f"best of {size}" for size in self._shape.kernels], "groups", axis=1)
        self._add("Relu", ["groups"], "who")
        self._add("Concat", ["who", "cited"], "known", axis=1)
        self._add("Sigmoid", [self._dense("bibliography.0", "known", "known inside")], "known bounded")
        self._add("Sigmoid", [self._dense("bibliography.1", "known bounded", "known outside")], "bibliography column")
        return self._add("Squeeze", ["bibliography column", self._integers(1)], "bibliography score")

    def _share(self, place: int, score: str) -> str:
        self._add("Gather", ["shares", self._constant(f"place {place}", np.array(place, np.int64))], f"share {place}", axis=1)
        return self._add("Mul", [score, f"share {place}"], f"{score} weighted")
