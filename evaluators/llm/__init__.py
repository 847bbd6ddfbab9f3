"""Judges: models, prompts, and the reading of replies."""

from evaluators.llm.adapters import as_model
from evaluators.llm.criteria import Criteria
from evaluators.llm.judge import (
    CriteriaEvalChain,
    LabeledCriteriaEvalChain,
    LabeledScoreStringEvalChain,
    ScoreStringEvalChain,
)
from evaluators.llm.judging import Judged, Unasked
from evaluators.llm.models import Message, Model, Prompt, Reply
from evaluators.llm.pairwise import LabeledPairwiseStringEvalChain, PairwiseStringEvalChain
from evaluators.llm.principles import PRINCIPLES, ConstitutionalPrinciple, principle, principles
from evaluators.llm.prompting import fenced, fill
from evaluators.llm.qa import ContextQAEvalChain, CotQAEvalChain, QAEvalChain
from evaluators.llm.reading import looks_like_verdict
from evaluators.llm.trajectory import TrajectoryEvalChain

__all__ = [
    "PRINCIPLES",
    "ConstitutionalPrinciple",
    "ContextQAEvalChain",
    "CotQAEvalChain",
    "Criteria",
    "CriteriaEvalChain",
    "Judged",
    "LabeledCriteriaEvalChain",
    "LabeledPairwiseStringEvalChain",
    "LabeledScoreStringEvalChain",
    "Message",
    "Model",
    "PairwiseStringEvalChain",
    "Prompt",
    "QAEvalChain",
    "Reply",
    "ScoreStringEvalChain",
    "TrajectoryEvalChain",
    "Unasked",
    "as_model",
    "fenced",
    "fill",
    "looks_like_verdict",
    "principle",
    "principles",
]
