"""Stems and stop words, by language: Snowball's stemmers, and the lists of the package ``stop-words``.

A language is named by its ISO 639-1 code. Text in a language that Snowball does not have is analysed like English text.
"""

from __future__ import annotations

from functools import lru_cache

import Stemmer

from citewell.text.fold import folded

ENGLISH = "en"
SNOWBALL = {
    pair[:2]: pair[3:]
    for pair in (
        "ar:arabic ca:catalan cs:czech da:danish de:german el:greek en:english es:spanish et:estonian eu:basque fa:persian"
        " fi:finnish fr:french ga:irish hi:hindi hu:hungarian hy:armenian id:indonesian it:italian lt:lithuanian ne:nepali"
        " nl:dutch no:norwegian pl:polish pt:portuguese ro:romanian ru:russian sr:serbian sv:swedish ta:tamil tr:turkish"
    ).split()
}
"""Snowball's stemmers. Languages that are added here change the terms of an index: `analysis.VERSION` changes with them."""
_SAME = {"nb": "no", "nn": "no"}

ENGLISH_STOP_WORDS = frozenset(
    """a about above after again against all also am an and any are as at be because been before being below between both but
    by can cannot could did do does doing don down during each et few for from further had has have having he her here hers
    herself him himself his how i if in into is it its itself just ll me more most my myself no nor not now of off on once only
    or other our ours ourselves out over own re s same she should so some such t than that the their theirs them themselves
    then there these they this those through to too under until up ve very was we were what when where which while who whom why
    will with would you your yours yourself yourselves othercit targetcit""".split()
)
_MARKS = frozenset(("othercit", "targetcit"))


def stemmed_as(language: str) -> str:
    """The language whose stemmer is used for text in `language`."""
    language = _SAME.get(language, language)
    return language if language in SNOWBALL else ENGLISH


@lru_cache(maxsize=len(SNOWBALL))
def stop_words(language: str) -> frozenset[str]:
    """The stop words of a language, with and without their accents; only the citation marks where there is no list."""
    if language == ENGLISH:
        return ENGLISH_STOP_WORDS
    from stop_words import AVAILABLE_LANGUAGES, get_stop_words

    name = SNOWBALL[language]
    listed = [word.lower() for word in get_stop_words(name)] if name in AVAILABLE_LANGUAGES else []
    return _MARKS.union(listed, map(folded, listed))


class Stems:
    """The stems of the words of one language. Not to be used by two threads at once."""

    def __init__(self, language: str) -> None:
        self._stemmer = Stemmer.Stemmer(SNOWBALL[language], 0)
        self._stop_words = stop_words(language)

    def stem(self, word: str) -> str:
        """The stem of a word in lower case, without accents; empty for a stop word. Words with digits stay whole."""
        if word in self._stop_words:
            return ""
        whole = not word.isalpha() if word.isascii() else any(map(str.isdigit, word))
        return folded(word if whole else str(self._stemmer.stemWord(word)))
