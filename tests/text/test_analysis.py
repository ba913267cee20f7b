"""Text analysis: folding, tokens, stems, stop words."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.text import analysis
from citewell.text.analysis import Vocabulary, term_hash, terms, tokens


def words(text: str) -> list[str]:
    return [word for word, _ in terms(text).values()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The p53 gene", ["p53", "gene"]),
        ("IL-6, H2O2 and BM25", ["il", "6", "h2o2", "bm25"]),
        ("naïve Müller ﬁne", ["naive", "muller", "fine"]),
        ("α-synuclein — “quoted”", ["α", "synuclein", "quoted"]),
        ("as in TARGETCIT and OTHERCIT .", []),
        ("1998", ["1998"]),
        ("", []),
    ],
)
def test_terms_survive_folding(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_inflections_are_one_term() -> None:
    result = terms("recommend recommends recommending Recommended")
    assert list(result.values()) == [("recommend", 4)]


@pytest.mark.parametrize(
    ("language", "text", "same"),
    [
        ("de", "Die Häuser und das Haus am Hafen", "Hauser Haus Häfen"),
        ("fr", "les générations d\u2019images de la génération", "generation image"),
        ("es", "la informática de los puertos", "informatica puerto"),
        ("ru", "лодки в гавани", "лодка гавань"),
        ("hi", "हिन्दी भाषाओं का", "हिन्दी भाषा"),
        ("pl", "łodzie w porcie", "łodzie porcie"),
    ],
)
def test_each_language_has_its_stems_and_stop_words(language: str, text: str, same: str) -> None:
    vocabulary = Vocabulary()
    numbers, _ = vocabulary.numbers([text, same], [language, language])
    assert set(numbers[: len(numbers) // 2].tolist()) <= set(range(1, len(vocabulary.hashes)))
    assert set(vocabulary.numbers([text], [language])[0].tolist()) == set(vocabulary.numbers([same], [language])[0].tolist())


@given(st.text(max_size=200), st.sampled_from(["de", "fr", "hi", "en"]))
def test_a_query_has_every_term_of_the_same_text_in_any_language(text: str, language: str) -> None:
    vocabulary = Vocabulary()
    numbers, _ = vocabulary.numbers([text], [language])
    assert {vocabulary.hashes[number] for number in numbers} == set(terms(text, (language,), language))
    assert set(terms(text, (language,), language)) <= set(terms(text, ("en", language), language))


def test_stop_words_of_the_language_of_a_query_are_left_out_in_every_language() -> None:
    assert words("The die of the harbour") == ["die", "harbour"]
    assert not set(terms("the and of", ("en", "de"), "en")) | set(terms("die und der", ("en", "de"), "de"))
    assert {word for word, _ in terms("die learning", ("en", "de"), "en").values()} == {"die", "learning"}


def test_the_terms_of_a_word_come_with_that_word() -> None:
    assert {word for word, _ in terms("learning, learn and learned", ("de", "en", "fr")).values()} == {"learning"}


def test_a_word_of_a_query_counts_in_all_languages_of_the_library() -> None:
    query = terms("Das Lernen, auch reinforcement learning", ("de", "en"), "de")
    assert {"lernen", "reinforcement", "learning"} == {word for word, _ in query.values()}
    assert set(terms("learning", ("en",))) | set(terms("lernen", ("de",))) <= set(query)


def test_chinese_and_japanese_are_pairs_of_characters() -> None:
    assert words("深層学習 BERT模型 字") == ["深層", "層学", "学習", "bert", "模型", "字"]
    assert set(terms("学習")) <= set(terms("深層学習による分類"))


def test_a_token_with_a_digit_is_not_stemmed() -> None:
    assert len(terms("covid19s covid19")) == 2


@given(st.text(max_size=200))
def test_indexing_and_querying_see_the_same_terms(text: str) -> None:
    vocabulary = Vocabulary()
    numbers, lengths = vocabulary.numbers(["earlier paper", text, "later paper"])
    assert lengths.tolist() == [2, len(numbers) - 4, 2]
    indexed = sorted(vocabulary.hashes[number] for number in numbers[lengths[0] : len(numbers) - lengths[2]])
    queried = sorted(hashed for hashed, (_, times) in terms(text).items() for _ in range(times))
    assert indexed == queried


@given(st.text(max_size=200))
def test_tokens_are_made_of_letters_and_digits(text: str) -> None:
    assert all(token.decode().isalnum() or not token.decode().isascii() for token in tokens(text))


def test_threads_that_meet_the_same_new_words_agree() -> None:
    new = [f"fresh{number}word" for number in range(3000)]
    known = {word: term_hash(word.encode()) for word in new}  # a token with a digit is not stemmed
    with ThreadPoolExecutor(8) as pool:
        result = list(pool.map(terms, [" ".join(new)] * 16))
    for each in result:
        assert {word: term for term, (word, _) in each.items()} == known


def test_the_word_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analysis, "_MAX_CACHED", 100)
    for number in range(20):
        assert len(terms(" ".join(f"many{number}times{each}" for each in range(50)))) == 50
    assert len(analysis._query_vocabulary().hash_of) <= 150
    assert len(terms("boats boats gulls")) == 2
