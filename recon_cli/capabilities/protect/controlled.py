"""Controlled rounding: round every count to a neighbouring multiple, with additive tables.

The relations among the published counts of a geounit are those in the closure of its margins
(`recon_cli.model.margins.Margins.checks`). With ``n = b q + r`` and 1 for a count rounded up, they
become equations over zeros and ones.

See *controlled rounding* in docs/glossary.md.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl
from scipy import sparse

from recon_cli.arrays import IntArray
from recon_cli.errors import SolverError
from recon_cli.model.margins import cells_of, count_matrix, relations_of
from recon_cli.model.program import IntegerProgram, LinearConstraints, with_variables
from recon_cli.publication import Publication
from recon_cli.schema import Release
from recon_cli.solve.cp_sat import Effort, SolveResult, Status, maximize

#: Deterministic seconds for one geounit.
_LIMIT: Final = 20.0


def round_controlled(counts: IntArray, relations: sparse.csr_array, base: int) -> IntArray:
    """Round the counts of one geounit.

    Each goes to one of its two neighbouring multiples, multiples stay, and the sum of all changes
    is as small as the relations allow. If no such rounding satisfies all relations, which can
    happen in tables of three and more dimensions, it satisfies as many as possible.

    Args:
        counts: At least 0.
        relations: Sparse (relations × counts): combinations that are zero.

    Returns:
        Multiples of the base.

    Raises:
        SolverError: The solver found nothing in time.
    """
    rest = counts % base
    free = np.flatnonzero(rest)
    down = counts - rest
    columns = sparse.csr_array(relations[:, free])
    rows = np.flatnonzero(np.diff(columns.indptr))
    needed = -(relations @ down)[rows] // base
    program = IntegerProgram(
        LinearConstraints(sparse.csr_array(columns[rows]), needed, needed),
        lower=np.zeros(len(free), dtype=np.int64),
        upper=np.ones(len(free), dtype=np.int64),
    )
    gain = 2 * rest[free] - base  # by how much a change up is smaller than one down
    answer = maximize(program, gain, Effort(0, _LIMIT))
    if answer.status is Status.INFEASIBLE:
        answer = _most_relations(program, gain)
    if answer.status not in {Status.OPTIMAL, Status.FEASIBLE}:
        raise SolverError(
            f"controlled rounding: {len(free)} counts under {len(rows)} relations: no solution "
            f"within {_LIMIT:.0f} deterministic seconds"
        )
    rounded = down.copy()
    rounded[free] += base * answer.values[: len(free)]
    return rounded


def round_geounits(
    release: Release, truth: Publication, counts: pl.DataFrame, base: int
) -> IntArray:
    """Round counts, geounit by geounit.

    Args:
        release: Says what the cells count.
        counts: ``geoid, table, cell, count``: true counts above zero, distinct.

    Returns:
        The rounded value of each of ``counts``.

    Raises:
        SolverError: The solver found nothing in time.
    """
    rounded = [counts.clear().select("geoid", "table", "cell", rounded="count")]
    for number, pattern in enumerate(truth.coverage):
        of_pattern = truth.geounits.filter(pl.col("pattern") == number)["geoid"]
        geoids = of_pattern.filter(of_pattern.is_in(counts["geoid"].unique().implode()))
        relations, cells = relations_of(release, pattern), cells_of(pattern)
        matrix = count_matrix(pattern, geoids, counts)
        for row, geoid in enumerate(geoids):
            true = matrix[[row]].toarray()[0]
            places = np.flatnonzero(true)
            values = round_controlled(true, relations, base)[places]
            rows = [(geoid, *cells[at], value) for at, value in zip(places, values, strict=True)]
            rounded.append(pl.DataFrame(rows, schema=rounded[0].schema, orient="row"))
    found = counts.join(
        pl.concat(rounded), on=["geoid", "table", "cell"], how="left", maintain_order="left"
    )
    return found["rounded"].cast(pl.Int64).to_numpy()


def _most_relations(program: IntegerProgram, gain: IntArray) -> SolveResult:
    """Return the best values if each relation may be dropped, at a cost above all others."""
    rows, width = program.shape
    old = program.constraints
    reach = abs(old.A).sum(axis=1) + np.abs(old.least)
    elastic = with_variables(program, np.concatenate([reach, reach, np.ones(rows, np.int64)]))
    one, none = (
        sparse.eye_array(rows, dtype=np.int64),
        sparse.csr_array((rows, width), dtype=np.int64),
    )
    missed = sparse.diags_array(reach, dtype=np.int64)
    nothing = sparse.csr_array((rows, rows), dtype=np.int64)
    A = sparse.vstack(
        [
            sparse.hstack([old.A, one, -one, nothing]),
            sparse.hstack([none, one, one, -missed]),  # a relation given up is counted once
        ]
    )
    constraints = LinearConstraints(
        sparse.csr_array(A),
        np.concatenate([old.least, -reach]),
        np.concatenate([old.most, np.zeros(rows, dtype=np.int64)]),
    )
    price = int(np.abs(gain).sum()) + 1
    objective = np.concatenate([gain, np.zeros(2 * rows, np.int64), np.full(rows, -price)])
    return maximize(
        IntegerProgram(constraints, elastic.lower, elastic.upper), objective, Effort(0, _LIMIT)
    )
