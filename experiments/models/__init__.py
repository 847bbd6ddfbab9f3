"""The nouns of the product as tables."""

from experiments.models.annotation import (
    AnnotationQueue,
    FeedbackConfig,
    FeedbackToken,
    QueuedRun,
)
from experiments.models.comparisons import (
    Comparison,
    ComparisonEvaluator,
    ComparisonSide,
    Game,
    JudgingReport,
    Judgment,
    JudgmentScore,
    Order,
    Outcome,
    OutcomeDelta,
    Pair,
)
from experiments.models.datasets import (
    DEFAULT_SPLIT,
    MAX_NAME,
    Dataset,
    DatasetTag,
    DatasetVersion,
    DataType,
    Example,
    ExamplePayload,
    ExampleRevision,
    SavedMapping,
    Upload,
)
from experiments.models.evaluators import Evaluator, Pace, Provider
from experiments.models.feedback import Feedback
from experiments.models.jobs import (
    Evaluation,
    Job,
    JudgeReply,
    Lane,
    OpenQuestion,
    QueueItem,
    WorkerSign,
)
from experiments.models.races import Race
from experiments.models.runs import Attachment, Experiment, Run, RunPayload
from experiments.models.sharing import SharedLink

__all__ = [
    "DEFAULT_SPLIT",
    "MAX_NAME",
    "AnnotationQueue",
    "Attachment",
    "Comparison",
    "ComparisonEvaluator",
    "ComparisonSide",
    "DataType",
    "Dataset",
    "DatasetTag",
    "DatasetVersion",
    "Evaluation",
    "Evaluator",
    "Example",
    "ExamplePayload",
    "ExampleRevision",
    "Experiment",
    "Feedback",
    "FeedbackConfig",
    "FeedbackToken",
    "Game",
    "Job",
    "JudgeReply",
    "JudgingReport",
    "Judgment",
    "JudgmentScore",
    "Lane",
    "OpenQuestion",
    "Order",
    "Outcome",
    "OutcomeDelta",
    "Pace",
    "Pair",
    "Provider",
    "QueueItem",
    "QueuedRun",
    "Race",
    "Run",
    "RunPayload",
    "SavedMapping",
    "SharedLink",
    "Upload",
    "WorkerSign",
]
