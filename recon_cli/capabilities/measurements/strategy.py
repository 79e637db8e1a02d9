"""Strategies: which queries are measured at which level, and their shares of the budget.

The sensitivity of a query is how much its counts can change between neighbouring data sets.

See *strategy* in docs/glossary.md.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final, Literal

import numpy as np

from recon_cli.arrays import IntArray
from recon_cli.errors import ConfigError
from recon_cli.schema import Feature, Recode, Table, bits
from recon_cli.statement.noise import Gaussian, Geometric

Mechanism = Literal["gaussian", "geometric"]
#: Which data sets are neighbours: those that differ in the values of one record, or in one record.
Neighbours = Literal["replace", "add-or-remove"]
#: The level above all levels of a release: everybody.
NATION: Final = "nation"


@dataclass(frozen=True)
class Sensitivity:
    """The sensitivity of a list of counts.

    Attributes:
        absolute: L1 sensitivity.
        squared: Square of the L2 sensitivity.
    """

    absolute: int
    squared: int


#: Sensitivity of cells that partition the people.
ONE_RECORD, ONE_CHANGE = Sensitivity(1, 1), Sensitivity(2, 2)


def table_sensitivity(table: Table, features: Sequence[Feature], *, replaced: bool) -> Sensitivity:
    """Compute the sensitivity of all cells of a table together.

    Args:
        replaced: Whether neighbours differ in the values of one record; else in one record. For
            values the result is an upper bound: ‖a − c‖ + ‖b − c‖ for two kinds of record a and b,
            where c is what all kinds share. It is exact if two of the largest kinds share nothing
            else.
    """
    kinds = _weights(table, features)
    if not replaced:
        return Sensitivity(int(kinds.sum(axis=1).max()), int((kinds**2).sum(axis=1).max()))
    own = kinds - kinds.min(axis=0)
    return Sensitivity(2 * int(own.sum(axis=1).max()), 2 * int((own**2).sum(axis=1).max()))


def _weights(table: Table, features: Sequence[Feature]) -> IntArray:
    """Return (kinds × cells): the contribution of a person of each distinct kind to each cell."""
    representatives = [_representatives(table, f, feature) for f, feature in enumerate(features)]
    kinds = np.array(list(itertools.product(*representatives)), dtype=np.int64)
    kinds = kinds.reshape(-1, len(features))
    weights = np.ones((len(kinds), len(table.cells)), dtype=np.int64)
    for f, feature in enumerate(features):
        for mask in {cell.masks[f] for cell in table.cells}:
            inside = np.isin(kinds[:, f], list(bits(mask)))
            cells = [i for i, cell in enumerate(table.cells) if cell.masks[f] == mask]
            weights[:, cells] *= inside[:, None]
        tallied = [i for i, cell in enumerate(table.cells) if cell.tally == f]
        if tallied:
            picked = np.array([int(value).bit_count() for value in feature.values])
            weights[:, tallied] *= picked[kinds[:, f]][:, None]
    return weights


def _representatives(table: Table, f: int, feature: Feature) -> list[int]:
    """Return one value of each class that the cells distinguish."""
    masks = sorted({cell.masks[f] for cell in table.cells})
    is_tallied = any(cell.tally == f for cell in table.cells)
    found: dict[tuple[int, ...], int] = {}
    for at, value in enumerate(feature.values):
        seen = tuple(mask >> at & 1 for mask in masks)
        found.setdefault((*seen, int(value).bit_count()) if is_tallied else seen, at)
    return list(found.values())


@dataclass(frozen=True)
class Query:
    """A list of counts of a geounit.

    Attributes:
        columns: The groups of one feature each; a cell is a combination, the last changing
            fastest. Of a table: none.
        table: The table whose cells they are, if it is one.
    """

    name: str
    columns: tuple[Recode, ...] = ()
    table: Table | None = None

    @property
    def size(self) -> int:
        """Return the number of cells."""
        if self.table is not None:
            return len(self.table.cells)
        return math.prod(len(column.masks) for column in self.columns)


@dataclass(frozen=True)
class Measurement:
    """A query with its budget.

    Attributes:
        budget: ρ, or ε of a geometric mechanism; exact.
    """

    query: Query
    budget: Fraction
    law: Gaussian | Geometric

    @property
    def variance(self) -> float:
        return self.law.noise_variance


@dataclass(frozen=True)
class Pass:
    """Queries that are fitted and rounded before others."""

    queries: frozenset[str]
    levels: frozenset[str]


@dataclass(frozen=True)
class Strategy:
    """The queries that are measured of a release, with their budgets.

    Attributes:
        neighbours: Which data sets are hard to tell apart.
        delta: δ at which ε of a Gaussian mechanism is computed.
        levels: Level → its measurements, as the file has them.
        rounding: Queries whose sums rounding keeps, coarse ones first.
        first: Queries that are fitted before the rest, in order.
    """

    name: str
    title: str
    mechanism: Mechanism
    neighbours: Neighbours
    delta: Fraction
    levels: Mapping[str, tuple[Measurement, ...]]
    rounding: tuple[Query, ...] = ()
    first: tuple[Pass, ...] = ()

    def budget(self, levels: Collection[str] | None = None) -> Fraction:
        """Sum the budgets of some levels; default all. ρ, or ε of a geometric mechanism."""
        chosen = self.levels if levels is None else levels
        return sum((each.budget for name in chosen for each in self.levels[name]), Fraction(0))

    def epsilon(self, levels: Collection[str] | None = None) -> float:
        """Return ε of the budgets of some levels; default all."""
        spent = self.budget(levels)
        return float(spent) if self.mechanism == "geometric" else epsilon_of(spent, self.delta)

    def at(self, level: str) -> tuple[Measurement, ...]:
        """Return the measurements of a level.

        Raises:
            ConfigError: The strategy has no such level.
        """
        if level not in self.levels:
            known = ", ".join(self.levels)
            raise ConfigError(f"strategy {self.name!r} has no level {level!r} (levels: {known})")
        return self.levels[level]

    def passes(self, level: str) -> list[tuple[Measurement, ...]]:
        """Return the measurements of a level in the order in which they are fitted.

        Raises:
            ConfigError: The strategy has no such level.
        """
        left, found = list(self.at(level)), []
        for each in self.first:
            if level in each.levels:
                found.append(tuple(one for one in left if one.query.name in each.queries))
                left = [one for one in left if one.query.name not in each.queries]
        return [some for some in (*found, tuple(left)) if some]

    @cached_property
    def queries(self) -> dict[str, Query]:
        """Map names to queries, in the order of the file."""
        return {each.query.name: each.query for at in self.levels.values() for each in at}


def epsilon_of(rho: Fraction, delta: Fraction) -> float:
    """Return ε of ρ-zCDP at δ: ρ + 2√(ρ ln 1/δ). Eq. (epsilon).

    Source: Bun & Steinke (2016), Proposition 1.3.

    >>> f"{epsilon_of(Fraction(542, 339) ** 2, Fraction(1, 10**10)):.2f}"
    '17.90'
    """
    return float(rho) + 2 * math.sqrt(float(rho) * -math.log(delta))
