"""What quantisation to 8 bits costs: an encoder with the weights as trained and as served, on the same queries of a set.

python -m benchmarks.rounding WEIGHTS SET [--task local] [--split dev] [--sample 1000]

WEIGHTS is the folder ``weights`` that ``citewell train encoder`` writes. A served model (a folder with ``model.onnx``, such as
the shipped ones) no longer has the weights as trained; then its rounded weights are multiplied in 8 and in 32 bits. Both forms
encode all papers of the set, which takes a while; their vectors are stored with the set's library.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
import numpy.typing as npt

from citewell.cli.progress import TerminalProgress
from citewell.evaluate.evaluation import Evaluation
from citewell.models.bert_onnx import CONFIG, WEIGHTS, convert
from citewell.models.inputs import FILE as BUDGETS
from citewell.models.onnx import MODEL, TOKENIZER
from citewell.pipeline.pipeline import Pipeline
from citewell.retrieve.dense import Dense

FORMS = ("int8", "float32")
_MEASURES = ("R@10", "RR")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("weights", type=Path)
    parser.add_argument("set", type=Path)
    parser.add_argument("--task", default="local")
    parser.add_argument("--split", default="dev", choices=("dev", "test"))
    parser.add_argument("--sample", type=int, default=1000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as models, tempfile.TemporaryDirectory() as scratch, TerminalProgress() as progress:
        os.environ["CITEWELL_MODELS"] = models
        weights = _unrounded(given.weights, Path(scratch)) if (given.weights / MODEL).is_file() else given.weights
        for form in FORMS:
            folder = Path(models) / form
            folder.mkdir()
            for name in (BUDGETS, TOKENIZER):
                shutil.copyfile(given.weights / name, folder / name)
            convert(weights, folder / MODEL, quantised=form == "int8")
        evaluation = Evaluation(given.set, given.task, given.split, given.sample, progress=progress)
        systems = [Pipeline(form, "", (Dense(form, "own+cited"),)) for form in FORMS]
        outcomes = evaluation.run(systems).outcomes
    for outcome in outcomes:
        print(f"{outcome.name:8} " + "  ".join(f"{name} {outcome.mean(name):.4f}" for name in _MEASURES))
    rounded, whole = outcomes
    print("int8 - float32 " + "  ".join(f"{name} {rounded.mean(name) - whole.mean(name):+.4f}" for name in _MEASURES))


def _unrounded(served: Path, folder: Path) -> Path:
    """The weights of a served encoder in Hugging Face's layout, with the precision of 8 bits."""
    import onnx
    from onnx import helper, numpy_helper
    from safetensors.numpy import save_file

    graph = onnx.load(served / MODEL).graph
    tensors = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    attention = [node for node in graph.node if node.op_type == "QAttention"]
    heads = next(helper.get_attribute_value(each) for each in attention[0].attribute if each.name == "num_heads")

    def dequantised(name: str) -> npt.NDArray[np.float32]:
        codes, scale, zero = (tensors[f"{name}_{part}"].astype(np.float32) for part in ("quantized", "scale", "zero_point"))
        return np.asarray((codes - zero) * scale, np.float32)

    words, places = dequantised("words"), tensors["places"]
    weights = {
        "embeddings.word_embeddings.weight": words,
        "embeddings.position_embeddings.weight": places,
        "embeddings.token_type_embeddings.weight": np.zeros((1, words.shape[1]), np.float32),  # they are in the places
        "embeddings.LayerNorm.weight": tensors["embeddings.LayerNorm.scale"],
        "embeddings.LayerNorm.bias": tensors["embeddings.LayerNorm.bias"],
    }
    for layer in (f"encoder.layer.{at}" for at in range(len(attention))):
        parts = zip(np.split(dequantised(f"{layer}.qkv"), 3, axis=1), np.split(tensors[f"{layer}.qkv bias"], 3), strict=True)
        for name, (weight, bias) in zip(("query", "key", "value"), parts, strict=True):
            weights |= {f"{layer}.attention.self.{name}.weight": weight.T, f"{layer}.attention.self.{name}.bias": bias}
        weights |= {f"{layer}.intermediate.dense.weight": dequantised(f"{layer}.inner").T}
        weights |= {f"{layer}.intermediate.dense.bias": tensors[f"{layer}.inner bias"]}
        for name in (f"{layer}.attention.output", f"{layer}.output"):
            weights |= {
                f"{name}.dense.weight": dequantised(f"{name}.dense").T,
                f"{name}.dense.bias": tensors[f"{name}.dense bias"],
            }
            weights |= {
                f"{name}.LayerNorm.weight": tensors[f"{name}.scale"],
                f"{name}.LayerNorm.bias": tensors[f"{name}.shift"],
            }
    save_file({name: np.ascontiguousarray(value) for name, value in weights.items()}, folder / WEIGHTS)
    shape = {"num_hidden_layers": len(attention), "num_attention_heads": heads, "hidden_size": words.shape[1]}
    (folder / CONFIG).write_text(json.dumps(shape), encoding="utf-8")
    return folder


if __name__ == "__main__":
    main()
