"""Plans: the static half of the system, which depends only on the published cells.

A plan is made once for a release, a choice of tables and a coverage; it then serves every geounit.
It contains the working grain and, for each coverage pattern, the rows over that grain as integer
combinations of published counts.

See *plan* in docs/glossary.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from scipy import sparse

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.model.grain import Grain, RowGroup, enumerate_domain, group_rows
from recon_cli.model.lattice import Lattice
from recon_cli.model.lift import NO_LIFT, Lift
from recon_cli.model.margins import Margins
from recon_cli.model.predicates import Masks
from recon_cli.schema import Release, Table, bits

#: Most histogram cells that are enumerated to find unbounded cells; in a larger domain only a
#: published total proves that there are none.
_DOMAIN = 2_000_000


@dataclass(frozen=True)
class Identity:
    """Margins of a coarse geounit that its units determine too; the two counts must be equal.

    Attributes:
        coarse: Sparse (identities × pattern columns).
        units: For each unit pattern, sparse (identities × that pattern's columns).
    """

    coarse: sparse.csr_array
    units: dict[int, sparse.csr_array]


@dataclass(frozen=True)
class CountTransforms:
    """Linear combinations of a geounit's published counts.

    Attributes:
        matrix: Sparse (plan columns × combinations): the right-hand sides, the lift's fine
            counts, the counts of the screens, the checks, side by side.
        ends: Index of the first column of each of these except the first.
        identity: `PatternPlan.identity`, over the plan's columns.
    """

    matrix: sparse.csr_array
    ends: IntArray
    identity: Identity | None


@dataclass(frozen=True)
class PatternPlan:
    """The rows that one coverage pattern contributes.

    Attributes:
        pattern: Index into the coverage.
        margins: Margins that the pattern determines.
        masks: Predicates of the system rows, unions of histogram cells of the working grain.
        tally: For each row the tallied feature, or None.
        combine: Sparse (rows × columns): published counts → right-hand sides.
        fine: Sparse (fine rows × columns): published counts → the lift's fine counts.
        screen: Sparse (screen margins × columns): published counts → their counts.
        groups: The rows by the features that they constrain.
        screens: Known margins over few features, minimal or not; only in patterns of units.
        lift: Sums of finer rows at the grain; these are the last rows.
        identity: Margins that must equal the sum over units; None at the unit level.
        lattice: Relations between counts that are intervals; its nodes are the rows, and
            `combine`, `screen` and `fine` are not used. None where counts are exact.
        screened: For each screen of a lattice its node.
    """

    pattern: int
    level: str
    margins: Margins
    masks: tuple[Masks, ...]
    tally: tuple[int | None, ...]
    combine: sparse.csr_array
    fine: sparse.csr_array
    screen: sparse.csr_array
    groups: tuple[RowGroup, ...]
    screens: tuple[RowGroup, ...] = ()
    lift: Lift = NO_LIFT
    identity: Identity | None = None
    lattice: Lattice | None = None
    screened: tuple[int, ...] = ()

    @property
    def first_sum(self) -> int:
        """Return the number of the first row that is a sum of lifted rows."""
        return len(self.masks) - len(self.lift.masks)


@dataclass(frozen=True)
class Column:
    """The encoding of a microdata column.

    Attributes:
        group: For each value of the feature the place of its label.
        labels: The values of the column, then null.
    """

    feature: int
    group: IntArray
    labels: pl.Series

    def write(self, values: IntArray, seen: BoolArray) -> pl.Series:
        """Encode the column from (people × features) values, null where not ``seen``."""
        known = self.group[values[:, self.feature]]
        return self.labels[np.where(seen[:, self.feature], known, len(self.labels) - 1)]


@dataclass(frozen=True)
class Plan:
    """The static half of a system.

    Attributes:
        patterns: One plan for each coverage pattern that publishes any table in use.
    """

    release: Release
    tables: tuple[Table, ...]
    grain: Grain
    patterns: tuple[PatternPlan, ...]

    @cached_property
    def impossible(self) -> tuple[RowGroup, ...]:
        """Return the release's structural zeros, indexed by their features."""
        zeros = self.release.impossible
        return group_rows(self.grain, self.release.full, zeros, [None] * len(zeros))

    @property
    def is_lifted(self) -> bool:
        """Report whether a lift restores any feature."""
        return any(len(pattern.lift.fine) for pattern in self.patterns)

    @cached_property
    def columns(self) -> dict[tuple[str, int], int]:
        """Map table and number of each published cell to its index among the cells of `tables`."""
        cells = ((table.name, cell.number) for table in self.tables for cell in table.cells)
        return {cell: place for place, cell in enumerate(cells)}

    @cached_property
    def sums(self) -> tuple[CountTransforms, ...]:
        """Return for each of `patterns` the transforms of counts, by the plan's `columns`."""
        columns = {each.pattern: each.margins.columns for each in self.patterns}

        def wide(pattern: int, matrices: Sequence[sparse.csr_array]) -> sparse.csr_array:
            matrix = sparse.csr_array(sparse.vstack(matrices))
            places = np.array([self.columns[c] for c in columns[pattern]], dtype=np.int32)
            entries = (matrix.data, places[matrix.indices], matrix.indptr)
            shape = (matrix.shape[0], len(self.columns))
            return sparse.csr_array(sparse.csr_array(entries, shape=shape).T)

        def of_pattern(each: PatternPlan) -> CountTransforms:
            matrices = [each.combine, each.fine, each.screen, each.margins.checks]
            ends = np.cumsum([matrix.shape[0] for matrix in matrices[:-1]])
            identity = each.identity
            if identity is not None:
                units = {unit: wide(unit, [matrix]) for unit, matrix in identity.units.items()}
                identity = Identity(wide(each.pattern, [identity.coarse]), units)
            return CountTransforms(wide(each.pattern, matrices), ends, identity)

        return tuple(of_pattern(each) for each in self.patterns)

    @cached_property
    def mentioned(self) -> tuple[BoolArray, ...]:
        """Return for each of `patterns` a mask of histogram cells that are impossible or in a row.

        Cells are in mixed-radix order. A single value stands for all cells: true if the number of
        all people is known, so that everybody is in some row; false if it is not, and there are too
        many cells to enumerate.
        """
        sizes = self.grain.sizes
        domain = enumerate_domain(sizes) if math.prod(sizes) <= _DOMAIN else None
        found = []
        for each in self.patterns:
            inside = np.array([self.release.full in each.margins.known])
            if domain is not None and not inside[0]:
                rows = (*each.groups, *self.impossible)
                inside = np.logical_or.reduce(
                    [inside.repeat(len(domain)), *(g.holds(domain) for g in rows)]
                )
            found.append(inside)
        return tuple(found)

    @cached_property
    def microdata(self) -> tuple[Column, ...]:
        """Return the release's microdata columns."""
        return tuple(self._column(name) for name in self.release.microdata)

    def _column(self, name: str) -> Column:
        groups = self.release.column_groups(name)
        f = self.release.feature_index[groups.feature]
        group = np.empty(len(self.release.features[f].values), dtype=np.int64)
        for place, mask in enumerate(groups.masks):
            group[list(bits(mask))] = place
        return Column(f, group, pl.Series(name, [*groups.labels, None], dtype=groups.dtype))

    @cached_property
    def resolved(self) -> dict[int, BoolArray]:
        """Map each feature to a mask of the atoms that lie in one group of the histogram."""
        found: dict[int, BoolArray] = {}
        for name in self.release.histogram:
            groups = self.release.column_groups(name)
            f = self.release.feature_index[groups.feature]
            inside = [any(atom & ~m == 0 for m in groups.masks) for atom in self.grain.atoms[f]]
            found[f] = found.get(f, np.ones(len(inside), dtype=bool)) & np.array(inside)
        return found
