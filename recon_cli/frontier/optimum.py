"""How an officer who weighs tables spends a budget, and how much budget is worth its price."""

from __future__ import annotations

from recon_cli.arrays import FloatArray


def best_split(weights: FloatArray, errors: FloatArray, power: int = 2) -> FloatArray:
    """Shares that minimise Σ weight·error/share^power: Eq. (split).

    Args:
        weights: (measurements,) what an officer states; at least one above 0.
        errors: (measurements,) squared error of each with the whole budget.
        power: 2 where ε is divided, 1 where zCDP's ρ is.

    Returns:
        Shares that add up to 1; 0 where the weight is.

    Raises:
        ValueError: A weight is below 0, or none is above.
    """
    if (weights < 0).any() or not weights.any():
        raise ValueError("weights: numbers from 0 are expected, at least one above 0")
    roots: FloatArray = (weights * errors) ** (1 / (power + 1))
    shares: FloatArray = roots / roots.sum()
    return shares


def best_epsilon(benefit: float, cost: float, error: float) -> float:
    """Where the marginal benefit of accuracy is the marginal cost of privacy loss: Eq. (optimum).

    Accuracy is −error/ε².

    Source: Abowd & Schmutte's rule; the closed form is ours.

    Args:
        benefit: Of a unit of accuracy.
        cost: Of a unit of ε.
        error: Total squared error at ε = 1.
    """
    if not min(benefit, cost, error) > 0:
        raise ValueError("benefit, cost and error above 0 are expected")
    return float((2 * error * benefit / cost) ** (1 / 3))
