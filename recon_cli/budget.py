"""Budgets and priors as people write them: ``2.56*165/4099*3945/4097``, ``1/864``."""

from __future__ import annotations

import math
import re
from fractions import Fraction

_NUMBER = r"\d+(?:\.\d+)?"
_PRODUCT = re.compile(rf"\s*{_NUMBER}(?:\s*[*/]\s*{_NUMBER})*\s*")
#: Relative difference allowed between a variance and that from ρ: rounded figures.
_ROUNDED = 1e-3


def as_written(value: object) -> object:
    """Convert a number that YAML has parsed back to text; keep anything else.

    >>> as_written(0.1), as_written("1/3"), as_written(True)
    ('0.1', '1/3', True)
    """
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def exact(text: str) -> Fraction:
    """Evaluate a product and quotient of decimals, from left to right, without rounding.

    Raises:
        ValueError: It is something else, or divides by 0.

    >>> exact("2.56*165/4099")
    Fraction(2112, 20495)
    """
    if not _PRODUCT.fullmatch(text):
        raise ValueError(
            f"a number, or products and quotients of numbers, expected, found {text!r}"
        )
    parts = re.findall(rf"[*/]|{_NUMBER}", text)
    value = Fraction(parts[0])
    for sign, number in zip(parts[1::2], parts[2::2], strict=True):
        factor = Fraction(number)
        if sign == "/" and not factor:
            raise ValueError(f"{text!r} divides by 0")
        value = value * factor if sign == "*" else value / factor
    return value


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


def best_guess(epsilon: float) -> float:
    """Compute the largest probability of guessing a fair bit under ε: e^ε/(1 + e^ε).

    >>> round(best_guess(1.0), 3)
    0.731
    """
    return 1 / (1 + math.exp(-epsilon))


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
