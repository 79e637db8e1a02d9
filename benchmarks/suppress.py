"""Suppression at size, audited: ``python -m benchmarks.suppress FILES``.

Census files (tables of blocks, at all levels) and ``fixtures/clinic_visits.csv`` are suppressed
below 3 by `recon protect suppress`. Then, knowing only what is published, the audit
(linear programs, duals in integers, both engines) decides every suppressed count. That a primary
count is not recovered is shown again without an engine: by witnesses, sets of records that the
verifier finds to have every published count, and in which the tabulation finds another count than
the true one. SCIP is asked of those that no witness shows, one by one.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl
from ortools.math_opt.python import mathopt
from scipy import sparse

import recon_cli as recon
from benchmarks.machine import REFERENCE, RESULTS, Record, circumstances, keep, say
from recon_cli.api.reconstruction import chosen_tables, split
from recon_cli.arrays import IntArray
from recon_cli.capabilities.audit.options import Audit
from recon_cli.capabilities.audit.question import audit_counts
from recon_cli.capabilities.audit.statuses import STATUSES
from recon_cli.capabilities.protect.counts import tidy_counts
from recon_cli.capabilities.suppress.least_change import OPEN
from recon_cli.capabilities.suppress.linked_cells import linked_cells
from recon_cli.capabilities.suppress.primary import PrimaryRules
from recon_cli.capabilities.suppress.suppression import (
    SuppressionOptions,
    suppress_counts,
    suppression_protection,
)
from recon_cli.publication import Publication
from recon_cli.schema import Release, Table

BELOW = 3
#: Another count is possible, whichever.
SAFETY = 1
_KEY = ["geoid", "table", "cell"]


@dataclass
class Figures:
    """What was found so far, in a file.

    Attributes:
        counts: Name → how many.
        seconds: Name → CPU seconds.
        statuses: Suppressed counts by the audit's status; of primary ones, too.
    """

    counts: Counter[str] = field(default_factory=Counter)
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    statuses: dict[str, Counter[str]] = field(
        default_factory=lambda: {
            kind: Counter(dict.fromkeys(STATUSES, 0)) for kind in ("all", "primary")
        }
    )

    def is_protected(self) -> bool:
        """Whether the audit finds all primary counts safe, and a witness or SCIP shows each."""
        primary, counts = self.counts["primary"], self.counts
        shown = counts["shown_by_witnesses"] + counts["shown_by_scip"]
        return self.statuses["primary"]["safe"] == primary == shown

    def record(self) -> Record:
        """Return all of it."""
        seconds = {f"{name}_seconds": round(value, 2) for name, value in self.seconds.items()}
        statuses = {name: dict(each) for name, each in self.statuses.items()}
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        return {**self.counts, **seconds, "statuses": statuses, "peak_mb": round(peak)}


def measure(path: Path, rules: PrimaryRules) -> Figures:
    """Suppress one file, and attack it."""
    is_census = path.suffix == ".zip"
    release = recon.load_release("sf1_2010" if is_census else "clinic_visits")
    source = "sf1-legacy" if is_census else "tidy"
    exact = recon.read_published(release, [path], source=source)
    tables = chosen_tables(release, exact, "block" if is_census else None)
    figures = Figures()
    for part in split(release, exact):
        started = time.process_time()
        suppressed = suppress_counts(
            release, part, SuppressionOptions(rules, SAFETY), tables=tables
        )
        figures.seconds["suppress"] += time.process_time() - started
        figures.counts["counts"] += int((suppressed["true"] > 0).sum())
        figures.counts["suppressed"] += suppressed["count"].null_count()
        figures.counts["primary"] += int(suppressed["primary"].sum())
        law = suppression_protection(rules)
        public = recon.publish(release, tidy_counts(part, suppressed), protection=law)
        _audit(release, public, tables, suppressed, figures)
        primary = suppressed.filter("primary").select(*_KEY, "true")
        shown = _shown_by_witnesses(release, public, tables, primary, figures)
        figures.counts["shown_by_witnesses"] += shown.height
        left = primary.join(shown, on=_KEY, how="anti")
        figures.counts["shown_by_scip"] += _shown_by_scip(release, part, tables, suppressed, left)
        say(str(part.geounits["geoid"].min()), sum(figures.seconds.values()), 0.0)
    return figures


def _audit(
    release: Release,
    public: Publication,
    tables: Sequence[Table],
    suppressed: pl.DataFrame,
    figures: Figures,
) -> None:
    started = time.process_time()
    options = Audit(seed=1, region_seconds=60.0, safety=SAFETY)
    audited = audit_counts(release, public, tables, options)
    figures.seconds["audit"] += time.process_time() - started
    primary = audited.join(suppressed.filter("primary"), on=_KEY, how="semi")
    for kind, frame in (("all", audited), ("primary", primary)):
        figures.statuses[kind].update(dict(frame["status"].value_counts().iter_rows()))


def _shown_by_witnesses(
    release: Release,
    public: Publication,
    tables: Sequence[Table],
    primary: pl.DataFrame,
    figures: Figures,
) -> pl.DataFrame:
    """Return the primary counts (geoid, table, cell) that are others in some witness.

    Raises:
        VerificationError: A witness does not have the published counts.
    """
    started, shown = time.process_time(), primary.select(_KEY).clear()
    names = [table.name for table in tables]
    for witness in recon.find_witnesses(release, public, primary, tables=names, seed=1):
        recon.verify(release, public, witness, tables=names).require()
        counted = recon.tabulate(release, witness, tables)
        beside = primary.join(counted, on=_KEY, how="left")
        others = beside.filter(pl.col("true") != pl.col("count").fill_null(0))
        shown = pl.concat([shown, others.select(_KEY)]).unique()
        figures.counts["witnesses"] += 1
    figures.seconds["witnesses"] += time.process_time() - started
    return shown


def _shown_by_scip(
    release: Release,
    part: Publication,
    tables: Sequence[Table],
    suppressed: pl.DataFrame,
    left: pl.DataFrame,
) -> int:
    """Count how many of some primary counts are others in records that SCIP finds."""
    if not len(left):
        return 0
    shown, zeros_hidden = 0, bool((suppressed["true"] == 0).any())
    for linked in linked_cells(release, part, tables, zeros_hidden=zeros_hidden):
        here = linked.names.join(suppressed, on=_KEY, how="left", maintain_order="left")
        cells = here.group_by("distinct").agg(
            pl.col("true").first(), hidden=pl.col("count").is_null().any()
        )
        cells = cells.sort("distinct")
        values, hidden = cells["true"].cast(pl.Int64).to_numpy(), cells["hidden"].to_numpy()
        agree = np.zeros(linked.agreement.shape[0], dtype=np.int64)
        low = np.append(np.where(hidden, 0 if zeros_hidden else 1, values), agree)
        high = np.append(np.where(hidden, OPEN, values), agree)
        for target in here.join(left, on=_KEY, how="semi")["distinct"].to_list():
            above, below = low.copy(), high.copy()
            above[target], below[target] = values[target] + 1, values[target] - 1
            shown += _is_possible(linked.rows, above, high) or _is_possible(linked.rows, low, below)
    return shown


def _is_possible(A: sparse.csr_array, low: IntArray, high: IntArray) -> bool:
    """Test whether SCIP finds people with ``low <= A @ people <= high``."""
    if (low > high).any():
        return False
    model = mathopt.Model()
    people = [model.add_integer_variable(lb=0, ub=OPEN) for _ in range(A.shape[1])]
    for row in range(A.shape[0]):
        constraint = model.add_linear_constraint(lb=int(low[row]), ub=int(high[row]))
        for at in range(A.indptr[row], A.indptr[row + 1]):
            constraint.set_coefficient(people[A.indices[at]], int(A.data[at]))
    result = mathopt.solve(model, mathopt.SolverType.GSCIP)
    return bool(result.has_primal_feasible_solution())


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure each file, and keep the figures.

    Raises:
        SystemExit: A primary count is recovered or undecided, or not shown to be safe.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--hide-zeros", action="store_true", help="suppress zeros, too")
    parser.add_argument("--reference", action="store_true", help="keep the figures in git")
    options = parser.parse_args(arguments)
    for path in options.files:
        facts = circumstances()
        figures = measure(path, PrimaryRules(BELOW, zeros_hidden=options.hide_zeros))
        folder = REFERENCE if options.reference else RESULTS
        name = f"suppress-{path.name.partition('.')[0]}" + "-zeros" * options.hide_zeros
        keep(name, facts, figures.record(), folder=folder)
        if not figures.is_protected():
            raise SystemExit(f"{path}: {figures.record()}")


if __name__ == "__main__":
    main()
