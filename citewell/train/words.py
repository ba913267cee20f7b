"""Trains a base of words: a tokeniser of whole words, and a vector for each (skip-gram, gensim).

Medić's models read words and start from pretrained vectors, where transformers read pieces of words. The texts are those of all
papers of the sets, distractors included, and the citing contexts of the train years. The folder has the layout of other bases
(`config.json`, `tokenizer.json`, `model.safetensors`), so that packing, training and serving treat words as any other tokens.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt
from filelock import FileLock, Timeout

from citewell.errors import CitewellError
from citewell.evaluate.sets import DataSet
from citewell.evaluate.strict import when
from citewell.extras import require
from citewell.progress import SILENT, Progress
from citewell.train.card import CARD, LICENCE, TOKENIZER, write_json
from citewell.train.gensim_words import run_epochs
from citewell.train.recipe import WordHyperparameters, WordsRecipe
from citewell.train.save import EpochCheckpoints
from citewell.types import Float32Array

Words: TypeAlias = npt.NDArray[Any]
"""A text as numbers of words."""

if TYPE_CHECKING:
    from tokenizers import Tokenizer

VECTORS = "word_vectors"
"""The tensor of the vectors in model.safetensors."""
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
"""BERT's names, which every reader of a vocabulary knows; a gap is a mask, another citation is unknown."""
_BATCH = 2000


def train(recipe: WordsRecipe, sets: Sequence[Path], out: Path, progress: Progress = SILENT) -> dict[str, Any]:
    """Train the words of some sets and write the base to a folder; resumes an interrupted training after the last epoch."""
    started = time.monotonic()
    require("gensim", "safetensors")
    if not sets:
        raise CitewellError("name the sets whose words are learned: --set DIR")
    out.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(out / "training.lock", timeout=0):
            figures = _train(recipe, sets, out, progress)
    except Timeout:
        raise CitewellError(f"another training is writing to {out}; wait for it to end, or choose another folder") from None
    return {"recipe": recipe.name, "out": str(out), **figures, "seconds": round(time.monotonic() - started, 1)}


def _train(recipe: WordsRecipe, sets: Sequence[Path], out: Path, progress: Progress) -> dict[str, Any]:
    tokenizer, counts, texts = _vocabulary(recipe, sets, progress)
    tokenizer.save(str(out / TOKENIZER))
    rows = _rows(tokenizer, sets, texts, progress)
    names = [DataSet.open(folder).name for folder in sets]
    origin = f"{names} {texts} {sum(counts.values())} {msgspec.json.encode(recipe).decode()}"
    checkpoints = EpochCheckpoints(out / "words.training", origin)
    vectors = _vectors(rows, tokenizer, counts, recipe.words, checkpoints, progress)
    _write(out, vectors, recipe, {"sets": names, "texts": texts, "words": len(vectors), "running": sum(counts.values())})
    checkpoints.clear()
    return {"sets": names, "texts": texts, "words": len(vectors)}


def texts_of(folder: Path) -> Iterator[str]:
    """The texts of a set: its papers and distractors, and the contexts of the train years."""
    dataset = DataSet.open(folder)
    distractors = any(path.name.startswith("distractors") for path in dataset.files())
    years: dict[str, int] = {}
    for paper in dataset.papers(distractors):
        yield f"{paper.title}. {paper.abstract}" if paper.abstract else paper.title
        yield from (sentence.text for sentence in paper.sentences)
        years |= dict.fromkeys(paper.ids, when(paper) // 10_000)
    for context in dataset.contexts():
        if 0 < years.get(context.citing, 0) <= (dataset.train_until or 0):
            yield context.text


def word_tokenizer(words: Sequence[str]) -> Tokenizer:
    """A tokeniser of lower-case words of letters and digits; others are unknown."""
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

    tokenizer = Tokenizer(models.WordLevel({word: at for at, word in enumerate([*SPECIAL, *words])}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.NFKD(),
            normalizers.StripAccents(),
            normalizers.Lowercase(),
            normalizers.Replace(Regex(r"[^\p{L}\p{N}]+"), " "),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.add_special_tokens(list(SPECIAL))
    return tokenizer


def _vocabulary(recipe: WordsRecipe, sets: Sequence[Path], progress: Progress) -> tuple[Tokenizer, Counter[str], int]:
    """The tokeniser of the most frequent words, how often each occurs, and the number of texts."""
    from citewell.papers import OTHER_MARK, TARGET_MARK

    progress.start("counting words", len(sets), "sets")
    analyser, counts, texts = word_tokenizer([]), Counter[str](), 0
    assert analyser.normalizer is not None
    for folder in sets:
        for text in texts_of(folder):
            texts += 1
            plain = text.replace(TARGET_MARK, " ").replace(OTHER_MARK, " ")
            counts.update(analyser.normalizer.normalize_str(plain).split())
        progress.advance()
    frequent = [word for word, count in counts.most_common(recipe.vocabulary - len(SPECIAL)) if count >= recipe.words.min_count]
    if not frequent:
        raise CitewellError(f"no word occurs {recipe.words.min_count} times in these sets; lower min_count in [words]")
    return word_tokenizer(frequent), Counter({word: counts[word] for word in frequent}), texts


def _rows(tokenizer: Tokenizer, sets: Sequence[Path], size: int, progress: Progress) -> list[Words]:
    """Every text as numbers of words, unknown ones left out."""
    from citewell.papers import OTHER_MARK, TARGET_MARK

    progress.start("reading words", size, "texts")
    small = np.uint16 if tokenizer.get_vocab_size() <= 1 << 16 else np.int32
    rows: list[Words] = []
    for folder in sets:
        texts = (text.replace(TARGET_MARK, " ").replace(OTHER_MARK, " ") for text in texts_of(folder))
        while batch := list(islice(texts, _BATCH)):
            for encoding in tokenizer.encode_batch_fast(batch, add_special_tokens=False):
                known = [number for number in encoding.ids if number >= len(SPECIAL)]
                rows.append(np.array(known, small))
            progress.advance(len(batch))
    return rows


def _vectors(
    rows: Sequence[Words],
    tokenizer: Tokenizer,
    counts: Counter[str],
    numbers: WordHyperparameters,
    checkpoints: EpochCheckpoints,
    progress: Progress,
) -> Float32Array:
    """The vector of every word; special tokens have small random ones, and the padding is zero."""
    from gensim.models.word2vec import Word2Vec

    by_number = {number: word for word, number in tokenizer.get_vocab().items()}
    words = [by_number[number] for number in range(len(by_number))]
    model: Any = Word2Vec(
        vector_size=numbers.size,
        sg=1,
        window=numbers.window,
        negative=numbers.negatives,
        sample=numbers.sample,
        min_count=1,
        workers=1,
        seed=numbers.seed,
    )
    model.build_vocab_from_freq({word: counts[word] for word in words[len(SPECIAL) :]}, corpus_count=len(rows))
    model.init_weights()

    def texts() -> Iterable[list[str]]:
        return ([words[at] for at in row] for row in rows)

    progress.start("training word vectors", numbers.epochs * len(rows), "texts")
    run_epochs(model, "words", numbers.epochs, numbers.rate, texts, len(rows), checkpoints, progress)
    trained = np.array(model.wv.vectors, np.float32)[[model.wv.key_to_index[word] for word in words[len(SPECIAL) :]]]
    special = np.random.default_rng(numbers.seed).normal(0, trained.std(), (len(SPECIAL), numbers.size)).astype(np.float32)
    special[0] = 0
    return np.concatenate([special, trained])


def _write(out: Path, vectors: Float32Array, recipe: WordsRecipe, figures: dict[str, Any]) -> None:
    from safetensors.numpy import save_file

    save_file({VECTORS: vectors.astype(np.float16)}, out / "model.safetensors")
    config = {"model_type": "words", "vocab_size": len(vectors), "hidden_size": vectors.shape[1]}
    (out / "config.json").write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
    what = "words and their vectors (skip-gram), the base of Medić's models"
    write_json(out / CARD, {"what": what, "recipe": msgspec.to_builtins(recipe), **figures, "licence": LICENCE})
