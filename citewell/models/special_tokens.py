"""The special tokens of a vocabulary: what begins and separates texts, and what stands for a gap and for another citation.

BERT's vocabularies (SciBERT, SPECTER, SciNCL, MiniLM) and those of RoBERTa and MPNet name and number them differently. Serving
asks the tokeniser; packs for training carry the numbers that the tokeniser gave them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tokenizers import Tokenizer


class _Names(NamedTuple):
    cls: str
    sep: str
    mask: str
    unknown: str


_BERT = _Names("[CLS]", "[SEP]", "[MASK]", "[UNK]")
_ROBERTA = _Names("<s>", "</s>", "<mask>", "<unk>")
_MPNET = _ROBERTA._replace(unknown="[UNK]")


class SpecialTokens(NamedTuple):
    """Their numbers, and how two of them are written into a text."""

    cls: int
    sep: int
    mask: int
    gap: str = _BERT.mask
    other: str = _BERT.unknown

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> SpecialTokens:
        """Those of a tokeniser; a vocabulary without any of them has 0 for all, as static models that ignore them do.

        What the tokeniser declares as special comes first: MPNet's vocabulary has BERT's names too, as words that mean nothing.
        """
        declared = {token.content for token in tokenizer.get_added_tokens_decoder().values()}
        families = (_BERT, _MPNET, _ROBERTA)
        fitting = [names for names in families if declared.issuperset(names)] or [
            names for names in families if _has_all(tokenizer, names)
        ]
        names = fitting[0] if fitting else _BERT
        first, separator, mask = (tokenizer.token_to_id(name) or 0 for name in names[:3])
        return cls(first, separator, mask, names.mask, names.unknown)


def _has_all(tokenizer: Tokenizer, names: _Names) -> bool:
    return all(tokenizer.token_to_id(name) is not None for name in names)
