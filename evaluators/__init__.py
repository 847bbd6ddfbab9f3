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
from evaluators.embeddings import (
    EmbeddingDistance,
    EmbeddingDistanceEvalChain,
    PairwiseEmbeddingDistanceEvalChain,
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
from evaluators.fallbacks import with_fallbacks
from evaluators.json_schema import JsonSchemaEvaluator
from evaluators.json_values import (
    JsonEditDistanceEvaluator,
    JsonEqualityEvaluator,
    JsonValidityEvaluator,
)
from evaluators.kinds import About, Kind, Setting
from evaluators.llm import (
    PRINCIPLES,
    ConstitutionalPrinciple,
    ContextQAEvalChain,
    CotQAEvalChain,
    Criteria,
    CriteriaEvalChain,
    LabeledCriteriaEvalChain,
    LabeledPairwiseStringEvalChain,
    LabeledScoreStringEvalChain,
    Model,
    PairwiseStringEvalChain,
    QAEvalChain,
    Reply,
    ScoreStringEvalChain,
    TrajectoryEvalChain,
    Unasked,
    as_model,
    principle,
    principles,
)
from evaluators.llm.fallback import with_retries
from evaluators.llm.generating import QAGenerateChain
from evaluators.llm.prices import list_price, with_prices
from evaluators.nearer import (
    BetterScoreWins,
    NearerByStringDistance,
    NearerByTokenOverlap,
    as_pairwise,
)
from evaluators.orders import in_both_orders, in_random_order
from evaluators.patterns import RegexMatchStringEvaluator
from evaluators.registry import (
    EvaluatorType,
    available,
    kind,
    load_evaluator,
    load_evaluators,
)
from evaluators.run_info import RunInfo
from evaluators.text import ExactMatchStringEvaluator, TokenOverlapEvaluator
from evaluators.trajectory_base import AgentTrajectoryEvaluator

__all__ = [
    "PRINCIPLES",
    "About",
    "AgentTrajectoryEvaluator",
    "BadKey",
    "BetterScoreWins",
    "ConstitutionalPrinciple",
    "ContextOverflow",
    "ContextQAEvalChain",
    "CotQAEvalChain",
    "Criteria",
    "CriteriaEvalChain",
    "EmbeddingDistance",
    "EmbeddingDistanceEvalChain",
    "Evaluator",
    "EvaluatorType",
    "ExactMatchStringEvaluator",
    "JsonEditDistanceEvaluator",
    "JsonEqualityEvaluator",
    "JsonSchemaEvaluator",
    "JsonValidityEvaluator",
    "Kind",
    "LabeledCriteriaEvalChain",
    "LabeledPairwiseStringEvalChain",
    "LabeledScoreStringEvalChain",
    "MissingExtra",
    "Model",
    "ModelError",
    "ModelTimeout",
    "NearerByStringDistance",
    "NearerByTokenOverlap",
    "OutOfTime",
    "PairwiseEmbeddingDistanceEvalChain",
    "PairwiseStringDistanceEvalChain",
    "PairwiseStringEvalChain",
    "PairwiseStringEvaluator",
    "ProviderError",
    "QAEvalChain",
    "QAGenerateChain",
    "RateLimited",
    "RegexMatchStringEvaluator",
    "Reply",
    "Result",
    "Row",
    "RunInfo",
    "ScoreStringEvalChain",
    "Setting",
    "StringDistance",
    "StringDistanceEvalChain",
    "StringEvaluator",
    "TokenOverlapEvaluator",
    "TrajectoryEvalChain",
    "Unasked",
    "UnreadableReply",
    "as_model",
    "as_pairwise",
    "available",
    "evaluator",
    "in_both_orders",
    "in_random_order",
    "kind",
    "list_price",
    "load_evaluator",
    "load_evaluators",
    "principle",
    "principles",
    "row_error",
    "with_fallbacks",
    "with_prices",
    "with_retries",
]
