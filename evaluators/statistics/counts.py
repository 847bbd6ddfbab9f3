"""What a verdict is computed from."""

from dataclasses import dataclass
from typing import Literal

from .inputs import fraction, whole
from .intervals import half_win_sd

Outcome = Literal["a", "b", "equivalent", "not_settled", "nothing"]
TieRule = Literal["decided", "half"]
PARTS = ("wins_a", "wins_b", "ties", "both_good", "both_bad", "failed", "missing", "pending")
WHOLE = (*PARTS, "comparisons")


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Rows of one comparison by outcome, and how they were judged; ValueError for bad counts.

    `both_good` and `both_bad` are parts of `ties`. `failed` and `missing` rows are left out of
    every rate, and named. Without a `rule` the half-win rate leads when most rows tie. With rows
    `pending`, or if judging stopped early (`sequential`), only always-valid numbers are shown.
    `adjusted_p` is the p-value (the always-valid one then) corrected for `comparisons` looked at
    together. `margin` is a share: 0.05 = 5 points.
    """

    wins_a: int
    wins_b: int
    ties: int = 0
    both_good: int = 0
    both_bad: int = 0
    failed: int = 0
    missing: int = 0
    pending: int = 0
    name_a: str = "A"
    name_b: str = "B"
    judge: str = ""
    people: bool = False
    confidence: float = 0.95
    margin: float = 0.05
    rule: TieRule | None = None
    sequential: bool = False
    adjusted_p: float | None = None
    comparisons: int = 1

    def __post_init__(self) -> None:
        for name in WHOLE:
            whole(name, getattr(self, name))
        if self.both_good + self.both_bad > self.ties:
            raise ValueError("both_good and both_bad are ties and cannot exceed them.")
        if not 0.5 < self.confidence < 1:
            raise ValueError(f"confidence must lie between 0.5 and 1, not {self.confidence!r}.")
        fraction("margin", self.margin)
        if self.rule not in (None, "decided", "half"):
            raise ValueError(f"rule must be 'decided' or 'half', not {self.rule!r}.")

    @property
    def judged(self) -> int:
        return self.wins_a + self.wins_b + self.ties

    @property
    def decided(self) -> int:
        return self.wins_a + self.wins_b

    @property
    def tie_rule(self) -> TieRule:
        """The rule asked for, else half when more than half of the judged rows tie."""
        mostly_ties = 0 < self.decided < self.ties
        return self.rule or ("half" if mostly_ties else "decided")

    @property
    def alpha(self) -> float:
        # 1 - 0.95 is 0.050000000000000044 in binary; the rounding keeps "below 0.05" exact.
        return round(1 - self.confidence, 12)

    @property
    def looked_early(self) -> bool:
        return self.sequential or self.pending > 0

    @property
    def row_mean(self) -> float | None:
        """Mean of the 1 / 0.5 / 0 row scores minus 0.5."""
        return (self.wins_a - self.wins_b) / self.judged / 2 if self.judged else None

    @property
    def row_sd(self) -> float | None:
        """Standard deviation of the row scores."""
        return half_win_sd(self.wins_a, self.wins_b, self.ties) if self.judged > 1 else None
