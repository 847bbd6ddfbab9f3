"""Evaluators: score one answer, or decide which of two is better; needs no server."""

from evaluators.base import (
    Evaluator,
    PairwiseStringEvaluator,
    Result,
    Row,
    StringEvaluator,
    row_error,
)
from evaluators.define import evaluator
from evaluators.distances import (
    PairwiseStringDistanceEvalChain,
    StringDistance,
    StringDistanceEvalChain,
)
from evaluators.errors import (
    BadKey,
    ContextOverflow,
    MissingExtra,
    ModelError,
    ModelTimeout,
    OutOfTime,
    ProviderError,
    RateLimited,
    UnreadableReply,
)
from evaluators.kinds import About, Kind, Setting
from evaluators.llm import (
    Criteria,
    LabeledPairwiseStringEvalChain,
    Model,
    PairwiseStringEvalChain,
    Reply,
    Unasked,
    as_model,
)
from evaluators.nearer import (
    BetterScoreWins,
    NearerByStringDistance,
    NearerByTokenOverlap,
    as_pairwise,
)
from evaluators.registry import (
    EvaluatorType,
    available,
    kind,
    load_evaluator,
    load_evaluators,
)
from evaluators.text import ExactMatchStringEvaluator, TokenOverlapEvaluator
from evaluators.trajectory_base import AgentTrajectoryEvaluator

__all__ = [
    "About",
    "AgentTrajectoryEvaluator",
    "BadKey",
    "BetterScoreWins",
    "ContextOverflow",
    "Criteria",
    "Evaluator",
    "EvaluatorType",
    "ExactMatchStringEvaluator",
    "Kind",
    "LabeledPairwiseStringEvalChain",
    "MissingExtra",
    "Model",
    "ModelError",
    "ModelTimeout",
    "NearerByStringDistance",
    "NearerByTokenOverlap",
    "OutOfTime",
    "PairwiseStringDistanceEvalChain",
    "PairwiseStringEvalChain",
    "PairwiseStringEvaluator",
    "ProviderError",
    "RateLimited",
    "Reply",
    "Result",
    "Row",
    "Setting",
    "StringDistance",
    "StringDistanceEvalChain",
    "StringEvaluator",
    "TokenOverlapEvaluator",
    "Unasked",
    "UnreadableReply",
    "as_model",
    "as_pairwise",
    "available",
    "evaluator",
    "kind",
    "load_evaluator",
    "load_evaluators",
    "row_error",
]
