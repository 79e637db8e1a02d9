"""Suppression at size, audited: ``python -m benchmarks.suppress FILES``.

Census files are suppressed below 3 by `recon protect suppress`, their tables of blocks at all
levels. Then, knowing only what is published, the audit (linear programs, duals in integers, both
engines) decides every suppressed count; and SCIP alone is asked of primary counts, one by one, for
records with all published counts and another count there.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
from ortools.math_opt.python import mathopt
from scipy import sparse

import recon_cli as recon
from benchmarks.machine import REFERENCE, RESULTS, Record, circumstances, keep, say
from recon_cli.api.reconstruction import chosen_tables, split
from recon_cli.attack.audit.partition import AuditOptions, audit_counts
from recon_cli.protect.counts import tidy_counts
from recon_cli.protect.least_change import OPEN
from recon_cli.protect.linked_cells import LinkedCells, linked_cells
from recon_cli.protect.neighbourhoods import Neighbourhoods
from recon_cli.protect.primary import PrimaryRules
from recon_cli.protect.suppression import (
    SuppressionOptions,
    known_records,
    suppress_counts,
    suppression_protection,
)
from recon_cli.publication import Publication
from recon_cli.schema import Release, Table
from recon_cli.statement.law import IntArray

BELOW = 3
_KEY = ["geoid", "table", "cell"]
#: Units beside a cell's own whose people SCIP may change; if it finds nothing, all of them.
_SIZES = (12, 10_000)


def other_counts(
    release: Release,
    part: Publication,
    tables: Sequence[Table],
    suppressed: pl.DataFrame,
    every: int,
) -> tuple[int, int]:
    """Primary counts that SCIP was asked of, and those of which it found another count."""
    asked = found = 0
    for linked in linked_cells(release, part, tables, zeros_hidden=False):
        here = linked.names.join(suppressed, on=_KEY, how="left", maintain_order="left")
        cells = (
            here.group_by("distinct")
            .agg(
                pl.col("true").first(),
                pl.col("primary").any(),
                hidden=pl.col("count").is_null().any(),
                digits=pl.col("geoid").str.len_chars().max(),
            )
            .sort("distinct")
        )
        values = cells["true"].cast(pl.Int64).to_numpy()
        known = known_records(linked, values, seed=2)
        is_fine = (cells["digits"] == cells["digits"].max()).to_numpy()
        units = Neighbourhoods.of(linked.coefficients, is_fine, known)
        hidden = cells["hidden"].to_numpy()
        low, high = np.where(hidden, 1, values), np.where(hidden, OPEN, values)
        for target in np.flatnonzero(cells["primary"].to_numpy())[::every].tolist():
            asked += 1
            found += _has_another(linked, units, known, (low, high), target)
    return asked, found


def _has_another(
    linked: LinkedCells,
    units: Neighbourhoods,
    known: IntArray,
    ends: tuple[IntArray, IntArray],
    target: int,
) -> bool:
    """Whether SCIP finds records with another count of a cell."""
    A = linked.coefficients
    own = np.sort(A.indices[A.indptr[target] : A.indptr[target + 1]]).astype(np.int64)
    count = int((A[[target]] @ known)[0])
    for size in _SIZES:
        columns = units.around(own, size)
        here = sparse.csr_array(sparse.csc_array(A)[:, columns])
        rows = np.flatnonzero(np.diff(here.indptr))
        here = sparse.csr_array(here[rows])
        others = (A @ known)[rows] - here @ known[columns]
        at = int(np.searchsorted(rows, target))
        for least, most in ((count + 1, OPEN), (1, count - 1)):
            low, high = (end[rows] - others for end in ends)
            low[at], high[at] = least - others[at], most - others[at]
            if least > most:
                continue
            people = _by_scip(here, low, high)
            if people is not None:
                every = known.copy()
                every[columns] = people
                counts = A @ every
                if ((counts < ends[0]) | (counts > ends[1])).any() or counts[target] == count:
                    raise SystemExit("SCIP's records do not have the published counts")
                return True
    return False


def _by_scip(A: sparse.csr_array, low: IntArray, high: IntArray) -> IntArray | None:
    """Any people with ``low <= A @ people <= high``."""
    model = mathopt.Model()
    people = [model.add_integer_variable(lb=0, ub=OPEN) for _ in range(A.shape[1])]
    for row in range(A.shape[0]):
        constraint = model.add_linear_constraint(lb=int(low[row]), ub=int(high[row]))
        for at in range(A.indptr[row], A.indptr[row + 1]):
            constraint.set_coefficient(people[A.indices[at]], int(A.data[at]))
    result = mathopt.solve(model, mathopt.SolverType.GSCIP)
    if not result.has_primal_feasible_solution():
        return None
    values = result.variable_values()
    return np.rint([values[each] for each in people]).astype(np.int64)


def measure(path: Path, every: int) -> Record:
    """Suppress one file, and attack it."""
    release = recon.load_release("sf1_2010")
    exact = recon.read_published(release, [path], source="sf1-legacy")
    tables = chosen_tables(release, exact, "block")
    options = SuppressionOptions(PrimaryRules(BELOW))
    totals = {"counts": 0, "suppressed": 0, "primary": 0, "suppress_seconds": 0.0}
    audits = {"audit_seconds": 0.0, "recovered": 0, "safe": 0, "undecided": 0}
    primary = {"recovered": 0, "safe": 0, "undecided": 0}
    asked = found = 0
    for part in split(release, exact):
        started = time.process_time()
        suppressed = suppress_counts(release, part, options, tables=tables)
        totals["suppress_seconds"] += time.process_time() - started
        totals["counts"] += suppressed.height
        totals["suppressed"] += suppressed["count"].null_count()
        totals["primary"] += int(suppressed["primary"].sum())
        law = suppression_protection(options.rules)
        public = recon.publish(release, tidy_counts(part, suppressed), protection=law)
        started = time.process_time()
        audited = audit_counts(release, public, tables, AuditOptions(seed=1, effort=60.0))
        audits["audit_seconds"] += time.process_time() - started
        joined = audited.join(suppressed.select(*_KEY, "primary"), on=_KEY, how="left")
        for status, is_primary, number in (
            joined.group_by("status", "primary").len().sort("status", "primary").rows()
        ):
            audits[status] += number
            if is_primary:
                primary[status] += number
        of_part = other_counts(release, part, tables, suppressed, every)
        asked, found = asked + of_part[0], found + of_part[1]
        say(str(part.geounits["geoid"].min()), totals["suppress_seconds"], 0.0)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    scip = {"asked": asked, "another_count": found}
    return {**totals, **audits, "primaries": primary, "scip": scip, "peak_mb": round(peak)}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure each file, and keep the figures.

    Raises:
        SystemExit: A primary count is recovered or undecided, or SCIP found no other.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument(
        "--every", type=int, default=10, help="primary counts between two of SCIP's"
    )
    parser.add_argument("--reference", action="store_true", help="keep the figures in git")
    options = parser.parse_args(arguments)
    for path in options.files:
        facts = circumstances()
        figures = measure(path, options.every)
        folder = REFERENCE if options.reference else RESULTS
        keep(f"suppress-{path.name.partition('.')[0]}", facts, figures, folder=folder)
        if figures["primaries"] != {"recovered": 0, "safe": figures["primary"], "undecided": 0}:
            raise SystemExit(f"{path}: {figures['primaries']}")
        if len(set(dict(figures["scip"]).values())) != 1:  # type: ignore[call-overload]
            raise SystemExit(f"{path}: {figures['scip']}")


if __name__ == "__main__":
    main()
