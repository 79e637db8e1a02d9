"""Clique tables: published counts as sums over one small integer table for each unit and clique.

No published count needs the joint histogram. The margins of a histogram are tables of cliques that
agree where they overlap. Conversely, tables that agree are margins of a histogram: people of
adjacent cliques with the same shared values can be paired, along the tree, in whole numbers. So
both have the same published counts, and one integer combination of rows proves the same about both:
Eq. (clique) of docs/method.md. The tables alone do not determine a cell that crosses cliques.

See *clique* in docs/glossary.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
from scipy import sparse

from recon_cli.arrays import AtomArray, BoolArray, Int32Array, IntArray
from recon_cli.capabilities.reconstruct.junction_tree import JunctionTree, Separator
from recon_cli.frames import OPEN
from recon_cli.model.bounds import SignedBounds, propagate_signed
from recon_cli.model.candidates import Candidates
from recon_cli.model.counts import PartitionCounts
from recon_cli.model.grain import enumerate_domain
from recon_cli.model.plan import PatternPlan, Plan
from recon_cli.model.predicates import Masks
from recon_cli.model.program import LinearConstraints
from recon_cli.model.statistic_texts import CellVectors, KnownCounts, is_inside, statistic_of
from recon_cli.model.statistics import JoinedRows, join_statistics
from recon_cli.model.strata import find_strata
from recon_cli.schema import Table

#: Most cells of a unit's clique tables for which these are used.
_WIDEST: Final = 1_000
#: Clique tables with up to this many cells are always used; larger ones only if the joint histogram
#: has at least `_SHARE` times as many cells.
_SMALL: Final = 100
_SHARE: Final = 2
#: Most clique cells of all units of a system.
_MOST_CELLS: Final = 400_000


@dataclass(frozen=True)
class CliqueForm:
    """The concatenated clique tables of one unit, as far as the plan determines them.

    Attributes:
        plan: Plan of a release whose counts are intervals.
    """

    plan: Plan
    tree: JunctionTree

    @classmethod
    def of(cls, plan: Plan) -> CliqueForm:
        """Build the cliques of all cells that the schema defines for the tables in use.

        This includes withheld and omitted cells, at any level, their universes, tallied features,
        structural zeros, and the people that printed statistics describe.
        """
        cells = {(cell.masks, cell.tally) for table in plan.tables for cell in table.cells}
        rows = {
            row
            for pattern in plan.patterns
            for row in zip(pattern.masks, pattern.tally, strict=True)
        }
        zeros = {(masks, None) for masks in plan.release.impossible}
        printed = {
            (part(cell.masks), of.feature)
            for table in plan.release.statistics
            for cell in table.cells
            for of in [statistic_of(table)]
            for part in (of.counted, of.based)
        }
        crossed = {_features(plan, masks, tally) for masks, tally in cells | rows | zeros | printed}
        return cls(plan, JunctionTree.of(plan.grain.sizes, crossed))

    @cached_property
    def first(self) -> IntArray:
        """Return the start of each clique's table, and the end of the last."""
        sizes = self.plan.grain.sizes
        cells = [self.tree.cells(at, sizes) for at in range(len(self.tree.cliques))]
        return np.cumsum([0, *cells])

    @property
    def width(self) -> int:
        """Return the number of cells in all tables of a unit."""
        return int(self.first[-1])

    @property
    def joint_width(self) -> int:
        """Return the number of histogram cells of a unit at the working grain."""
        return math.prod(self.plan.grain.sizes)

    @property
    def is_narrow(self) -> bool:
        """Report whether clique tables are worthwhile; this depends on the plan alone.

        They are worthwhile if they are much smaller than the joint histogram, or if it is small
        itself. For census tables one clique is as wide as the whole, and published zeros leave few
        cells.
        """
        return self.width <= _WIDEST and (
            self.width <= _SMALL or self.width * _SHARE <= self.joint_width
        )

    def can_hold(self, units: int) -> bool:
        """Report whether the tables of this many units fit the limit."""
        return units * self.width <= _MOST_CELLS

    @cached_property
    def atoms(self) -> tuple[AtomArray, ...]:
        """Return for each clique the (cells × its features) atom indices, in mixed-radix order."""
        sizes = self.plan.grain.sizes
        return tuple(enumerate_domain([sizes[f] for f in clique]) for clique in self.tree.cliques)

    def functional(self, masks: Masks, tally: int | None = None) -> IntArray:
        """Return (cells,) coefficients: how much a person in each cell adds to a count.

        Raises:
            ValueError: No clique holds its features, or the grain does not tell them apart.
        """
        found = self._inside(masks, tally).astype(np.int64)
        if tally is not None:
            found *= self.plan.grain.picked(self.plan.release, tally)[self.cells.atoms[:, tally]]
        return found

    @cached_property
    def cells(self) -> Candidates:
        """Return the cells of a unit, with the first atom of features outside their clique."""
        atoms = np.zeros((self.width, len(self.plan.grain.sizes)), dtype=np.int16)
        for at, clique in enumerate(self.tree.cliques):
            atoms[self.first[at] : self.first[at + 1], clique] = self.atoms[at]
        return Candidates(np.zeros(self.width, dtype=np.int64), atoms)

    def _inside(self, masks: Masks, beside: int | None) -> BoolArray:
        """Test which cells of the smallest clique with its features a predicate counts.

        Args:
            beside: A further feature that the clique must contain.


        Raises:
            ValueError: No clique holds its features, or the grain does not tell them apart.
        """
        grain, release = self.plan.grain, self.plan.release
        if not grain.resolves(masks):
            raise ValueError("a count that the working grain does not resolve")
        needed = _features(self.plan, masks, beside)
        at = self.tree.holding([f for f in needed if grain.sizes[f] > 1], grain.sizes)
        if at is None:
            names = ", ".join(release.features[f].name for f in sorted(needed))
            raise ValueError(f"no clique holds a count that crosses {names}")
        found = is_inside(grain, masks, self.cells)
        found[: self.first[at]] = found[self.first[at + 1] :] = False
        return found

    def vectors(self, table: Table, number: int, cells: Candidates) -> CellVectors:
        """Return the vectors of the statistic in a table's cell, over the cells of some units."""
        kind = CellVectors.of_cell(self.plan.grain, table, number, cells)
        masks, units = table.cells[number - 1].masks, len(cells.unit) // self.width
        counted, base = (
            np.tile(self._inside(each, kind.of.feature), units)
            for each in (kind.of.counted(masks), kind.of.based(masks))
        )
        return replace(kind, counted=counted, base=base)

    def functionals(self, pattern: PatternPlan) -> sparse.csr_array:
        """Return the distinct counts that a pattern publishes, sparse (counts × cells)."""
        nodes = [(pattern.masks[k], pattern.tally[k]) for k in self.published(pattern)[0]]
        rows = [self.functional(masks, tally) for masks, tally in nodes]
        return sparse.csr_array(np.stack(rows))

    def published(self, pattern: PatternPlan) -> tuple[IntArray, IntArray]:
        """Return the lattice nodes that a pattern publishes, and the node of each published cell.

        Raises:
            ValueError: The plan is not one for intervals.
        """
        if pattern.lattice is None:
            raise ValueError("clique tables need a plan for intervals")
        nodes, at = np.unique(pattern.lattice.node, return_inverse=True)
        return nodes, at.ravel()

    @cached_property
    def agreement(self) -> sparse.csr_array:
        """Return a sparse (separator values × cells) matrix: zero where a unit's tables agree."""
        parts = []
        for separator in self.tree.separators:
            height = math.prod(self.plan.grain.sizes[f] for f in separator.features)
            rows = np.zeros((height, self.width), dtype=np.int64)
            for clique, sign in ((separator.before, 1), (separator.clique, -1)):
                codes = self.shared_code(separator, clique)
                rows[codes, self.first[clique] + np.arange(len(codes))] = sign
            parts.append(rows)
        if not parts:
            return sparse.csr_array((0, self.width), dtype=np.int64)
        return sparse.csr_array(np.concatenate(parts))

    def shared_code(self, separator: Separator, clique: int) -> IntArray:
        """Return for each cell of a clique the mixed-radix code of its separator values."""
        code = np.zeros(len(self.atoms[clique]), dtype=np.int64)
        for f in separator.features:
            code *= self.plan.grain.sizes[f]
            code += self.atoms[clique][:, self.tree.cliques[clique].index(f)]
        return code

    @cached_property
    def ceiling(self) -> IntArray:
        """Return for each cell 0 if structural zeros exclude it, else `OPEN`."""
        ceiling = np.full(self.width, OPEN, dtype=np.int64)
        for masks in self.plan.release.impossible:
            ceiling[self.functional(masks) > 0] = 0
        return ceiling


def _features(plan: Plan, masks: Masks, tally: int | None) -> frozenset[int]:
    """Return the features that a predicate or a tally distinguishes."""
    told = (f for f, mask in enumerate(masks) if mask != plan.release.full[f])
    return frozenset(told) | ({tally} if tally is not None else frozenset())


@dataclass(frozen=True)
class PublishedRows:
    """The rows of one coverage pattern in a system.

    Attributes:
        pattern: Place of the pattern in the plan.
        geounits: Row numbers of its geounits in the partition.
        nodes: The lattice's nodes that are published.
        first: The first row; the rows of a geounit are consecutive.
    """

    pattern: int
    geounits: IntArray
    nodes: IntArray
    first: int


@dataclass(frozen=True)
class CliqueSystem:
    """Published counts and the agreement of tables over clique cells of some units: Eq. (clique).

    Attributes:
        units: Row numbers of the units in the partition; their cells follow one another.
        rows: First the separators of every unit, then the published counts with the ends of their
            statements, `OPEN` where there is none; then those of printed statistics.
        ceiling: Upper bound of each column: 0 by structural zeros, 1 for choices, else `OPEN`.
        unit: For each column the place of its unit in `units`.
        joined: The rows of counts and printed statistics; None where nothing is printed.
    """

    form: CliqueForm
    units: IntArray
    rows: LinearConstraints
    published: tuple[PublishedRows, ...]
    ceiling: IntArray
    unit: IntArray
    joined: JoinedRows | None = None

    @classmethod
    def of(cls, form: CliqueForm, counts: PartitionCounts, batch: slice) -> CliqueSystem:
        """Build the system of some whole regions.

        Raises:
            ValueError: The counts are not intervals.
        """
        units = counts.units[batch]
        number, width = len(units), form.width
        blocks = [_Block.repeated(form.agreement, number, width)]
        height = form.agreement.shape[0] * number
        least, most = [np.zeros(height, dtype=np.int64)], [np.zeros(height, dtype=np.int64)]
        published: list[PublishedRows] = []
        for at, pattern in enumerate(form.plan.patterns):
            geounits, place = counts.geounits_of(pattern.level, pattern.pattern, batch)
            if not len(geounits):
                continue
            nodes, of_cell = form.published(pattern)
            low, high = _stated(form, counts, pattern, geounits, of_cell)
            published.append(PublishedRows(at, geounits, nodes, height))
            blocks.append(_Block.shared(form.functionals(pattern), place, height, width))
            least.append(low.ravel())
            most.append(high.ravel())
            height += low.size
        entries = [np.concatenate([getattr(b, n) for b in blocks]) for n in _Block.NAMES]
        value, row, column = entries
        A = sparse.csr_array((value, (row, column)), shape=(height, number * width))
        rows = LinearConstraints(A, np.concatenate(least), np.concatenate(most))
        ceiling, unit = np.tile(form.ceiling, number), np.repeat(np.arange(number), width)
        return cls(form, units, rows, tuple(published), ceiling, unit)

    def tightened(self, counts: PartitionCounts, batch: slice) -> CliqueSystem | None:
        """Tighten the system by the margins of each geounit, and add what statistics print.

        Returns:
            None if the margins contradict each other, or if there is a statistic of nobody.
        """
        if counts.intervals is None:
            return None
        strata, _, suspects = find_strata(self.form.plan, counts, batch)
        if any(len(each) for each in suspects):
            return None
        least, most = self.rows.least.copy(), self.rows.most.copy()
        for stratum, published in zip(strata, self.published, strict=True):
            height = len(published.geounits) * len(published.nodes)
            here = slice(published.first, published.first + height)
            least[here] = stratum.least_or_rhs[:, published.nodes].ravel()
            most[here] = np.minimum(most[here], stratum.rhs[:, published.nodes].ravel())
        tight = replace(self, rows=LinearConstraints(self.rows.A, least, most))
        return tight if counts.statistics is None else tight.with_statistics(counts, batch)

    def with_statistics(self, counts: PartitionCounts, batch: slice) -> CliqueSystem | None:
        """Add the rows of printed statistics, over sums of cells that no row tells apart.

        Returns:
            None if there is a statistic of nobody.
        """
        form, rows, units = self.form, self.rows, len(self.units)
        has_choices = counts.statistics is not None and counts.statistics.middle != "all"
        atoms = np.tile(form.cells.atoms, (units, 1))
        joined = join_statistics(
            form.plan,
            counts,
            batch,
            candidates=Candidates(self.unit, atoms),
            rows=rows,
            row_geounit=np.full(len(rows.least), -1),
            apart=sparse.csr_array((self.ceiling == 0)[None].astype(np.int64)),
            known=KnownCounts.of_rows([rows]),
            is_whole=np.ones(units, dtype=bool),
            vectors=form.vectors,
            upper=propagate_signed(rows, self.ceiling).upper if has_choices else None,
        )
        if len(joined.suspects):
            return None
        columns = joined.columns
        ceiling = np.full(len(columns.unit), OPEN, dtype=np.int64)
        ceiling[joined.people[self.ceiling == 0]] = 0
        ceiling[joined.choices] = 1
        return replace(self, rows=columns.rows, unit=columns.unit, ceiling=ceiling, joined=joined)

    @property
    def says_all(self) -> bool:
        """Report whether all people who meet the rows print the published statistics."""
        return self.joined is None or (self.joined.is_exact and not len(self.joined.choices))

    @property
    def has_many_choices(self) -> bool:
        """Report whether there are too many pairs of middle values to search."""
        return self.joined is not None and self.joined.has_many_choices

    @property
    def people(self) -> IntArray:
        """Return the column of the people of each cell."""
        return np.arange(len(self.unit)) if self.joined is None else self.joined.people

    def tables(self, values: IntArray) -> IntArray:
        """Return (units × cells) clique tables, from values of the columns."""
        people = values if self.joined is None else self.joined.placed(values)
        return people.reshape(len(self.units), self.form.width)

    def bounds_of_cells(self, bounds: SignedBounds) -> tuple[IntArray, IntArray]:
        """Return (units × cells) least and most people, from bounds of the columns."""
        people, shape = self.people, (len(self.units), self.form.width)
        is_alone = np.bincount(people)[people] == 1
        lower = np.where(is_alone, bounds.lower[people], 0)
        return lower.reshape(shape), bounds.upper[people].reshape(shape)

    @property
    def separators(self) -> int:
        """Return the number of separator rows."""
        return self.form.agreement.shape[0] * len(self.units)


def _stated(
    form: CliqueForm,
    counts: PartitionCounts,
    pattern: PatternPlan,
    geounits: IntArray,
    of_cell: IntArray,
) -> tuple[IntArray, IntArray]:
    """Return the (geounits × published nodes) bounds that all cells of a node state together."""
    if counts.intervals is None:
        raise ValueError("clique tables need counts that are intervals")
    columns = np.array([form.plan.columns[cell] for cell in pattern.margins.columns])
    low, high = (ends[:, columns] for ends in counts.intervals.of(geounits))
    order = np.argsort(of_cell, kind="stable")
    first = np.searchsorted(of_cell[order], np.arange(int(of_cell.max()) + 1))
    low = np.maximum.reduceat(low[:, order], first, axis=1)
    return low, np.minimum.reduceat(high[:, order], first, axis=1)


@dataclass(frozen=True)
class _Block:
    """Sparse entries of some rows; indices of 32 bits halve the memory that a nation takes."""

    value: IntArray
    row: Int32Array
    column: Int32Array

    NAMES = ("value", "row", "column")

    @classmethod
    def repeated(cls, matrix: sparse.csr_array, units: int, width: int) -> _Block:
        """Repeat the same rows for every unit alone."""
        entries, unit = matrix.tocoo(), np.arange(units)[:, None]
        return cls(
            np.tile(entries.data, units),
            (unit * matrix.shape[0] + entries.row).ravel().astype(np.int32),
            (unit * width + entries.col).ravel().astype(np.int32),
        )

    @classmethod
    def shared(cls, matrix: sparse.csr_array, place: IntArray, first: int, width: int) -> _Block:
        """Repeat the same rows for every geounit, over its units."""
        entries, inside = matrix.tocoo(), np.flatnonzero(place >= 0)
        row = first + place[inside][:, None] * matrix.shape[0] + entries.row
        column = inside[:, None] * width + entries.col
        places = (each.ravel().astype(np.int32) for each in (row, column))
        return cls(np.tile(entries.data, len(inside)), *places)
