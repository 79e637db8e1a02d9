"""Making a plan: margins closed under subtraction, the grain, the rows over it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy import sparse

from recon_cli.coverage import Coverage, CoveragePattern
from recon_cli.model.grain import Grain, group_rows, group_screens, refine
from recon_cli.model.lattice import make_lattice
from recon_cli.model.lift import NO_LIFT, Lift, plan_lift
from recon_cli.model.margins import Margins, Terms, close_margins, combination_matrix
from recon_cli.model.plan import Identity, PatternPlan, Plan
from recon_cli.model.predicates import Masks
from recon_cli.model.statistics import statistic_predicates
from recon_cli.schema import Release, Table


def make_plan(
    release: Release,
    tables: Sequence[Table],
    coverage: Coverage,
    distinguish: Sequence[Masks] = (),
) -> Plan:
    """Make a plan at the coarsest grain that loses nothing, with lifts where they are exact.

    Args:
        coverage: Published cells; pattern numbers are kept.
        distinguish: Further predicates that the grain must resolve, published or not.
    """
    close = _Close(release, tables, coverage)
    if release.impossible:  # a lift puts values back without looking at other features
        return _fine_plan(close, distinguish)
    coarse = refine(release, [*close.unit_rows(), *distinguish], close.tallied())
    lifts = {p: plan_lift(coarse, close.people_rows(p)) for p in close.patterns}
    levels = {coverage[p].level for p, lift in lifts.items() if lift is not None and len(lift.fine)}
    found = {p: lift for p, lift in lifts.items() if lift is not None}
    if len(found) == len(lifts) and len(levels) <= 1:
        return _assemble(close, coarse, found)
    return _fine_plan(close, distinguish)


def make_relaxed_plan(
    release: Release,
    tables: Sequence[Table],
    coverage: Coverage,
    distinguish: Sequence[Masks] = (),
) -> Plan:
    """Make a plan whose coarse rows are the published cells themselves, for Eq. 4.9.

    Their differences, which bound a unit's share more tightly, are left to the exact system. Cells
    finer than the grain are summed to it within their table; where that is not possible the grain
    is fine. Arguments as for `make_plan`.
    """
    close = _Close(release, tables, coverage)
    resolved = [*release.impossible, *distinguish]
    coarse = refine(release, [*close.unit_rows(), *resolved], close.tallied())
    plans = {p: _published_pattern(close, p, coarse) for p in close.patterns}
    found = [plan for plan in plans.values() if plan is not None]
    if len(found) == len(plans):
        return Plan(release, close.tables, coarse, tuple(found))
    cells = [masks for p in close.patterns for masks in close.patterns[p].known]
    grain = refine(release, [*cells, *resolved], close.tallied())
    fine = [_published_pattern(close, p, grain) for p in close.patterns]
    return Plan(release, close.tables, grain, tuple(plan for plan in fine if plan is not None))


def make_published_plan(release: Release, tables: Sequence[Table], coverage: Coverage) -> Plan:
    """Make a plan over single values with the published cells as rows: the study's program.

    A feature that no published cell distinguishes is not split. Arguments as for `make_plan`.
    """
    close = _Close(release, tables, coverage)
    seen = release.distinguished_by(
        cell for pattern in coverage for _, cell in pattern.published_cells(tables)
    )
    ruled = {
        f for masks in release.impossible for f, full in enumerate(release.full) if masks[f] != full
    }
    grain = Grain(
        tuple(
            tuple(1 << value for value in range(len(feature.values)))
            if f in seen | ruled
            else (feature.full,)
            for f, feature in enumerate(release.features)
        )
    )
    patterns = tuple(_cells_as_rows(close, p, grain) for p in close.patterns)
    return Plan(release, close.tables, grain, patterns)


def _cells_as_rows(close: _Close, p: int, grain: Grain) -> PatternPlan:
    """Make a pattern with its published cells as rows, over a grain that resolves all of them."""
    rows: dict[tuple[Masks, int | None], Terms] = {}
    for column, (name, number) in enumerate(close.patterns[p].columns):
        cell = close.release.table_by_name[name].cells[number - 1]
        if close.is_unit(p) or not close.is_shared(cell.masks, cell.tally):
            rows.setdefault((cell.masks, cell.tally), {column: 1})
    return _pattern_of_rows(close, p, grain, rows)


def _fine_plan(close: _Close, distinguish: Sequence[Masks]) -> Plan:
    rows = [masks for p in close.patterns for masks in close.people_rows(p)]
    resolved = [*close.release.impossible, *distinguish]
    grain = refine(close.release, [*rows, *close.unit_rows(), *resolved], close.tallied())
    lifts = {p: plan_lift(grain, close.people_rows(p)) for p in close.patterns}
    return _assemble(close, grain, {p: lift for p, lift in lifts.items() if lift is not None})


@dataclass(frozen=True, eq=False)
class _Same:
    """A release as a cache key by identity, since comparing two takes as long as the work."""

    release: Release

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.release is self.release

    def __hash__(self) -> int:
        return id(self.release)


@lru_cache(maxsize=8)
def _closed(same: _Same, columns: tuple[tuple[str, int], ...]) -> Margins:
    """Cache `close_margins` of one pattern; the stages of a run share them."""
    return close_margins(same.release, columns)


def _closed_patterns(
    release: Release, tables: Sequence[Table], coverage: Coverage
) -> dict[int, Margins]:
    """Return the margins of each pattern with a table; patterns with the same cells share them."""
    columns = {p: pattern_columns(pattern, tables) for p, pattern in enumerate(coverage)}
    distinct = {cells: _closed(_Same(release), cells) for cells in set(columns.values()) if cells}
    return {p: distinct[cells] for p, cells in columns.items() if cells}


class _Close:
    """Margins of every pattern, and which of their rows the units already determine."""

    def __init__(self, release: Release, tables: Sequence[Table], coverage: Coverage) -> None:
        self.release = release
        self.tables = tuple(tables)
        self.coverage = coverage
        self.patterns = _closed_patterns(release, tables, coverage)
        unit = release.geography.unit.name
        self.unit_patterns = [p for p in self.patterns if coverage[p].level == unit]
        every_unit = [p for p, pattern in enumerate(coverage) if pattern.level == unit]
        # A coarse count is redundant only if every unit, whatever its pattern, determines it.
        if every_unit and every_unit == self.unit_patterns:
            first, *others = (self.patterns[p] for p in self.unit_patterns)
            self.shared = {masks for masks in first.known if all(masks in m.known for m in others)}
            self.shared_tallies = {
                key for key in first.tallies if all(key in m.tallies for m in others)
            }
        else:
            self.shared = set()
            self.shared_tallies = set()

    def is_unit(self, p: int) -> bool:
        return p in self.unit_patterns

    def rows(self, p: int) -> list[int]:
        """List the pattern's minimal margins that need a row of the system."""
        margins = self.patterns[p]
        if self.is_unit(p):
            return list(range(len(margins.masks)))
        both = zip(margins.masks, margins.tally, strict=True)
        return [i for i, (masks, tally) in enumerate(both) if not self.is_shared(masks, tally)]

    def is_shared(self, masks: Masks, tally: int | None) -> bool:
        """Test whether the units determine the count, whatever their patterns."""
        if tally is None:
            return masks in self.shared
        return (masks, tally) in self.shared_tallies

    def people_rows(self, p: int) -> list[Masks]:
        margins = self.patterns[p]
        return [margins.masks[i] for i in self.rows(p) if margins.tally[i] is None]

    def unit_rows(self) -> list[Masks]:
        """List predicates that the coarse grain must resolve: of all units' rows and of tallies."""
        rows = [masks for p in self.unit_patterns for masks in self.patterns[p].masks]
        for margins in self.patterns.values():
            rows += [
                masks
                for masks, tally in zip(margins.masks, margins.tally, strict=True)
                if tally is not None
            ]
        return rows or [self.release.full]

    def tallied(self) -> set[int]:
        return {
            tally
            for p, margins in self.patterns.items()
            for i in self.rows(p)
            if (tally := margins.tally[i]) is not None
        }

    def identity(self, p: int) -> Identity | None:
        if self.is_unit(p):
            return None
        margins = self.patterns[p]
        masks = [m for m in margins.known if m in self.shared]
        tallies = [key for key in margins.tallies if key in self.shared_tallies]

        def matrix(of: Margins) -> sparse.csr_array:
            terms = [of.known[m] for m in masks] + [of.tallies[key] for key in tallies]
            return combination_matrix(terms, len(of.columns))

        return Identity(matrix(margins), {u: matrix(self.patterns[u]) for u in self.unit_patterns})


def pattern_columns(
    pattern: CoveragePattern, tables: Sequence[Table]
) -> tuple[tuple[str, int], ...]:
    """List table and number of the published cells of a pattern, in the order of the tables."""
    return tuple(
        (table.name, number) for table in tables for number in pattern.cells.get(table.name, ())
    )


def _assemble(close: _Close, grain: Grain, lifts: dict[int, Lift]) -> Plan:
    return Plan(
        release=close.release,
        tables=close.tables,
        grain=grain,
        patterns=tuple(_pattern_plan(close, p, grain, lift) for p, lift in lifts.items()),
    )


def _pattern_plan(close: _Close, p: int, grain: Grain, lift: Lift) -> PatternPlan:
    margins = close.patterns[p]
    rows = np.array(close.rows(p), dtype=np.int64)
    is_people = np.array([margins.tally[i] is None for i in rows], dtype=bool)
    lifted = np.zeros(len(rows), dtype=bool)
    lifted[np.flatnonzero(is_people)[lift.fine]] = True
    fine = margins.combine[rows[np.flatnonzero(is_people)[lift.fine]]]
    kept = rows[~lifted]
    masks = tuple(margins.masks[i] for i in kept) + lift.masks
    tally = tuple(margins.tally[i] for i in kept) + (None,) * len(lift.masks)
    known = list(margins.known) if close.is_unit(p) else []
    screens, used = group_screens(grain, close.release.full, known)
    return PatternPlan(
        pattern=p,
        level=close.coverage[p].level,
        margins=margins,
        masks=masks,
        tally=tally,
        combine=sparse.csr_array(sparse.vstack([margins.combine[kept], lift.combine @ fine])),
        groups=group_rows(grain, close.release.full, masks, tally),
        screens=screens,
        screen=combination_matrix([margins.known[known[i]] for i in used], len(margins.columns)),
        lift=lift,
        fine=sparse.csr_array(fine),
        identity=close.identity(p),
    )


def _published_pattern(close: _Close, p: int, grain: Grain) -> PatternPlan | None:
    """Make a pattern with its published cells as rows; None if the grain does not resolve them."""
    if close.is_unit(p):
        return _pattern_plan(close, p, grain, NO_LIFT)
    margins = close.patterns[p]
    rows: dict[tuple[Masks, int | None], Terms] = {}
    by_table: dict[str, dict[Masks, int]] = {}
    for column, (name, number) in enumerate(margins.columns):
        cell = close.release.table_by_name[name].cells[number - 1]
        if close.is_shared(cell.masks, cell.tally):
            continue
        if cell.tally is not None or grain.resolves(cell.masks):
            rows.setdefault((cell.masks, cell.tally), {column: 1})
        else:
            by_table.setdefault(name, {}).setdefault(cell.masks, column)
    for cells in by_table.values():
        lift = plan_lift(grain, list(cells))
        if lift is None:
            return None
        columns = list(cells.values())
        for number, masks in enumerate(lift.masks):
            parts = lift.fine[lift.sums == number].tolist()
            rows.setdefault((masks, None), {columns[i]: 1 for i in parts})
    return _pattern_of_rows(close, p, grain, rows)


def _pattern_of_rows(
    close: _Close, p: int, grain: Grain, rows: Mapping[tuple[Masks, int | None], Terms]
) -> PatternPlan:
    """Make a pattern of rows, each given by masks and tally, and the published counts it sums."""
    masks, tally = tuple(key[0] for key in rows), tuple(key[1] for key in rows)
    terms, width = list(rows.values()), len(close.patterns[p].columns)
    people = [i for i, at in enumerate(tally) if at is None] if close.is_unit(p) else []
    screens, used = group_screens(grain, close.release.full, [masks[i] for i in people])
    return PatternPlan(
        pattern=p,
        level=close.coverage[p].level,
        margins=close.patterns[p],
        masks=masks,
        tally=tally,
        combine=combination_matrix(terms, width),
        fine=combination_matrix([], width),
        screen=combination_matrix([terms[people[i]] for i in used], width),
        groups=group_rows(grain, close.release.full, masks, tally),
        screens=screens,
        identity=close.identity(p),
    )


def make_interval_plan(
    release: Release,
    tables: Sequence[Table],
    coverage: Coverage,
    distinguish: Sequence[Masks] = (),
) -> Plan:
    """Make a plan for protected counts.

    Args:
        coverage: Published cells; pattern numbers are kept.
        distinguish: Further predicates that the grain must resolve, published or not.
    """
    patterns = _closed_patterns(release, tables, coverage)
    distinct = {id(margins): margins for margins in patterns.values()}
    lattices = {key: make_lattice(release, margins) for key, margins in distinct.items()}
    rows = [masks for lattice in lattices.values() for masks in lattice.masks]
    tallied = {f for lattice in lattices.values() for f in lattice.tally if f is not None}
    resolved = [*release.impossible, *distinguish, *statistic_predicates(release)]
    grain = refine(release, [*rows, *resolved] or [release.full], tallied)
    groups = {
        key: group_rows(grain, release.full, lattice.masks, lattice.tally)
        for key, lattice in lattices.items()
    }

    def of_pattern(p: int, margins: Margins) -> PatternPlan:
        lattice = lattices[id(margins)]
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
            combine=nothing,
            fine=nothing,
            screen=nothing,
            groups=groups[id(margins)],
            screens=screens,
            lattice=lattice,
            screened=tuple(screened),
        )

    plans = tuple(of_pattern(p, margins) for p, margins in patterns.items())
    return Plan(release, tuple(tables), grain, plans)


def plan_of_units(plan: Plan, coverage: Coverage, distinguish: Sequence[Masks] = ()) -> Plan | None:
    """Make a plan by the units' own tables, as if coarser places had published nothing.

    Args:
        plan: The plan for all levels.
        distinguish: As in `make_interval_plan`.

    Returns:
        The plan; None if ``plan`` itself has units' tables only, or none of units.
    """
    unit = plan.release.geography.unit.name
    if all(pattern.level == unit for pattern in plan.patterns):
        return None
    own = coverage_of_units(plan.release, coverage)
    found = make_interval_plan(plan.release, plan.tables, own, distinguish)
    return found if found.patterns else None


def coverage_of_units(release: Release, coverage: Coverage) -> Coverage:
    """Remove the cells of coarser levels from a coverage; patterns keep their numbers."""
    unit = release.geography.unit.name
    return tuple(
        pattern if pattern.level == unit else replace(pattern, cells={}) for pattern in coverage
    )
