"""Numbers that a user gives: the noise of a count, and what an adversary believes before."""

from __future__ import annotations

import math
from fractions import Fraction

from recon_cli.budget import exact

#: Relative difference allowed between a variance and that from ρ: rounded figures.
_ROUNDED = 1e-3


def precision(
    rho: Fraction | None = None, sensitivity: float = 1, variance: float | None = None
) -> float:
    """Compute 1/(2σ²) of a noisy count: ρ/Δ², or from the variance if that is given.

    Raises:
        ValueError: Neither is given, they disagree, or one is not above 0.

    >>> precision(variance=5.0)
    0.1
    """
    if not sensitivity > 0:
        raise ValueError(f"sensitivity: a number above 0 is expected, found {sensitivity:g}")
    if rho is not None and not rho > 0:
        raise ValueError(f"rho: a number above 0 is expected, found {float(rho):g}")
    if variance is None:
        if rho is None:
            raise ValueError("rho or variance is expected")
        return float(rho) / sensitivity**2
    if not (variance > 0 and math.isfinite(variance)):
        raise ValueError(f"variance: a number above 0 is expected, found {variance:g}")
    found = 1 / (2 * variance)
    if rho is not None and abs(found * sensitivity**2 / float(rho) - 1) > _ROUNDED:
        implied = sensitivity**2 / (2 * float(rho))
        raise ValueError(
            f"variance {variance:g} and rho {float(rho):.6g} disagree; "
            f"this rho is a variance of {implied:.6g}"
        )
    return found


def prior_of(text: str) -> float:
    """Parse a prior.

    Raises:
        ValueError: It is no number above 0 and below 1.

    >>> prior_of("1/864") == 1 / 864
    True
    """
    value = exact(text)
    if not 0 < value < 1:
        raise ValueError(f"prior: a number above 0 and below 1 is expected, found {text!r}")
    return float(value)
