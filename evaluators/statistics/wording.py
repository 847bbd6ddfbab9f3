"""How numbers are written on screen: the only place where statistics are rounded."""

from decimal import ROUND_HALF_EVEN, Decimal

DASH = "–"


def percent_text(share: float | None, digits: int = 1) -> str:
    """Write a share in 0..1 as "47.4%"; never "0.0%" or "100.0%" for what only rounds to it."""
    if share is None:
        return DASH
    least = 10.0**-digits
    if 0 < share * 100 < least / 2:
        return f"<{least:g}%"
    if 100 - least / 2 <= share * 100 < 100:
        return f">{100 - least:g}%"
    return f"{rounded(share, digits)}%"


def rounded(share: float, digits: int) -> Decimal:
    """Return 100 times the share, rounded so that a share and its complement add up to 100."""
    # Halves go to the even digit on both sides; the first rounding removes binary noise.
    exact = Decimal(repr(round(float(share), 12))) * 100
    return exact.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_EVEN)


def interval_text(low: float | None, high: float | None) -> str:
    """Write an interval as "44–100%", with more digits when an end only rounds to 50%."""
    if low is None or high is None:
        return DASH
    digits = 0
    while digits < 4 and any(rounded(end, digits) == 50 and end != 0.5 for end in (low, high)):
        digits += 1
    return f"{rounded(low, digits)}–{rounded(high, digits)}%"


def p_text(p_value: float | None, alpha: float = 0.05) -> str:
    """Write a p-value with two digits, "p = 0.021"; more if rounding would move it over alpha."""
    if p_value is None:
        return f"p {DASH}"
    if p_value < 0.0001:
        return "p < 0.0001"
    if p_value >= 1:
        return "p = 1"
    if p_value >= 0.995:
        return "p > 0.99"
    digits = 2
    while digits < 8 and (float(f"{p_value:.{digits}g}") < alpha) != (p_value < alpha):
        digits += 1
    return f"p = {p_value:#.{digits}g}"


def count_text(count: int, noun: str, plural: str | None = None) -> str:
    """Write a count with its noun: "1 tie", "1,024 ties"."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def points_text(share: float) -> str:
    """Write a difference of shares in percentage points: "5 points", "7.9 points"."""
    size = f"{rounded(share, 1):f}".removesuffix(".0")
    return "1 point" if size == "1" else f"{size} points"


def difference_text(share: float | None) -> str:
    """Write a difference of two shares with its sign: "+7.9 percentage points", never "%"."""
    if share is None:
        return DASH
    size = rounded(share, 1)
    sign = "+" if size > 0 else "−" if size < 0 else "±"
    return f"{sign}{abs(size)} percentage points"
