"""Errors of a release's tables at every level, for every strategy, against the privacy loss.

Also the optimal split of a budget among weighted tables, and the budget that is worth its price.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from recon_cli.arrays import FloatArray
from recon_cli.budget import best_guess
from recon_cli.capabilities.capacity.rank import design_matrix
from recon_cli.capabilities.frontier.matrix_mechanism import (
    STRATEGIES,
    StrategyError,
    strategy_error,
)
from recon_cli.capabilities.frontier.randomized_response import response_accuracy
from recon_cli.model.grain import refine
from recon_cli.schema import Release, Table
from recon_cli.statement.noise import geometric_variance

Noise = Literal["laplace", "geometric", "gaussian"]
EVEN, OPTIMUM = "even", "optimum"
#: Strategies that are not of integers, which geometric noise needs.
_FRACTIONS = ("optimised",)
#: Histogram cells of a table beyond which only the simplest strategies are tried.
_MOST_CELLS = 512
_SIMPLE = ("identity", "itself")


def best_split(weights: FloatArray, errors: FloatArray, power: int = 2) -> FloatArray:
    """Find shares that minimise Σ weight·error/share^power: Eq. (split).

    Args:
        weights: (measurements,) what an officer states; at least one above 0.
        errors: (measurements,) squared error of each with the whole budget.
        power: 2 where ε is divided, 1 where zCDP's ρ is.

    Returns:
        Shares that add up to 1; 0 where the weight is.

    Raises:
        ValueError: A weight is below 0, or none is above.

    >>> best_split(np.array([1.0, 1.0]), np.array([1.0, 8.0])).round(3).tolist()
    [0.333, 0.667]
    """
    if (weights < 0).any() or not weights.any():
        raise ValueError("weights: numbers from 0 are expected, at least one above 0")
    roots: FloatArray = (weights * errors) ** (1 / (power + 1))
    shares: FloatArray = roots / roots.sum()
    return shares


def best_epsilon(benefit: float, cost: float, error: float) -> float:
    """Find where the marginal benefit of accuracy equals its marginal privacy cost: Eq. (optimum).

    Accuracy is −error/ε².

    Source: Abowd & Schmutte's rule; the closed form is ours.

    Args:
        benefit: Benefit of a unit of accuracy.
        cost: Cost of a unit of ε.
        error: Total squared error at ε = 1.

    >>> round(best_epsilon(benefit=1.0, cost=2.0, error=1.0), 3)
    1.0
    """
    if not min(benefit, cost, error) > 0:
        raise ValueError("benefit, cost and error above 0 are expected")
    return float((2 * error * benefit / cost) ** (1 / 3))


@dataclass(frozen=True)
class NoiseLaw:
    """A kind of noise, and the meaning of its ε.

    Attributes:
        delta: Probability with which a Gaussian release may miss its ε.
        is_replaced: Whether neighbouring data sets differ in the values of one record; else one
            has a record more.
    """

    noise: Noise = "laplace"
    delta: float = 1e-10
    is_replaced: bool = False

    def variances(self, error: StrategyError, epsilon: float, share: float) -> FloatArray:
        """Return (queries,) variances with a share of the budget: of ε, or ρ for Gaussian noise."""
        if self.noise == "laplace":
            return error.laplace_variance(epsilon * share)
        if self.noise == "geometric":
            return error.geometric_variance(epsilon * share)
        return error.gaussian_variance(rho_of(epsilon, self.delta) * share)

    def coefficients(self, error: StrategyError) -> FloatArray:
        """Return (queries,) factors of the variances; approximate for geometric noise."""
        return error.gaussian if self.noise == "gaussian" else error.laplace

    @property
    def power(self) -> int:
        """Return the power of its share with which the error of a measurement falls."""
        return 1 if self.noise == "gaussian" else 2


def rho_of(epsilon: float, delta: float) -> float:
    """Return the zCDP ρ with ε = ρ + 2√(ρ·ln(1/δ)).

    Source: Bun & Steinke, Concentrated differential privacy (2016), Proposition 1.3.

    >>> rho = rho_of(1.0, 1e-10)
    >>> round(rho + 2 * math.sqrt(rho * math.log(1e10)), 12)
    1.0
    """
    log = math.log(1 / delta)
    return (math.sqrt(log + epsilon) - math.sqrt(log)) ** 2


@dataclass(frozen=True)
class TableErrors:
    """A table's cells as a workload.

    Attributes:
        cells: Number of published cells of a geounit.
        histogram: Histogram cells that they tell apart.
    """

    table: str
    cells: int
    histogram: int
    by_strategy: Mapping[str, StrategyError]

    def best(self, law: NoiseLaw) -> str:
        """Return the strategy with the least total error."""

        def total(name: str) -> float:
            return float(law.coefficients(self.by_strategy[name]).sum())

        return min(self.by_strategy, key=total)


def table_workload(release: Release, table: Table) -> FloatArray:
    """Return the (cells × distinct histogram cells) matrix of how often a cell counts a person."""
    cells = [(cell.masks, cell.tally) for cell in table.cells]
    tallied = {tally for _, tally in cells if tally is not None}
    grain = refine(release, [masks for masks, _ in cells], tallied)
    Q: FloatArray = design_matrix(release, grain, cells).toarray().astype(np.float64)
    return Q


def workload_errors(Q: FloatArray, law: NoiseLaw) -> dict[str, StrategyError]:
    """Map strategies to their errors on a workload."""
    names = STRATEGIES if Q.shape[1] <= _MOST_CELLS else _SIMPLE
    return {
        name: strategy_error(Q, STRATEGIES[name](Q), replaced=law.is_replaced)
        for name in names
        if law.noise != "geometric" or name not in _FRACTIONS
    }


def all_errors(release: Release, tables: Sequence[Table], law: NoiseLaw) -> dict[str, TableErrors]:
    """Map tables to their errors; tables of one shape are computed once."""
    shapes: dict[tuple[tuple[int, ...], bytes], dict[str, StrategyError]] = {}
    found = {}
    for table in tables:
        Q = table_workload(release, table)
        shape = Q.shape, Q.tobytes()
        if shape not in shapes:
            shapes[shape] = workload_errors(Q, law)
        found[table.name] = TableErrors(table.name, len(Q), Q.shape[1], shapes[shape])
    return found


def frontier(
    release: Release,
    tables: Sequence[Table],
    weights: Mapping[str, float],
    epsilons: Sequence[float],
    law: NoiseLaw,
) -> pl.DataFrame:
    """Compute root mean squared errors of every table, level and strategy.

    The budget is divided among all tables of all levels: evenly, or so that the weighted sum of
    mean squared errors is least, each table by its best strategy. Levels are measured separately;
    the gain of least squares over levels is in `recon_cli.capabilities.frontier.matrix_mechanism`.

    Args:
        weights: Table → its weight; 1 for others.
        epsilons: Privacy losses of the whole release.

    Returns:
        ``split`` (``even``, ``optimum``), ``level``, ``table``, ``strategy``, ``is_best``,
        ``share`` (of ε; of Gaussian noise of ρ), ``epsilon`` (of the whole release) and ``rmse``,
        in people.
    """
    errors = all_errors(release, tables, law)
    measured = [
        (level.name, table.name)
        for level in release.geography.levels
        for table in tables
        if level.name in table.levels
    ]
    best = {name: found.by_strategy[found.best(law)] for name, found in errors.items()}
    total = np.array([law.coefficients(best[table]).mean() for _, table in measured])
    wanted = np.array([weights.get(table, 1.0) for _, table in measured])
    splits = {
        EVEN: np.full(len(measured), 1 / len(measured)),
        OPTIMUM: best_split(wanted, total, law.power),
    }
    rows = [
        (split, level, *row)
        for split, shares in splits.items()
        for (level, table), share in zip(measured, shares.tolist(), strict=True)
        if share > 0
        for row in _rows(errors[table], share, epsilons, law)
    ]
    names = ["split", "level", "table", "strategy", "is_best", "share", "epsilon", "rmse"]
    return pl.DataFrame(rows, schema=names, orient="row")


def _rows(
    errors: TableErrors, share: float, epsilons: Sequence[float], law: NoiseLaw
) -> Iterator[tuple[str, str, bool, float, float, float]]:
    best = errors.best(law)
    for name, error in errors.by_strategy.items():
        for epsilon in epsilons:
            variances = law.variances(error, epsilon, share)
            rmse = float(np.sqrt(variances.mean()))
            yield errors.table, name, name == best, share, epsilon, rmse


def weighted_error(errors: pl.DataFrame, weights: Mapping[str, float]) -> dict[float, float]:
    """Map ε to the optimal weighted sum of mean squared errors, each table by its best strategy.

    Args:
        errors: From `frontier`.
        weights: Table → its weight; 1 for others.
    """
    chosen = errors.filter(pl.col("split") == OPTIMUM, pl.col("is_best"))
    found: dict[float, float] = {}
    for table, epsilon, rmse in chosen.select("table", "epsilon", "rmse").iter_rows():
        found[epsilon] = found.get(epsilon, 0.0) + weights.get(table, 1.0) * rmse**2
    return found


def users_weights(users: Mapping[str, tuple[Mapping[str, float], float]]) -> dict[str, float]:
    """Sum weights times benefits over users, for each table.

    Args:
        users: Name → weights of tables, and benefit.
    """
    found: dict[str, float] = {}
    for weights, benefit in users.values():
        for table, weight in weights.items():
            found[table] = found.get(table, 0.0) + weight * benefit
    return found


def user_errors(
    errors: pl.DataFrame, users: Mapping[str, tuple[Mapping[str, float], float]]
) -> pl.DataFrame:
    """Compute the errors of each user with the optimal split: Eq. (users).

    Args:
        errors: From `frontier`, with the weights of all users.
        users: As for `users_weights`.

    Returns:
        ``user``, ``epsilon``, ``rmse`` (of a count, weighted) and ``share``, the user's part of
        what more accuracy is worth to all.
    """
    chosen = errors.filter(pl.col("split") == OPTIMUM, pl.col("is_best"))
    parts = []
    for name, (weights, benefit) in users.items():
        weight = pl.col("table").replace_strict(weights, default=0.0, return_dtype=pl.Float64)
        lost = (weight * pl.col("rmse") ** 2).sum()
        parts.append(
            chosen.group_by("epsilon", maintain_order=True)
            .agg((lost / weight.sum()).sqrt().alias("rmse"), (benefit * lost).alias("share"))
            .select(pl.lit(name).alias("user"), "epsilon", "rmse", "share")
        )
    return pl.concat(parts).with_columns(pl.col("share") / pl.col("share").sum().over("epsilon"))


def one_count(
    epsilons: Sequence[float], people: int, delta: float, share: float, innocuous: float
) -> pl.DataFrame:
    """Tabulate one number of people among N by mechanism, and what an attacker can guess.

    Args:
        people: N.
        delta: As in `NoiseLaw`.
        share: π of randomized response, which matters unless μ is one half.
        innocuous: μ of randomized response.

    Returns:
        ``epsilon``; ``randomized_response`` (error beyond sampling), ``laplace``, ``geometric``
        and ``gaussian``, root mean squared errors in people; ``any_attacker``, how often the best
        guess of one fair bit is right.
    """
    return pl.DataFrame(
        {
            "epsilon": epsilon,
            "randomized_response": people
            * math.sqrt(-response_accuracy(epsilon, share, people, innocuous)),
            "laplace": math.sqrt(2) / epsilon,
            "geometric": math.sqrt(geometric_variance(epsilon)),
            "gaussian": math.sqrt(1 / (2 * rho_of(epsilon, delta))),
            "any_attacker": best_guess(epsilon),
        }
        for epsilon in epsilons
    )
