"""The plan of a release whose counts are intervals.

All margins are rows, those that are sums of others too: a rounded total says more than its rounded
parts. For each geounit the rows that say nothing more are left out when its system is built. The
grain resolves every margin, so nothing is lifted, and no coarse row is taken as redundant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from scipy import sparse

from recon_cli.coverage import Coverage
from recon_cli.model.grain import group_rows, group_screens, refine
from recon_cli.model.lattice import make_lattice
from recon_cli.model.lift import no_lift
from recon_cli.model.margins import combination_matrix
from recon_cli.model.plan import PatternPlan, Plan
from recon_cli.model.planning import closed_margins, pattern_columns, seen_features
from recon_cli.model.predicates import Masks
from recon_cli.schema import Release, Table


def make_interval_plan(
    release: Release,
    tables: Sequence[Table],
    coverage: Coverage,
    distinguish: Sequence[Masks] = (),
) -> Plan:
    """Plan for protected counts.

    Args:
        tables: The tables to use.
        coverage: Which cells are published; pattern numbers are kept.
        distinguish: Further predicates that the grain must resolve, published or not.
    """
    columns = {p: pattern_columns(pattern, tables) for p, pattern in enumerate(coverage)}
    closed = {cells: closed_margins(release, cells) for cells in set(columns.values()) if cells}
    lattices = {cells: make_lattice(release, margins) for cells, margins in closed.items()}
    rows = [masks for lattice in lattices.values() for masks in lattice.masks]
    tallied = {f for lattice in lattices.values() for f in lattice.tally if f is not None}
    resolved = [*release.impossible, *distinguish]
    grain = refine(release, [*rows, *resolved] or [release.full], tallied)
    groups = {
        cells: group_rows(grain, release.full, lattice.masks, lattice.tally)
        for cells, lattice in lattices.items()
    }

    def of_pattern(p: int, cells: tuple[tuple[str, int], ...]) -> PatternPlan:
        margins, lattice = closed[cells], lattices[cells]
        people = [m for m, tally in zip(lattice.masks, lattice.tally, strict=True) if tally is None]
        is_unit = coverage[p].level == release.geography.unit.name
        screens, screened = group_screens(grain, release.full, people if is_unit else [])
        nothing = combination_matrix([], len(margins.columns))
        return PatternPlan(
            pattern=p,
            level=coverage[p].level,
            margins=margins,
            masks=lattice.masks,
            tally=lattice.tally,
            combine=sparse.csr_array((len(lattice.masks), len(margins.columns)), dtype=int),
            groups=groups[cells],
            screens=screens,
            screen=nothing,
            lift=no_lift(),
            fine=nothing,
            identity=None,
            seen=seen_features(release, margins),
            lattice=lattice,
            screened=tuple(screened),
        )

    patterns = tuple(of_pattern(p, cells) for p, cells in columns.items() if cells)
    return Plan(release, tuple(tables), grain, patterns)


def plan_of_units(plan: Plan, coverage: Coverage, distinguish: Sequence[Masks] = ()) -> Plan | None:
    """A plan by the units' own tables, as if coarser places had published nothing.

    Args:
        plan: For all levels.
        coverage: As it was made from.
        distinguish: As in `make_interval_plan`.

    Returns:
        None where that is the same, or units have no tables.
    """
    unit = plan.release.geography.unit.name
    if all(pattern.level == unit for pattern in plan.patterns):
        return None
    own = coverage_of_units(plan.release, coverage)
    found = make_interval_plan(plan.release, plan.tables, own, distinguish)
    return found if found.patterns else None


def coverage_of_units(release: Release, coverage: Coverage) -> Coverage:
    """Patterns with the same numbers, without the cells of coarser levels."""
    unit = release.geography.unit.name
    return tuple(
        pattern if pattern.level == unit else replace(pattern, cells={}) for pattern in coverage
    )
