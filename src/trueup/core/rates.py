"""How sure a rate is."""

from __future__ import annotations

from math import sqrt

# The normal quantile for 95 %.
Z = 1.959963984540054


def wilson(successes: float, trials: float) -> tuple[float, float]:
    """The 95 % interval of Wilson's score for a rate. Unlike the textbook one it holds for few trials, and at 0 and 1."""
    if not 0 <= successes <= trials or trials == 0:
        raise ValueError(f"{successes} of {trials} is no rate")
    rate, z2 = successes / trials, Z * Z
    centre = rate + z2 / (2 * trials)
    reach = Z * sqrt(rate * (1 - rate) / trials + z2 / (4 * trials * trials))
    scale = 1 + z2 / trials
    low, high = (centre - reach) / scale, (centre + reach) / scale
    # Exactly 0 and 1 at the ends, where rounding would leave a trace.
    return (0.0 if successes == 0 else low), (1.0 if successes == trials else high)
