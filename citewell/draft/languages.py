"""The languages of a draft, paragraph by paragraph.

A short paragraph (a caption, an item) is too little to tell by: it has the language that most of the text has. A single
paragraph of medium length in another language is more likely a list of names or of commands than a text in that language.
"""

from __future__ import annotations

from collections import Counter

from citewell.draft.builder import without_marks
from citewell.papers import Draft
from citewell.text.languages import detect_language

_MIN_LETTERS = 80
"""A paragraph with fewer letters is short."""
_MIN_OTHER = 250
"""A language other than that of most of the text needs this many letters in all."""
_MIN_CJK = 20
"""Chinese, Japanese and Korean say the same in fewer letters."""
_CJK = "\u2e80"
_OPENING = 1000


def paragraph_languages(draft: Draft) -> list[str]:
    """The ISO 639-1 code of each paragraph's language; empty where there is none."""
    texts = [without_marks(paragraph.text[:_OPENING]) for paragraph in draft.paragraphs]
    sizes = [sum(map(str.isalpha, text)) for text in texts]
    known = [detect_language(text) if _is_long(text, size) else "" for text, size in zip(texts, sizes, strict=True)]
    main = _main_language(known, texts, draft)
    letters = Counter[str]()
    for language, size in zip(known, sizes, strict=True):
        letters[language] += size
    # Letters of another script leave no doubt.
    return [
        language if language and (letters[language] >= _MIN_OTHER or any(letter >= _CJK for letter in text)) else main
        for language, text in zip(known, texts, strict=True)
    ]


def draft_languages(draft: Draft) -> dict[str, int]:
    """The number of paragraphs in each language, the most frequent first; that of the abstract where there are none."""
    languages = paragraph_languages(draft) or [_main_language([], [], draft)]
    return dict(Counter(language for language in languages if language).most_common())


def _main_language(known: list[str], texts: list[str], draft: Draft) -> str:
    """The language of most of the text, or, where all are short, of all the text together."""
    letters = Counter[str]()
    for language, text in zip(known, texts, strict=False):
        letters[language] += len(text) if language else 0
    if any(letters.values()):
        return letters.most_common(1)[0][0]
    return detect_language(" ".join([draft.title, draft.abstract[:_OPENING], *texts[:20]]))


def _is_long(text: str, letters: int) -> bool:
    return letters >= (_MIN_CJK if any(letter >= _CJK for letter in text[:_OPENING]) else _MIN_LETTERS)
