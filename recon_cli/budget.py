"""Budgets and priors as people write them: ``2.56*165/4099*3945/4097``, ``1/864``."""

from __future__ import annotations

import math
import re
from fractions import Fraction

_NUMBER = r"\d+(?:\.\d+)?"
_PRODUCT = re.compile(rf"\s*{_NUMBER}(?:\s*[*/]\s*{_NUMBER})*\s*")


def as_written(value: object) -> object:
    """Convert a number that YAML has parsed back to text; keep anything else.

    >>> as_written(0.1), as_written("1/3"), as_written(True)
    ('0.1', '1/3', True)
    """
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def exact(text: str) -> Fraction:
    """Evaluate a product and quotient of decimals, from left to right, without rounding.

    Raises:
        ValueError: The text is something else, or divides by 0.

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


def best_guess(epsilon: float) -> float:
    """Compute the largest probability of guessing a fair bit under ε: e^ε/(1 + e^ε).

    >>> round(best_guess(1.0), 3)
    0.731
    """
    return 1 / (1 + math.exp(-epsilon))
