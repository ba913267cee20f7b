"""Every stage in one place, to make pipelines in code::

from citewell.stages import BM25, Rerank

pipeline = BM25(k1=1.5) >> Rerank("citewell-cross", depth=50)
"""

from __future__ import annotations

from citewell.expand.links import Links
from citewell.expand.navigate import Navigate
from citewell.fuse.ensemble import ScoreEnsemble
from citewell.fuse.ltr import LTR
from citewell.fuse.reciprocal_rank import ReciprocalRank
from citewell.fuse.semi_genetic import SemiGenetic
from citewell.fuse.sub_pipeline import SubPipeline
from citewell.fuse.weighted_sum import WeightedSum
from citewell.rerank.co_citation import CoCitation
from citewell.rerank.context_similarity import ContextSimilarity
from citewell.rerank.cross_encoder import Rerank
from citewell.rerank.enhanced_context import EnhancedContext
from citewell.rerank.joint_snippets import JointSnippets
from citewell.rerank.semiser import SemiserSentences
from citewell.rerank.sentence_boost import SentenceBoost
from citewell.retrieve.bm25 import BM25
from citewell.retrieve.dense import Dense
from citewell.retrieve.embedded import PaperEmbeddings
from citewell.retrieve.semiser import Semiser
from citewell.retrieve.sentences import Sentences
from citewell.retrieve.topics import LDA

__all__ = [
    "BM25",
    "LDA",
    "LTR",
    "CoCitation",
    "ContextSimilarity",
    "Dense",
    "EnhancedContext",
    "JointSnippets",
    "Links",
    "Navigate",
    "PaperEmbeddings",
    "ReciprocalRank",
    "Rerank",
    "ScoreEnsemble",
    "SemiGenetic",
    "Semiser",
    "SemiserSentences",
    "SentenceBoost",
    "Sentences",
    "SubPipeline",
    "WeightedSum",
]
