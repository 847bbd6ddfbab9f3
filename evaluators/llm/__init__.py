"""Judges: models, prompts, and the reading of replies."""

from evaluators.llm.criteria import Criteria
from evaluators.llm.judging import Judged, Unasked
from evaluators.llm.models import Message, Model, Prompt, Reply, as_model
from evaluators.llm.pairwise import LabeledPairwiseStringEvalChain, PairwiseStringEvalChain
from evaluators.llm.prompting import fenced, fill

__all__ = [
    "Criteria",
    "Judged",
    "LabeledPairwiseStringEvalChain",
    "Message",
    "Model",
    "PairwiseStringEvalChain",
    "Prompt",
    "Reply",
    "Unasked",
    "as_model",
    "fenced",
    "fill",
]
