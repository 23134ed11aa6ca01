"""Student's quantile: how much wider an interval must be where the spread itself is known from few cases."""

from __future__ import annotations

from trueup.core.rates import Z

_SMALL = {1: 12.706, 2: 4.303}


def student(freedom: int) -> float:
    """The quantile for 95 %, by its expansion in the normal one; right to a hundredth, which the spread never is."""
    if freedom in _SMALL:
        return _SMALL[freedom]
    terms = (
        Z,
        (Z**3 + Z) / 4,
        (5 * Z**5 + 16 * Z**3 + 3 * Z) / 96,
        (3 * Z**7 + 19 * Z**5 + 17 * Z**3 - 15 * Z) / 384,
    )
    return sum(term / float(freedom) ** power for power, term in enumerate(terms))
