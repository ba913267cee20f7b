"""Downloaded models, compared with BERT in plain numpy."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from citewell.errors import CitewellError
from citewell.models import cross_encoder, encoder, hugging_face
from citewell.models.attention import AttentionReader
from citewell.models.bert_onnx import convert
from citewell.models.inputs import PaperText
from citewell.models.layouts import distance_buckets
from citewell.models.torch_file import read_torch_file
from citewell.papers import Query
from citewell.pipeline.pipeline import Pipeline
from citewell.rerank.cross_encoder import Rerank
from citewell.retrieve.bm25 import BM25
from citewell.retrieve.dense import Dense

onnx = pytest.importorskip("onnx")
safetensors = pytest.importorskip("safetensors.numpy")

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "boats", "gulls", "harbour", "tide", "##s", "global", "local", ":", "."]
SIZE, INNER, HEADS, LAYERS = 16, 32, 2, 2
CONFIG = {
    "model_type": "bert",
    "vocab_size": len(WORDS),
    "hidden_size": SIZE,
    "intermediate_size": INNER,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "max_position_embeddings": 64,
    "type_vocab_size": 2,
    "layer_norm_eps": 1e-12,
}
Tensors = dict[str, np.ndarray]


def random_weights(outputs: int = 0, pooler: bool = False) -> Tensors:
    """Random weights, with Hugging Face's names."""
    draw = np.random.default_rng(1)

    def linear(name: str, size: int, inputs: int) -> Tensors:
        return {f"{name}.weight": draw.normal(0, 0.3, (size, inputs)), f"{name}.bias": draw.normal(0, 0.1, size)}

    def norm(name: str) -> Tensors:
        return {f"{name}.weight": draw.normal(1, 0.1, SIZE), f"{name}.bias": draw.normal(0, 0.1, SIZE)}

    tensors = {
        "bert.embeddings.word_embeddings.weight": draw.normal(0, 1, (len(WORDS), SIZE)),
        "bert.embeddings.position_embeddings.weight": draw.normal(0, 0.3, (64, SIZE)),
        "bert.embeddings.token_type_embeddings.weight": draw.normal(0, 0.3, (2, SIZE)),
        **norm("bert.embeddings.LayerNorm"),
    }
    for layer in range(LAYERS):
        name = f"bert.encoder.layer.{layer}"
        for part in ("query", "key", "value"):
            tensors |= linear(f"{name}.attention.self.{part}", SIZE, SIZE)
        tensors |= linear(f"{name}.attention.output.dense", SIZE, SIZE) | norm(f"{name}.attention.output.LayerNorm")
        tensors |= linear(f"{name}.intermediate.dense", INNER, SIZE)
        tensors |= linear(f"{name}.output.dense", SIZE, INNER) | norm(f"{name}.output.LayerNorm")
    if pooler:
        tensors |= linear("bert.pooler.dense", SIZE, SIZE)
    if outputs:
        tensors |= linear("classifier", outputs, SIZE)
    return {name: value.astype(np.float32) for name, value in tensors.items()}


def as_roberta(tensors: Tensors) -> Tensors:
    """The same model in RoBERTa's layout: two unused positions first, one segment, and a classifier with two layers."""
    names = {"bert.": "roberta.", "classifier.": "classifier.out_proj.", "roberta.pooler.": "classifier."}
    renamed = dict(tensors)
    for ours, theirs in names.items():
        renamed = {name.replace(ours, theirs, 1) if name.startswith(ours) else name: value for name, value in renamed.items()}
    places, kinds = (f"roberta.embeddings.{name}_embeddings.weight" for name in ("position", "token_type"))
    renamed[places] = np.concatenate([np.full((2, SIZE), 9, np.float32), renamed[places]])
    renamed[kinds] = renamed[kinds][:1]
    return renamed


def as_mpnet(tensors: Tensors, distances: np.ndarray) -> Tensors:
    """The same model in MPNet's layout, with a bias by distance."""
    names = {f"attention.self.{part}": f"attention.attn.{part[0]}" for part in ("query", "key", "value")}
    names |= {"attention.output.dense": "attention.attn.o", "attention.output.LayerNorm": "attention.LayerNorm"}
    renamed = {name.replace("roberta.", "mpnet."): value for name, value in as_roberta(tensors).items()}
    for ours, theirs in names.items():
        renamed = {name.replace(ours, theirs): value for name, value in renamed.items()}
    del renamed["mpnet.embeddings.token_type_embeddings.weight"]
    return {**renamed, "mpnet.encoder.relative_attention_bias.weight": distances}


def bert(
    tensors: Tensors,
    ids: list[int],
    kinds: list[int],
    distances: np.ndarray | None = None,
    shares: list[np.ndarray] | None = None,
) -> np.ndarray:
    """The token vectors of one text of up to 12 tokens; `distances` is MPNet's table, with a row for each small distance.

    The attention of each layer is appended to `shares`.
    """

    def linear(name: str, hidden: np.ndarray) -> np.ndarray:
        return np.asarray(hidden @ tensors[f"{name}.weight"].T + tensors[f"{name}.bias"])

    def norm(name: str, hidden: np.ndarray) -> np.ndarray:
        centred = hidden - hidden.mean(axis=1, keepdims=True)
        scale = np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-12)
        return np.asarray(centred / scale * tensors[f"{name}.weight"] + tensors[f"{name}.bias"])

    tables = [tensors[f"bert.embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type")]
    hidden = norm("bert.embeddings.LayerNorm", tables[0][ids] + tables[1][: len(ids)] + tables[2][kinds])
    for layer in range(LAYERS):
        name = f"bert.encoder.layer.{layer}"
        query, key, value = (
            linear(f"{name}.attention.self.{part}", hidden).reshape(len(ids), HEADS, -1).transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 2, 1) / math.sqrt(SIZE // HEADS)
        if distances is not None:
            for here in range(len(ids)):
                for there in range(len(ids)):
                    # Of 32 rows, distances from 8 to 11 share one.
                    row = min(abs(here - there), 8) + (there > here) * len(distances) // 2
                    scores[:, here, there] += distances[row]
        attention = np.exp(scores - scores.max(axis=2, keepdims=True))
        attention /= attention.sum(axis=2, keepdims=True)
        if shares is not None:
            shares.append(attention)
        attended = (attention @ value).transpose(1, 0, 2).reshape(len(ids), SIZE)
        hidden = norm(f"{name}.attention.output.LayerNorm", linear(f"{name}.attention.output.dense", attended) + hidden)
        wide = linear(f"{name}.intermediate.dense", hidden)
        active = 0.5 * wide * (1 + np.vectorize(math.erf)(wide / math.sqrt(2)))
        hidden = norm(f"{name}.output.LayerNorm", linear(f"{name}.output.dense", active) + hidden)
    return hidden


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("CITEWELL_MODELS", str(tmp_path / "models"))
    monkeypatch.setattr(hugging_face, "user_cache_path", lambda *args, **named: tmp_path / "cache")
    yield tmp_path / "models"


def write_model(folder: Path, tensors: Tensors, **config: Any) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({**CONFIG, **config}))
    (folder / "vocab.txt").write_text("\n".join(WORDS))
    safetensors.save_file(tensors, folder / "model.safetensors")
    return folder


def near(vector: np.ndarray, expected: np.ndarray) -> bool:
    """Equal, up to the loss of 8-bit quantisation."""
    return float(vector @ (expected / np.linalg.norm(expected))) > 0.99


def test_old_config_files_get_defaults(models: Path) -> None:
    folder = write_model(models / "old", tensors := random_weights())
    short = {name: value for name, value in CONFIG.items() if name not in ("model_type", "layer_norm_eps")}
    (folder / "config.json").write_text(json.dumps(short))
    assert near(encoder.load("old").encode(["boats"])[0], bert(tensors, [2, 5, 3], [0] * 3).mean(axis=0))


def test_a_downloaded_encoder_is_served(models: Path) -> None:
    folder = write_model(models / "mean", tensors := random_weights())
    assert Pipeline("", "", (Dense("mean"),)).missing_weights() == []
    assert Pipeline("", "", (Dense("absent"),)).missing_weights() == ["absent"]
    ids = [2, 5, 6, 8, 9, 3]
    hidden = bert(tensors, ids, [0] * len(ids))
    (vector,) = encoder.load("mean").encode(["Boats gulls tides"])
    assert near(vector, hidden.mean(axis=0)) and not near(vector, hidden[0])
    assert not (folder / "model.onnx").exists(), "the downloaded folder is unchanged"
    first = write_model(models / "first", tensors)
    (first / "1_Pooling").mkdir()
    (first / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
    assert near(encoder.load("first").encode(["boats gulls tides"])[0], hidden[0])
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
    assert near(encoder.load("mean").encode(["boats gulls tides"])[0], hidden[0]), "a pooling file added later counts"


NEAR_AND_FAR = {-511: 31, -128: 31, -64: 30, -16: 26, -15: 25, -8: 24, -7: 23, -1: 17, 0: 0, 1: 1, 7: 7, 8: 8, 16: 10, 200: 15}
"""Buckets of distances by transformers 5.23, for MPNet's 32."""


def test_distances_have_the_buckets_that_mpnet_was_trained_with() -> None:
    buckets = distance_buckets(512, 32)
    assert {distance: buckets[distance + 511] for distance in NEAR_AND_FAR} == NEAR_AND_FAR
    np.testing.assert_array_equal(distance_buckets(40, 32), buckets[511 - 39 : 511 + 40])


@pytest.mark.parametrize("kind", ["roberta", "mpnet"])
@pytest.mark.parametrize("outputs", [0, 1])
def test_models_of_berts_relatives_are_served(models: Path, kind: str, outputs: int) -> None:
    tensors = random_weights(outputs, pooler=bool(outputs))
    tensors["bert.embeddings.token_type_embeddings.weight"][:] *= kind == "roberta"
    tensors["bert.embeddings.token_type_embeddings.weight"][1] = tensors["bert.embeddings.token_type_embeddings.weight"][0]
    distances = np.random.default_rng(2).normal(0, 1, (32, HEADS)).astype(np.float32) if kind == "mpnet" else None
    weights = as_roberta(tensors) if distances is None else as_mpnet(tensors, distances)
    write_model(models / kind, weights, model_type=kind, type_vocab_size=1, pad_token_id=1, max_position_embeddings=66)
    if not outputs:
        ids = [2, 5, 6, 8, 9, 3]
        short, long = encoder.load(kind).encode(["boats", "boats gulls tides"])
        assert near(long, bert(tensors, ids, [0] * len(ids), distances).mean(axis=0))
        assert near(short, bert(tensors, [2, 5, 3], [0] * 3, distances).mean(axis=0)), "padding is ignored"
        return
    text = [2, 10, 12, 3, 5, 3, 8, 9, 6, 3]
    first = bert(tensors, text, [0] * len(text), distances)[0]
    pooled = np.tanh(first @ tensors["bert.pooler.dense.weight"].T + tensors["bert.pooler.dense.bias"])
    expected = pooled @ tensors["classifier.weight"].T + tensors["classifier.bias"]
    found = cross_encoder.load(kind).scores(Query("global", title="boats"), [PaperText("tides gulls")])
    np.testing.assert_allclose(found, expected, atol=0.05 if kind == "mpnet" else 0.15)


@pytest.mark.parametrize("kind", ["bert", "mpnet"])
@pytest.mark.parametrize("quantised", [True, False])
def test_the_attention_of_a_served_model(models: Path, kind: str, quantised: bool) -> None:
    tensors = random_weights()
    distances = None
    if kind == "mpnet":
        tensors["bert.embeddings.token_type_embeddings.weight"][:] = 0
        distances = np.random.default_rng(2).normal(0, 1, (32, HEADS)).astype(np.float32)
    weights = tensors if distances is None else as_mpnet(tensors, distances)
    folder = write_model(models / kind, weights, model_type=kind, pad_token_id=1)
    served = hugging_face.convert_by_name(kind)
    if not quantised:
        convert(folder, served / "model.onnx", quantised=False)
    ids, expected = [2, 5, 6, 8, 9, 3], list[np.ndarray]()
    bert(tensors, ids, [0] * len(ids), distances, expected)
    found = AttentionReader(served).shares(ids)
    assert found.shape == (LAYERS, HEADS, len(ids), len(ids))
    np.testing.assert_allclose(found.sum(axis=3), 1, atol=1e-5)
    np.testing.assert_allclose(found, expected, atol=0.1 if quantised else 1e-4)


@pytest.mark.parametrize(("outputs", "pooler"), [(1, False), (1, True), (2, True)])
def test_a_downloaded_cross_encoder_is_served(models: Path, outputs: int, pooler: bool) -> None:
    write_model(models / "judge", tensors := random_weights(outputs, pooler))
    assert Pipeline.of(BM25(), Rerank("judge")).missing_weights() == []
    model = cross_encoder.load("judge")
    papers = [PaperText("harbour"), PaperText("tides gulls"), PaperText("boats")]
    query_ids = [2, 10, 12, 3, 5, 3]
    expected = []
    for text in ([7, 3], [8, 9, 6, 3], [5, 3]):
        vector = bert(tensors, query_ids + text, [0] * len(query_ids) + [1] * len(text))[0]
        if pooler:
            vector = np.tanh(vector @ tensors["bert.pooler.dense.weight"].T + tensors["bert.pooler.dense.bias"])
        logits = vector @ tensors["classifier.weight"].T + tensors["classifier.bias"]
        expected.append(logits[-1] - (logits[0] if outputs > 1 else 0))
    np.testing.assert_allclose(model.scores(Query("global", title="boats"), papers), expected, atol=0.15)


def test_a_graph_exported_by_other_tools_is_served(models: Path) -> None:
    from onnx import TensorProto, helper, numpy_helper

    folder = write_model(models / "theirs", tensors := random_weights())
    (folder / "model.safetensors").unlink()
    table = tensors["bert.embeddings.word_embeddings.weight"]
    names = ("input_ids", "attention_mask", "token_type_ids")
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["texts", "tokens"]) for name in names]
    output = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["texts", "tokens", SIZE])
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])]
    graph = helper.make_graph(nodes, "theirs", inputs, [output], [numpy_helper.from_array(table, "table")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "model.onnx")
    hugging_face._write_tokenizer(folder, folder)
    short, long = encoder.load("theirs").encode(["gulls", "boats gulls tides"])
    assert near(short, table[[2, 6, 3]].mean(axis=0)), "padding is ignored"
    assert near(long, table[[2, 5, 6, 8, 9, 3]].mean(axis=0))
    with pytest.raises(CitewellError, match="theirs shows no attention"):
        AttentionReader(folder)


def test_unsupported_models_are_one_line_errors(models: Path) -> None:
    write_model(models / "other", random_weights(), model_type="albert")
    with pytest.raises(CitewellError, match="has a model of type albert; only BERT, RoBERTa and MPNet can be read"):
        encoder.load("other")
    write_model(models / "sharp", random_weights(), hidden_act="relu")
    with pytest.raises(CitewellError, match="with hidden_act relu"):
        encoder.load("sharp")
    write_model(models / "plain", random_weights())
    with pytest.raises(CitewellError, match="is not a cross-encoder"):
        cross_encoder.load("plain").scores(Query("global", title="boats"), [PaperText("gulls")])
    write_model(models / "judge", random_weights(1))
    with pytest.raises(CitewellError, match="is not an encoder"):
        encoder.load("judge").encode(["boats"])
    (write_model(models / "mute", random_weights()) / "vocab.txt").unlink()
    with pytest.raises(CitewellError, match="has no tokeniser; put"):
        encoder.load("mute")


@pytest.mark.parametrize("as_zip", [True, False])
def test_torch_files_are_read_without_torch(models: Path, as_zip: bool) -> None:
    torch = pytest.importorskip("torch")
    folder = write_model(models / "pickled", tensors := random_weights())
    (folder / "model.safetensors").unlink()
    old = {name.replace("LayerNorm.weight", "LayerNorm.gamma"): torch.from_numpy(value) for name, value in tensors.items()}
    transposed = "bert.encoder.layer.0.intermediate.dense.weight"
    old[transposed] = old[transposed].T.contiguous().T
    torch.save(old, folder / "pytorch_model.bin", _use_new_zipfile_serialization=as_zip)
    stored = read_torch_file(folder / "pytorch_model.bin")
    assert all(np.array_equal(stored[name], value.numpy()) for name, value in old.items()) and stored.keys() == old.keys()
    ids = [2, 5, 3]
    assert near(encoder.load("pickled").encode(["boats"])[0], bert(tensors, ids, [0] * 3).mean(axis=0))


@pytest.mark.parametrize("as_zip", [True, False])
def test_other_types_and_other_objects_in_torch_files(tmp_path: Path, as_zip: bool) -> None:
    torch = pytest.importorskip("torch")
    kinds = [torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.bool]
    tensors = {str(kind): torch.tensor([[1.5, 0.0], [-2.0, 3.25]]).to(kind) for kind in kinds}
    torch.save(tensors, tmp_path / "weights.bin", _use_new_zipfile_serialization=as_zip)
    stored = read_torch_file(tmp_path / "weights.bin")
    assert all(np.array_equal(stored[name], value.float().numpy()) for name, value in tensors.items())
    torch.save({"path": tmp_path}, tmp_path / "other.bin", _use_new_zipfile_serialization=as_zip)
    with pytest.raises(CitewellError, match="is not a file of PyTorch weights: it contains pathlib"):
        read_torch_file(tmp_path / "other.bin")


def test_products_of_mpnet_are_computed_in_single_precision(models: Path) -> None:
    tensors = random_weights(1, pooler=True)
    tensors["bert.embeddings.token_type_embeddings.weight"][:] = 0
    distances = np.random.default_rng(2).normal(0, 1, (32, HEADS)).astype(np.float32)
    write_model(models / "mpnet", as_mpnet(tensors, distances), model_type="mpnet", max_position_embeddings=66)
    write_model(models / "bert", random_weights(1, pooler=True))
    kinds = {}
    for name in ("mpnet", "bert"):
        convert(models / name, models / f"{name}.onnx")
        kinds[name] = {node.op_type for node in onnx.load(models / f"{name}.onnx").graph.node}
    assert "DequantizeLinear" in kinds["mpnet"] and "DynamicQuantizeLinear" not in kinds["mpnet"]
    assert "DynamicQuantizeLinear" in kinds["bert"]
