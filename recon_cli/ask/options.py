"""Options of the questions about all solutions: budgets and choices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import polars as pl

    from recon_cli.solve.engines import Engine

Mode = Literal["relaxed", "exact"]
Intervals = Literal["exact", "propagation"]


@dataclass(frozen=True)
class VariabilityOptions:
    """Options of a measurement of variability.

    Attributes:
        mode: ``relaxed`` (Eq. 4.9, unit by unit) or ``exact`` (Eq. 4.6, whole regions).
        unit_seconds: Deterministic seconds of solving for each problem about a unit, or about
            all units of a region at once.
        diameter: Whether to measure the largest distance between any two solutions, too.
        person_seconds: Deterministic seconds that a region may take in all, for each of its
            people; None for no such limit.
        intervals: ``exact``, or what ``propagation`` and the solutions found on the way give.
        engine: Engine that searches for farthest solutions; CP-SAT proves that none is farther.
    """

    mode: Mode
    seed: int
    unit_seconds: float
    diameter: bool = False
    person_seconds: float | None = None
    intervals: Intervals = "exact"
    engine: Engine = "cp-sat"


@dataclass(frozen=True)
class ClaimOptions:
    """Options of the verification of claims.

    Attributes:
        unit_seconds: Deterministic seconds of solving for each unit.
        share: Proven share of a group from which their common value counts as inferred.
        absent: Whether to claim that nobody has some values.
        at_most: Whether to bound from above what is claimed from below alone.
    """

    seed: int
    unit_seconds: float
    share: float = 0.8
    absent: bool = False
    at_most: bool = False


@dataclass(frozen=True)
class JointOptions:
    """Options of a joint question.

    Attributes:
        unit_seconds: Deterministic seconds for each place, for both parts together and again for
            each by itself.
        compositions: Households with all their members that are listed of a place at most; 0: who
            lives with whom is not asked.
    """

    seed: int
    unit_seconds: float
    compositions: int = 0


@dataclass(frozen=True)
class ConfidenceOptions:
    """Options of a measurement of confidence.

    Attributes:
        solutions: Number of solutions, at least 1.
    """

    seed: int
    solutions: int


@dataclass(frozen=True)
class AuditOptions:
    """Options of an audit.

    Attributes:
        effort: Deterministic seconds for each region; where they end first, an interval is valid
            and may be too wide.
        safety: Required distance between two possible counts of a safe cell; None for what its
            law requires, see `recon_cli.capabilities.audit.statuses`.
        ask: Levels of whose geounits every cell of the tables in use is asked for, published there
            or not.
        among: Columns ``geoid, table, cell``: only these counts are asked, and only whether they
            are recovered, not how far the others may be off; None for all, with their ends.
        sizes: Least and greatest count that matters: of those among which a solution is known with
            another one nothing more is asked. None for any.
    """

    seed: int
    effort: float
    safety: int | None = None
    ask: tuple[str, ...] = ()
    among: pl.DataFrame | None = None
    sizes: tuple[int, int] | None = None


@dataclass(frozen=True)
class LeaveOneOutOptions:
    """Options of a leave-one-out attack.

    Attributes:
        gains: The columns that an attacker wants to know; all others are known.
        seed: For sampled solutions and sampled people.
        solutions: Solutions to sample, at least 1.
        seconds: Deterministic seconds to settle what is certain about one person.
        share: Chance of each person to be left out, above 0, at most 1.
        within: Only people of geounits whose geoids begin so.
    """

    gains: tuple[str, ...]
    seed: int
    solutions: int
    seconds: float
    share: float = 1.0
    within: str = ""
