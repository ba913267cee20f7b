"""Languages of short texts."""

from __future__ import annotations

import sys

import pytest

from citewell.text.languages import detect_language, language_name

SENTENCES = {
    "en": "Boats float on the water because they are lighter than it.",
    "de": "Boote schwimmen auf dem Wasser, weil sie leichter sind als dieses.",
    "fr": "Les bateaux flottent sur l'eau parce qu'ils sont plus légers qu'elle.",
    "es": "Los barcos flotan en el agua porque son más ligeros que ella.",
    "nl": "Boten drijven op het water omdat ze lichter zijn dan het water zelf.",
    "pl": "Łodzie unoszą się na wodzie, ponieważ są od niej lżejsze.",
    "ru": "Лодки плавают по воде, потому что они легче воды.",
    "zh": "船漂浮在水面上，因为它们比水轻。",
    "ja": "船は水より軽いので水に浮かびます。",
}


@pytest.mark.parametrize("code", SENTENCES)
def test_one_sentence_is_enough(code: str) -> None:
    assert detect_language(SENTENCES[code]) == code


def test_english_needs_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "py3langid", None)
    assert detect_language("The boats of the harbour are red and they float with the tide of this sea.") == "en"


def test_text_without_words_has_no_language() -> None:
    assert detect_language("1 + 2 = 3") == ""
    assert (language_name("de"), language_name("xx")) == ("German", "xx")


def test_names_and_slides_are_not_in_rare_languages() -> None:
    for text in ("Data, model, results, next steps: who does what by when?", "Ada Berg, Per Holm, Mia Sund, Olav Lund"):
        assert detect_language(text) not in ("pcm", "lb", "wuu", "yue", "gcf")
