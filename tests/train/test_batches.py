"""Batches on the device, compared with the token reader."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from citewell.errors import CitewellError
from citewell.models.inputs import Inputs, PaperText, TokenReader
from citewell.papers import Query
from tests.evaluate.small_set import small_set

torch = pytest.importorskip("torch")
tokenizers = pytest.importorskip("tokenizers")

INPUTS = Inputs(query=48, context=24, topic=14, title=8, paper=64, paper_title=8, contexts=3, window=10)
LONG = "the harbour pilot reads the tide table before every voyage " * 30


ROBERTA = {"[PAD]": "<pad>", "[UNK]": "<unk>", "[CLS]": "<s>", "[SEP]": "</s>", "[MASK]": "<mask>"}
MPNET = {**ROBERTA, "[UNK]": "[UNK]"}


def renumbered(folder: Path, names: dict[str, str]) -> str:
    """A tokeniser with other names and numbers of the special tokens than BERT's."""
    content = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    vocabulary = [names.get(token, token) for token in content["model"]["vocab"]]
    vocabulary += [token for token in ("[PAD]", "[CLS]", "[SEP]", "[MASK]") if names is MPNET]  # as words, not declared special
    content["model"]["vocab"] = {token: number for number, token in enumerate(reversed(vocabulary))}
    content["model"]["unk_token"] = names["[UNK]"]
    for token in content["added_tokens"]:
        token["content"] = names.get(token["content"], token["content"])
        token["id"] = content["model"]["vocab"][token["content"]]
    content["post_processor"] = None
    return json.dumps(content)


@pytest.fixture(scope="module", params=["bert", "roberta", "mpnet"])
def reader(minilm: Path, request: pytest.FixtureRequest) -> TokenReader:
    if request.param == "bert":
        tokenizer = tokenizers.Tokenizer.from_file(str(minilm / "tokenizer.json"))
    else:
        tokenizer = tokenizers.Tokenizer.from_str(renumbered(minilm, ROBERTA if request.param == "roberta" else MPNET))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return TokenReader(tokenizer, INPUTS)


def test_special_tokens_are_those_of_the_vocabulary(reader: TokenReader) -> None:
    tokenizer, special = reader._tokenizer, reader.special
    expected = ["<s>", "</s>", "<mask>"] if tokenizer.token_to_id("<s>") is not None else ["[CLS]", "[SEP]", "[MASK]"]
    assert [tokenizer.id_to_token(number) for number in special[:3]] == expected
    (tokens,) = reader.tokens(["as TARGETCIT and OTHERCIT say"])
    assert tokens.count(special.mask) == 1 and tokens.count(tokenizer.token_to_id(special.other)) == 1


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory):  # type: ignore[no-untyped-def]
    """Papers with more contexts than fit, without abstract, without title, with long texts; long queries."""
    from citewell.train.pairs import read_source

    dataset = small_set()
    dataset.papers[0] |= {"title": LONG, "abstract": LONG}
    dataset.papers[1] |= {"abstract": ""}
    dataset.papers[2] |= {"title": "", "abstract": "only an abstract"}
    dataset.papers[40] |= {"abstract": LONG}
    for number in range(9):
        text = f"{LONG[: 40 * number]} number {number} TARGETCIT {LONG[: 300 - 30 * number]}"
        dataset.contexts.append({"id": f"x{number}", "citing": "p2018-3", "cited": ["p2016-0"], "text": text, "section": ""})
    dataset.contexts.append(
        {"id": "y", "citing": "p2018-3", "cited": ["p2016-0"], "text": f"no gap here {LONG}", "section": ""}
    )
    for number, paper in enumerate(dataset.papers[30:36]):
        topic = LONG if number == 1 else paper["title"]
        dataset.paragraphs.append(
            {"id": f"t{number}", "citing": paper["id"], "cited": paper["references"], "topic_sentence": topic}
        )
    return read_source(dataset.write(tmp_path_factory.mktemp("twin")))


def row_tokens(tokens, row: int) -> list[int]:  # type: ignore[no-untyped-def]
    ids: list[int] = tokens.ids[row][tokens.mask[row]].tolist()
    return ids


LAYOUTS = {
    "context first": INPUTS,
    "context last": replace(INPUTS, query=60, context_last=True),
    "mark before the context": replace(INPUTS, query=44, context_last=True, context_mark="[unused1]"),
    "short contexts": replace(INPUTS, context_characters=30),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_query_tokens_equal_those_of_the_token_reader(source, reader: TokenReader, layout: str) -> None:  # type: ignore[no-untyped-def]
    from citewell.train.batches import Texts
    from citewell.train.packing import pack

    inputs = LAYOUTS[layout]
    reader = TokenReader(reader._tokenizer, inputs)
    texts = Texts(pack([source], reader, inputs), inputs, torch.device("cpu"))
    judged_queries = [
        judged
        for by_task in source.queries.values()
        for queries in by_task.values()
        for judged in queries
        for _ in range(2 if judged.sentences else 1)
        if any(name in source.number for name in judged.relevant)
    ]
    assert {judged.query.task for judged in judged_queries} == {"global", "local", "paragraph", "evidence"}
    tokens = texts.queries(torch.arange(len(judged_queries)))
    for row, judged in enumerate(judged_queries):
        assert row_tokens(tokens, row) == reader.query(judged.query)
    without = texts.queries(torch.arange(len(judged_queries)), contexts=False)
    for row, judged in enumerate(judged_queries):
        assert row_tokens(without, row) == reader.query(replace(judged.query, context=""))


def test_a_context_that_is_last_is_never_cut_by_the_abstract(reader: TokenReader) -> None:
    inputs = replace(INPUTS, context_last=True, context_mark="[unused1]")
    marked = TokenReader(reader._tokenizer, inputs)
    tokens = marked.query(Query("paragraph", "Ferries", LONG, "The pilot waits."))
    (topic,), (title,) = marked.tokens(["The pilot waits."]), marked.tokens(["Ferries"])
    mark = marked._tokenizer.token_to_id("[unused1]")
    assert tokens[: len(title) + 2] == [marked.cls, *title, marked.sep] and len(tokens) <= inputs.query
    assert tokens[-len(topic) - 2 :] == [mark, *topic, marked.sep]
    with pytest.raises(CitewellError, match=r"no token '\[TS\]'"):
        TokenReader(reader._tokenizer, replace(inputs, context_mark="[TS]"))


def test_a_pack_for_another_layout_is_refused(source, reader: TokenReader) -> None:  # type: ignore[no-untyped-def]
    from citewell.train.batches import Texts
    from citewell.train.packing import pack

    arrays = pack([source], reader, INPUTS)
    for changed in ({"context_characters": 200}, {"context_last": True, "context_mark": "[unused1]"}):
        with pytest.raises(CitewellError, match="pack again with this recipe"):
            Texts(arrays, replace(INPUTS, **changed), torch.device("cpu"))


@pytest.mark.parametrize("before", [0, 2017, 2018, 2019])
@pytest.mark.parametrize("contexts", [0, 1, 3])
def test_paper_tokens_equal_those_of_the_token_reader(  # type: ignore[no-untyped-def]
    source, reader: TokenReader, minilm: Path, before: int, contexts: int
) -> None:
    from citewell.train.batches import Texts
    from citewell.train.packing import pack

    inputs = replace(INPUTS, contexts=contexts)
    twin = TokenReader(reader._tokenizer, inputs)
    texts = Texts(pack([source], twin, inputs), inputs, torch.device("cpu"))
    contexts_of: list[list[tuple[int, str]]] = [[] for _ in source.papers]
    first: dict[str, int] = {}
    for text, year, cited in source.contexts:
        first.setdefault(text, len(first))
        for paper in cited:
            contexts_of[paper].append((year, text))
    numbers = torch.arange(len(source.papers))
    tokens = texts.papers(numbers, torch.full_like(numbers, before))
    for row, paper in enumerate(source.papers):
        visible = sorted((pair for pair in contexts_of[row] if pair[0] < before), key=lambda pair: (pair[0], first[pair[1]]))
        expected = twin.papers([PaperText(paper.title, paper.abstract, [text for _, text in visible])])[0]
        assert row_tokens(tokens, row) == expected
    if before == 2019 and contexts == 3:
        assert max(map(len, contexts_of)) > 3 and len(row_tokens(tokens, 0)) == INPUTS.paper


def test_sampled_contexts_are_from_earlier_years_and_in_order(source, reader: TokenReader) -> None:  # type: ignore[no-untyped-def]
    from citewell.train.batches import Texts
    from citewell.train.packing import pack

    arrays = pack([source], reader, INPUTS)
    texts = Texts(arrays, INPUTS, torch.device("cpu"))
    numbers = torch.arange(len(source.papers)).repeat(20)
    for before in (2016, 2017, 2018, 2019):
        rows = texts.contexts(numbers, torch.full_like(numbers, before), sampled=True)
        for paper, row in zip(numbers.tolist(), rows.tolist(), strict=True):
            place = slice(arrays["said_at"][paper], arrays["said_at"][paper + 1])
            years = dict(zip(arrays["said_text"][place].tolist(), arrays["said_year"][place].tolist(), strict=True))
            visible = [text for text in row if text]
            assert all(years[text] < before for text in visible)
            assert visible == sorted(visible, key=lambda text: years[text]) and len(set(visible)) == len(visible)
            assert len(visible) == min(INPUTS.contexts, sum(year < before for year in years.values()))


@pytest.mark.parametrize("kind", ["roberta", "mpnet"])
def test_models_of_berts_relatives_are_trained_as_they_are_served(kind: str, tmp_path: Path) -> None:
    from citewell.train.bert import read_bert, write_bert
    from tests.models import test_hugging_face as served

    tensors = served.random_weights()
    segments = tensors["bert.embeddings.token_type_embeddings.weight"]
    segments[:] = segments[0] * (kind == "roberta")
    distances = np.random.default_rng(2).normal(0, 2, (32, served.HEADS)).astype(np.float32) if kind == "mpnet" else None
    weights = served.as_roberta(tensors) if distances is None else served.as_mpnet(tensors, distances)
    more = {} if distances is None else {"relative_attention_num_buckets": 32}
    folder = served.write_model(tmp_path / kind, weights, model_type=kind, type_vocab_size=1, pad_token_id=1, **more)
    ids = [2, 5, 6, 8, 9, 3]
    model = read_bert(folder).eval()
    padded, mask = torch.tensor([[*ids, 0, 0]]), torch.arange(8)[None] < len(ids)
    with torch.no_grad():
        vectors = model(padded, mask)[0, : len(ids)].numpy()
    np.testing.assert_allclose(vectors, served.bert(tensors, ids, [0] * len(ids), distances), atol=1e-4)
    write_bert(model, tmp_path / "again")
    with torch.no_grad():
        again = read_bert(tmp_path / "again").eval()(padded, mask)[0, : len(ids)].numpy()
    np.testing.assert_allclose(again, vectors, atol=0.02)
