"""What is said to differ between solutions, as functionals over the candidates of a batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy import sparse

from recon_cli.arrays import AtomArray, IntArray
from recon_cli.attack.audit.witnesses import cells_of_batch
from recon_cli.model.counts import PartitionCounts
from recon_cli.model.plan import Plan
from recon_cli.model.system import System
from recon_cli.proofs.statements import Statement


@dataclass(frozen=True)
class DifferingCounts:
    """Counts of which some statements say that they differ.

    Attributes:
        plan: Gives the grain.
        statements: See `recon_cli.proofs.statements.Statement.apart`.
    """

    plan: Plan
    statements: Sequence[Statement]

    def of_batch(self, counts: PartitionCounts, system: System) -> sparse.csr_array:
        """Sparse (counts × candidates); all records of a unit are weighed, each kind otherwise."""
        width = len(system.candidates.unit)
        empty = sparse.csr_array((0, width), dtype=np.int64)
        rows = [sparse.csr_array(row) for row in self._of_units(counts, system)]
        cells = pl.DataFrame(
            [(each.geoid, *self._cell(each.what)) for each in self.statements if "." in each.what],
            schema={"geoid": pl.String, "table": pl.String, "cell": pl.Int16},
            orient="row",
        )
        if cells.height:
            rows.append(cells_of_batch(self.plan, counts, system, cells))
        return sparse.csr_array(sparse.vstack([empty, *rows]))

    def _cell(self, what: str) -> tuple[str, int]:
        table, _, cell = what.partition(".")
        return self.plan.tables[int(table)].name, int(cell)

    def _of_units(self, counts: PartitionCounts, system: System) -> Iterator[sparse.coo_array]:
        candidates, width = system.candidates, len(system.candidates.unit)
        geoids = counts.geoids.gather(system.units).to_list()
        unit_of = {geoid: unit for unit, geoid in enumerate(geoids)}
        for each in self.statements:
            if "." in each.what or each.geoid not in unit_of:
                continue
            at = np.flatnonzero(candidates.unit == unit_of[each.geoid])
            weights: IntArray = np.arange(1, len(at) + 1)
            if each.what:
                inside = self._inside(each.what, candidates.atoms[at])
                at, weights = at[inside], np.ones(int(inside.sum()), dtype=np.int64)
            yield sparse.coo_array((weights, (np.zeros_like(at), at)), shape=(1, width))

    def _inside(self, what: str, atoms: AtomArray) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which candidates lie inside masks."""
        inside = np.ones(len(atoms), dtype=bool)
        for feature, word in enumerate(what.split()):
            if word != "*":
                within = self.plan.grain.within(feature, int(word, 16))
                inside &= np.isin(atoms[:, feature], within)
        return inside
