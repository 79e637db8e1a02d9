"""The audit beside one linear program per cell: ``python -m benchmarks.audit FILES``.

Census files are suppressed below 3, without complementary cells; then every suppressed count of
their tables of blocks is audited. Beside it HiGHS minimises and maximises a sample of the same
counts, each in a linear program of its own over the whole region, as agencies' tools do for one
table. Both know the same histogram cells, those that no published zero rules out.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy import optimize, sparse

import recon_cli as recon
from benchmarks.machine import REFERENCE, RESULTS, Record, circumstances, keep, say
from recon_cli.api.reconstruction import chosen_tables, split
from recon_cli.arrays import FloatArray
from recon_cli.capabilities.audit.cells import IntervalCells
from recon_cli.capabilities.audit.options import Audit
from recon_cli.capabilities.audit.question import audit_counts
from recon_cli.capabilities.protect.counts import protect_counts, tidy_counts
from recon_cli.chance import KeyedChance
from recon_cli.model.bounds import propagate
from recon_cli.model.counts import arrange_counts
from recon_cli.model.planning import make_interval_plan
from recon_cli.model.program import IntegerProgram
from recon_cli.model.system import build_systems
from recon_cli.publication import Publication
from recon_cli.schema import Release, Table

BELOW = 3
#: What floating point may miss an end by.
_ROUNDING = 1e-6


def suppressed(release: Release, path: Path) -> Publication:
    """Return a census file with its counts below the threshold flagged."""
    exact = recon.read_published(release, [path], source="sf1-legacy")
    law = recon.parse_law({"suppressed": {"below": BELOW}})
    protection = recon.Protection((recon.Statement(law),))
    rows = tidy_counts(
        exact, protect_counts(release, exact, protection, chance=KeyedChance.for_study(1))
    )
    return recon.publish(release, rows, protection=protection)


def audit(release: Release, published: Publication, tables: Sequence[Table]) -> pl.DataFrame:
    """Return all cells, as `recon audit` does."""
    options = Audit(seed=1, region_seconds=30.0)
    parts = split(release, published)
    return pl.concat(audit_counts(release, part, tables, options) for part in parts)


def one_by_one(
    release: Release,
    published: Publication,
    tables: Sequence[Table],
    audited: pl.DataFrame,
    every: int,
) -> Iterator[tuple[float, bool]]:
    """Seconds of the two programs of every n-th cell, and whether they contain the audit's ends."""
    known = {row[:4]: row[6:8] for row in audited.rows()}
    for part in split(release, published):
        plan = make_interval_plan(release, tables, part.coverage)
        counts = arrange_counts(plan, part)
        for system in build_systems(plan, counts):
            cells = IntervalCells.of(plan, counts, system)
            names = cells.names(plan, counts, system).rows()
            width = len(system.candidates.unit)
            top = int(propagate(system.rows).upper.max(initial=0))
            program = IntegerProgram(
                system.rows, np.zeros(width, dtype=np.int64), np.full(width, top)
            )
            for at in range(every // 2, len(names), every):
                cost = cells.coefficients[[at]].toarray()[0].astype(np.float64)
                started = time.perf_counter()
                low, high = least_by_highs(program, cost), -least_by_highs(program, -cost)
                elapsed = time.perf_counter() - started
                least, greatest = known[names[at]]
                yield elapsed, low <= least + _ROUNDING and greatest <= high + _ROUNDING


def least_by_highs(program: IntegerProgram, cost: FloatArray) -> float:
    """The least ``cost @ x`` of the relaxation, by HiGHS as it comes: presolve, then its choice."""
    rows = program.constraints
    equal = rows.least == rows.most
    ranges = rows.A[~equal]
    linprog: Any = optimize.linprog  # whose stubs have no sparse arrays
    result = linprog(
        cost,
        A_eq=rows.A[equal],
        b_eq=rows.least[equal],
        A_ub=sparse.vstack([ranges, -ranges]),
        b_ub=np.concatenate([rows.most[~equal], -rows.least[~equal]]),
        bounds=np.stack([program.lower, program.upper], 1),
        method="highs",
    )
    return float(result.fun)


def measure(files: Sequence[Path], every: int) -> Record:
    """Time both on the same cells."""
    release = recon.load_release("sf1_2010")
    totals = {"cells": 0, "seconds": 0.0, "lp_cells": 0, "lp_seconds": 0.0}
    statuses: dict[str, int] = {}
    for path in files:
        published = suppressed(release, path)
        tables = chosen_tables(release, published, "block")
        started = time.perf_counter()
        audited = audit(release, published, tables)
        totals["seconds"] += time.perf_counter() - started
        totals["cells"] += audited.height
        for status, number in audited["status"].value_counts().iter_rows():
            statuses[status] = statuses.get(status, 0) + number
        for elapsed, agrees in one_by_one(release, published, tables, audited, every):
            if not agrees:
                raise SystemExit(f"{path}: a linear program and the audit disagree")
            totals["lp_cells"] += 1
            totals["lp_seconds"] += elapsed
    ours = totals["seconds"] / totals["cells"]
    theirs = totals["lp_seconds"] / totals["lp_cells"]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        **totals,
        **statuses,
        "times_as_fast": round(theirs / ours, 1),
        "peak_mb": round(peak),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--every", type=int, default=200, help="cells between two of the sample")
    parser.add_argument("--reference", action="store_true", help="keep the figures in git")
    options = parser.parse_args(arguments)
    facts = circumstances()
    figures = measure(options.files, options.every)
    say(f"{figures['cells']:,} cells", float(str(figures["seconds"])), 0.0)
    keep("audit", facts, figures, folder=REFERENCE if options.reference else RESULTS)


if __name__ == "__main__":
    main()
