"""Contradictions of printed statistics: the texts that cannot be true, and the nearest that can.

The counts of a region agree with each other, but not with the statistics beside them. A single text
may contradict the counts, such as a mean that no sum of whole numbers has; else a minimal set of
texts is named: a change of any one may resolve the contradiction.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
import polars as pl

from recon_cli.capabilities.reconstruct.clique_solution import CliqueRegion
from recon_cli.capabilities.reconstruct.cliques import CliqueForm
from recon_cli.errors import ContradictionError
from recon_cli.model.components import split_components
from recon_cli.model.counts import PartitionCounts, StatisticTexts
from recon_cli.model.plan import Plan
from recon_cli.model.statistic_texts import statistic_of
from recon_cli.model.system import build_system
from recon_cli.schema import Table
from recon_cli.seeding import digest_seed
from recon_cli.solve.feasibility import Feasibility, solve_program
from recon_cli.statement.statistics import Printed

#: Texts that a message lists.
_SHOWN: Final = 3
#: Changes of the last digit that are tried, each way.
_STEPS: Final = 60


def statistic_contradiction(
    plan: Plan, counts: PartitionCounts, region: str
) -> ContradictionError | None:
    """Return the error for a region whose counts agree, but not with the statistics beside them.

    Returns:
        None if the region has no printed statistics, or its counts contradict each other.
    """
    texts = counts.statistics
    if texts is None:
        return None
    number = counts.region_geoids.to_list().index(region)
    units = np.flatnonzero(counts.region == number)
    asked = _Region(plan, counts, texts, slice(int(units[0]), int(units[-1]) + 1))
    rows = texts.at(np.concatenate(counts.lying_in(asked.batch)))
    if rows.is_empty() or not asked.fits(rows.clear()):
        return None
    alone = asked.alone(rows)
    if alone:
        told = "; ".join(asked.told(row, row.clear()) for row in alone[:_SHOWN])
        more = f"; and {len(alone) - _SHOWN} more" if len(alone) > _SHOWN else ""
        what = f"with the counts of {plan.release.region.name} {region} nobody prints {told}{more}"
    else:
        least = asked.least_set(rows)
        told = "; ".join(asked.told(row, _without(least, row)) for row in least.iter_slices(1))
        what = (
            f"nobody has the counts of {plan.release.region.name} {region} and prints all of {told}"
        )
    return ContradictionError(
        f"published statistics contradict the counts: {what}; are they rounded as their law says, "
        f"and does the schema of release {plan.release.name!r} say what they are of?",
        region,
    )


@dataclass(frozen=True)
class _Region:
    """One region, with any of its statistics."""

    plan: Plan
    counts: PartitionCounts
    texts: StatisticTexts
    batch: slice

    @cached_property
    def form(self) -> CliqueForm | None:
        """Return the clique form, if it is small."""
        form = None if self.counts.intervals is None else CliqueForm.of(self.plan)
        return form if form is not None and form.is_narrow else None

    def fits(self, rows: pl.DataFrame) -> bool:
        """Test whether people may have all counts and print these statistics, as far as known."""
        given = replace(self.counts, statistics=replace(self.texts, frame=rows))
        form = self.form
        tables = None if form is None else CliqueRegion.of(form, given, self.batch)
        if tables is not None:
            solved = tables.solve(digest_seed(0, "statistics"), is_likely=False)
            return solved.outcome is not Feasibility.INFEASIBLE
        system = build_system(self.plan, given, self.batch)
        if len(system.suspects):
            return False
        bounds = system.bounds()
        if bounds.conflict.any():
            return False
        for part in split_components(system.program, bounds, system.column_region):
            found = solve_program(part.program, digest_seed(0, "statistics"))
            if found.outcome is Feasibility.INFEASIBLE:
                return False
        return True

    def alone(self, rows: pl.DataFrame) -> list[pl.DataFrame]:
        """Return the statistics that contradict the counts by themselves, as frames of one row.

        Statistics that fit together contain none, so that halves are tested.
        """
        if self.fits(rows):
            return []
        if rows.height == 1:
            return [rows]
        half = rows.height // 2
        return [*self.alone(rows[:half]), *self.alone(rows[half:])]

    def least_set(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return a minimal set of statistics that contradict the counts."""
        least = rows.clear()
        while rows.height and self.fits(least):
            # Find the first that is needed: the kept ones and all after it fit together.
            start, end = 0, rows.height
            while end - start > 1:
                middle = (start + end) // 2
                is_enough = not self.fits(pl.concat([least, rows[middle:]]))
                start, end = (middle, end) if is_enough else (start, middle)
            least, rows = pl.concat([least, rows[start : start + 1]]), rows[start + 1 :]
        return least

    def told(self, row: pl.DataFrame, others: pl.DataFrame) -> str:
        """Describe a statistic and the nearest texts that would fit beside others."""
        _, geounit, name, cell, text = row.row(0)
        table = self.plan.release.statistic_by_name[name]
        of = statistic_of(table)
        what = f"{self.counts.geoids[geounit]} table {name} cell {cell}: {text}"
        near = [
            fitting for way in (-1, 1) if (fitting := self._nearest(row, others, way)) is not None
        ]
        people = self._base(geounit, table, cell)
        if of.kind == "mean" and people and others.is_empty():
            what += f" is no mean of {people} whole numbers"
        elif people == 0:
            return f"{what} is a {of.kind} of nobody"
        return f"{what}; nearest {', '.join(near)}" if near else what

    def _nearest(self, row: pl.DataFrame, others: pl.DataFrame, way: int) -> str | None:
        _, geounit, name, _, text = row.row(0)
        level = self.counts.level_of(geounit)
        law = self.texts.protection.printing(name, level, text)
        if not isinstance(law, Printed):
            return None
        for changed in _steps(law.plain(text), way):
            other = changed if law.decimal == "." else changed.replace(".", law.decimal)
            if self.fits(pl.concat([others, row.with_columns(text=pl.lit(other))])):
                return other
        return None

    def _base(self, geounit: int, table: Table, cell: int) -> int | None:
        """Return the number of people that a statistic describes, if a count states it."""
        masks = statistic_of(table).based(table.cells[cell - 1].masks)
        if self.counts.intervals is None:
            return None
        low, high = (ends[0] for ends in self.counts.intervals.of(np.array([geounit])))
        pattern = int(self.counts.pattern[geounit])
        published = {each.pattern: each for each in self.plan.patterns}.get(pattern)
        for name, number in () if published is None else published.margins.columns:
            at = self.plan.columns[name, number]
            other = self.plan.release.table_by_name[name].cells[number - 1]
            if other.masks == masks and other.tally is None and low[at] == high[at]:
                return int(low[at])
        return None


def _without(rows: pl.DataFrame, row: pl.DataFrame) -> pl.DataFrame:
    return rows.join(row, on=["geounit", "table", "cell"], how="anti", maintain_order="left")


def _steps(text: str, way: int) -> Iterator[str]:
    """Yield a text with its last digit changed, further and further; not below zero.

    >>> list(_steps("0.02", -1))
    ['0.01', '0.00']
    """
    decimals = len(text.partition(".")[2])
    digits = int(text.replace(".", ""))
    for step in range(1, _STEPS + 1):
        changed = digits + way * step
        if changed < 0:
            return
        shown = str(changed).rjust(decimals + 1, "0")
        point = len(shown) - decimals
        yield f"{shown[:point]}.{shown[point:]}" if decimals else shown
