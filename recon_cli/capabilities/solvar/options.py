"""``solvar:`` which variability to measure, and how hard to try.

Writes solvar/ (one row per unit), intervals/ (least and greatest count of every histogram cell,
that is, combination of values), certainty/ (which records of microdata/ are in every solution) and
regions/. Solvar is the largest share of a unit's records that differ in another solution of the
same tables; zero is reported only with a proof; values that cannot be proven within the budget are
given as intervals.

Example:
  recon solvar -c al.yaml
  recon solvar --mode exact --diameter
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from recon_cli.config.model import Section

Mode = Literal["relaxed", "exact"]
Seconds = Annotated[float, Field(gt=0)]


class Solvar(Section):
    """The section ``solvar``.

    Attributes:
        mode: ``relaxed``: unit by unit, coarse tables as upper bounds; ``exact``: whole regions
            with every count as an equality.
        diameter: Measure the largest distance between any two solutions, too.
        intervals: ``exact``: the exact minimum and maximum of every histogram cell;
            ``propagation``: valid bounds without solving for them, several times faster. The rates
            in solvar/ do not depend on it.
        engine: ``cp-sat`` always searches for the farthest solution, and gives the proof. With
            ``highs`` or ``scip``, that engine searches, too, and the stage fails if the two maxima
            differ.
        unit_seconds: Budget of each question about a unit, or about all units of a region at once,
            in seconds of solver work, not of clock time.
        total_seconds: Budget of the whole stage, divided in proportion to people; default none.
        seed: Seed of the solver; default the run's seed.
    """

    mode: Mode = "relaxed"
    diameter: bool = False
    intervals: Literal["exact", "propagation"] = "exact"
    engine: Literal["cp-sat", "highs", "scip"] = "cp-sat"
    unit_seconds: Seconds = 0.5
    total_seconds: Seconds | None = None
    seed: Annotated[int, Field(ge=0)] | None = None
