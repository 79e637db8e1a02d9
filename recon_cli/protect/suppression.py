"""Suppression: primary cells, complementary ones by elimination, then audit and repair.

Elimination keeps the primary cells out of the row space of the published ones, over all tables and
levels of a region. The audit then asks what elimination ignores: that numbers of people are not
negative. As long as a primary cell is recovered, or its interval is narrower than the safety range,
one more published cell of those that force it is suppressed.

For study: who knows the rules and the suppressed cells of other years may know more, and a cell
that was not suppressed for its own sake may be recovered.

See *complementary suppression* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from scipy import sparse

from recon_cli.attack.audit.ends import find_ends, find_witnesses
from recon_cli.attack.audit.functionals import DistinctFunctionals
from recon_cli.errors import SolverError
from recon_cli.model.bounds import propagate
from recon_cli.model.components import Component, split_components
from recon_cli.model.constraints import LinearConstraints
from recon_cli.model.program import IntegerProgram, connected_parts
from recon_cli.protect.counts import PROTECTED
from recon_cli.protect.elimination import MOST_COLUMNS, choose_complementary
from recon_cli.protect.linked_cells import LinkedCells, linked_cells
from recon_cli.protect.primary import PrimaryRules, primary_cells
from recon_cli.publication import Publication
from recon_cli.schema import Release, Table
from recon_cli.seeding import digest_seed
from recon_cli.solve.cp_sat import Effort
from recon_cli.solve.feasibility import Feasibility, solve_program
from recon_cli.solve.linear_relaxation import LinearRelaxation
from recon_cli.statement import Protection, Statement
from recon_cli.statement.law import BoolArray, FloatArray, IntArray
from recon_cli.statement.suppression import Suppressed

#: Published counts after suppression: ``count`` null where it is suppressed, and ``primary``.
SUPPRESSED: Final = pl.Schema([*PROTECTED.items(), ("primary", pl.Boolean)])
#: A flag may hide so many people.
_OPEN: Final = 10_000_000
#: Deterministic seconds of one audit of a region.
_AUDIT: Final = 60.0
#: Unsafe cells of a connected part that are looked at before the next audit.
_PASSES: Final = 40
#: Variables that are asked about in one relaxation, exceeded only by a larger connected part.
_PACK: Final = 2000
#: Duals below it are none.
_DUAL: Final = 1e-7


@dataclass(frozen=True)
class SuppressionOptions:
    """How far suppression goes.

    Attributes:
        rules: What is sensitive.
        safety: How far apart two possible counts of a primary cell must be at least.
        seed: Of the solvers.
    """

    rules: PrimaryRules
    safety: int = 1
    seed: int = 0

    @property
    def least(self) -> int:
        """The count that a flag states at least."""
        return 0 if self.rules.zeros_hidden else 1


def suppress_counts(
    release: Release,
    truth: Publication,
    options: SuppressionOptions,
    *,
    records: pl.DataFrame | None = None,
    tables: Sequence[Table] | None = None,
) -> pl.DataFrame:
    """Suppress the cells that rules call sensitive, and all that would give them away.

    Args:
        release: The schema.
        truth: Exact counts of one partition.
        options: See there.
        records: What they were counted from; only rules about values need them.
        tables: Those that are published; default all.

    Returns:
        Columns of `SUPPRESSED`: a row a true count above zero, and with ``zeros_hidden`` a row a
        published cell; by geoid, table and cell.

    Raises:
        ConfigError: The records lack the value column.
        SolverError: A region is too large, or a solver could not decide.
    """
    used = tuple(release.tables if tables is None else tables)
    cells = truth.counts.select("geoid", "table", "cell", true="count")
    counts = cells.rename({"true": "count"})
    primary = primary_cells(release, counts, records, options.rules, used)
    cells = cells.with_columns(primary=primary)
    frames = []
    for linked in linked_cells(release, truth, used, zeros_hidden=options.rules.zeros_hidden):
        key = ["geoid", "table", "cell"]
        here = linked.names.join(cells, on=key, how="left", maintain_order="left").with_columns(
            pl.col("true").fill_null(0),
            # without a row the count is zero, which is small
            pl.col("primary").fill_null(value=True),
            digits=pl.col("geoid").str.len_chars(),
        )
        hidden = pl.Series(_suppressed(linked, here, options)).gather(here["distinct"])
        frames.append(here.with_columns(hidden=hidden))
    levels = {level.digits: level.name for level in release.geography.levels}
    digits = pl.col("geoid").str.len_chars().cast(pl.Int64)
    return (
        pl.concat(frames)
        .with_columns(
            level=digits.replace_strict(levels, return_dtype=pl.String),
            count=pl.when(~pl.col("hidden")).then("true"),
            primary=pl.col("primary") & pl.col("hidden"),
        )
        .select(SUPPRESSED.names())
        .sort("geoid", "table", "cell")
        .cast(SUPPRESSED)
    )


def suppression_protection(rules: PrimaryRules) -> Protection:
    """The law of suppressed counts: a flag may hide any count that zeros do not rule out."""
    law = Suppressed(
        below=rules.below,
        flagged="may-be-zero" if rules.zeros_hidden else "positive",
        complementary=True,
    )
    return Protection((Statement(law),))


def _require_size(linked: LinkedCells) -> None:
    columns = linked.coefficients.shape[1]
    if columns > MOST_COLUMNS:
        raise SolverError(
            f"region {linked.region}: {columns:,} groups of histogram cells are possible, at most "
            f"{MOST_COLUMNS:,} can be eliminated over: publish fewer tables"
        )


def _suppressed(linked: LinkedCells, cells: pl.DataFrame, options: SuppressionOptions) -> BoolArray:
    """Which distinct cells of a region are suppressed.

    Args:
        linked: The region.
        cells: Its cells with ``true``, ``primary``, ``distinct`` and ``digits`` of the geoid.
        options: See there.
    """
    _require_size(linked)
    distinct = (
        cells.group_by("distinct")
        .agg(pl.col("true").first(), pl.col("primary").any(), pl.col("digits").max())
        .sort("distinct")
    )
    values = distinct["true"].cast(pl.Int64).to_numpy()
    primary = distinct["primary"].to_numpy()
    digits = distinct["digits"].to_numpy()
    hidden: BoolArray = primary | choose_complementary(linked.coefficients, values, primary)
    everything = _Cells(linked.region, linked.coefficients, values, primary, options)
    known = everything.solution()
    # Finer levels first: their programs fall into small parts. What is safe there may not be with
    # coarser cells, and what is hidden for the finer ones never harms the coarser.
    for finest in sorted(set(digits.tolist()), reverse=True):
        some = np.flatnonzero(digits >= finest)
        part = _Cells(
            linked.region,
            sparse.csr_array(linked.coefficients[some]),
            values[some],
            primary[some],
            options,
        )
        hidden[some] = part.repaired(hidden[some], known)
    return hidden


@dataclass(frozen=True)
class _Cells:
    """Some distinct cells of a region.

    Attributes:
        region: Its geoid.
        rows: Sparse (cells × groups of histogram cells) coefficients.
        values: The true counts.
        primary: Whether each is sensitive.
        options: See there.
    """

    region: str
    rows: sparse.csr_array
    values: IntArray
    primary: BoolArray
    options: SuppressionOptions

    def repaired(self, hidden: BoolArray, known: IntArray) -> BoolArray:
        """Suppress further cells until every primary one is safe, given these cells."""
        hidden = hidden.copy()
        while (unsafe := self.unsafe(hidden, known)).any():
            hidden |= self.forcing(hidden, unsafe)
        return hidden

    def program(self, hidden: BoolArray) -> IntegerProgram:
        """What the cells state."""
        low = np.where(hidden, self.options.least, self.values)
        high, width = np.where(hidden, _OPEN, self.values), self.rows.shape[1]
        return IntegerProgram(
            LinearConstraints(self.rows, low, high),
            np.zeros(width, dtype=np.int64),
            np.full(width, _OPEN, dtype=np.int64),
        )

    def components(self, hidden: BoolArray) -> tuple[IntArray, list[Component]]:
        """What propagation settles, and what it leaves open."""
        constraints = self.program(hidden).constraints
        bounds = propagate(constraints)
        region = np.zeros(len(bounds.lower), dtype=np.int64)
        return bounds.lower, list(split_components(constraints, bounds, region, pack=_PACK))

    def solution(self) -> IntArray:
        """People in each group of histogram cells that have the true counts.

        Raises:
            SolverError: No people have them.
        """
        people, components = self.components(np.zeros(len(self.values), dtype=bool))
        for component in components:
            found = solve_program(component.program, self.options.seed)
            if found.outcome is not Feasibility.SOLVED:
                raise SolverError(f"region {self.region}: no people have these counts")
            people[component.columns] = found.values
        return people

    def unsafe(self, hidden: BoolArray, known: IntArray) -> BoolArray:
        """Primary cells of which no two solutions are known that are far enough apart."""
        width = np.zeros(len(self.values), dtype=np.int64)
        columns = sparse.csc_array(self.rows)
        find = find_witnesses if self.options.safety == 1 else find_ends
        for component in self.components(hidden)[1]:
            here = sparse.csr_array(columns[:, component.columns])
            asked = np.flatnonzero(self.primary & (np.diff(here.indptr) > 0))
            functionals = DistinctFunctionals.of(component.program, sparse.csr_array(here[asked]))
            effort = Effort(digest_seed(self.options.seed, "suppress", self.region), _AUDIT)
            found = find(component.program, functionals, known[component.columns], effort)
            width[asked] += functionals.cells @ (found.greatest - found.least)
        unsafe: BoolArray = self.primary & (width < self.options.safety)
        return unsafe

    def forcing(self, hidden: BoolArray, unsafe: BoolArray) -> BoolArray:
        """Of the published cells that force unsafe ones the smallest: one for each part and pass.

        Raises:
            SolverError: None of them forces any.
        """
        relaxation = LinearRelaxation(self.program(hidden))
        part, _ = connected_parts(self.rows)
        chosen = np.zeros(len(hidden), dtype=bool)
        left = np.flatnonzero(unsafe)
        for _ in range(_PASSES):
            if not len(left):
                break
            _, first = np.unique(part[left], return_index=True)
            asked, left = left[first], np.delete(left, first)
            weights = self._weights(relaxation, asked)
            weights[hidden] = 0
            hit = np.unique(part[(weights > 0) & chosen])
            candidates = np.flatnonzero((weights > 0) & ~np.isin(part, hit))
            order = candidates[np.lexsort((self.values[candidates], part[candidates]))]
            chosen[order[np.unique(part[order], return_index=True)[1]]] = True
        if not chosen.any():
            raise SolverError(
                f"region {self.region}: no published cell forces {int(unsafe.sum())} primary "
                "cells, but no two solutions are known in which they differ"
            )
        return chosen

    def _weights(self, relaxation: LinearRelaxation, asked: IntArray) -> FloatArray:
        """How much each cell weighs in the bounds of some cells, one of each part at most."""
        objective = self.rows[asked].sum(axis=0).astype(np.float64)
        weights = np.zeros(len(self.values))
        for sign in (1, -1):
            duals = relaxation.solve(sign * objective, _AUDIT).duals
            if len(duals):
                weights += np.where(np.abs(duals) > _DUAL, np.abs(duals), 0.0)
        return weights
