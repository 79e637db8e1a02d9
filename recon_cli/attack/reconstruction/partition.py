"""Reconstruction: published counts of one partition → the person records that they imply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl

from recon_cli.attack.excluded_units import NO_QUARANTINE, Quarantine
from recon_cli.attack.reconstruction.person_records import histogram_resolved, person_records
from recon_cli.attack.reconstruction.solution import BatchSolution, solve_system
from recon_cli.attack.unit_status import QUARANTINED, UNDECIDED
from recon_cli.model.cliques import CliqueForm
from recon_cli.model.counts import PartitionCounts, arrange_counts
from recon_cli.model.plan import Plan
from recon_cli.model.planning import make_interval_plan, make_plan
from recon_cli.model.system import MOST_LISTED, build_systems
from recon_cli.progress import OnProgress, ProgressSoFar, ignore_progress
from recon_cli.publication import Publication
from recon_cli.schema import Release, Table

#: Which solution: any, or one that makes the published counts likeliest, Eq. (likely).
Objective = Literal["any", "likely"]


@dataclass(frozen=True)
class Reconstruction:
    """The records of one partition.

    Attributes:
        microdata: One row per person: the unit's geoid, the release's microdata columns, and
            ``certain``, true when propagation shows that the record's histogram columns are in
            every solution of the same tables (``recon solvar`` finds all such records).
        blocks: One row per unit: its geoid, ``population`` (null where unknown),
            ``candidates``, ``free`` (candidates
            that propagation left open), ``status`` (``unique``: proven the only solution on the
            release's histogram; ``likely``: no other solution makes the published counts likelier
            (see `Objective`); ``solved``: neither is proven; ``open``: the tables in use do
            not bound the number of people, so there may be more; ``undecided``: neither a solution
            was found in time nor a proof that there is none, so that people are missing;
            ``quarantined``: no solver was started on it, likewise, see
            `recon_cli.attack.excluded_units`),
            ``method`` (``propagation``, ``solver``) and ``seconds``, the
            solver's deterministic effort.
    """

    microdata: pl.DataFrame
    blocks: pl.DataFrame


def reconstruct(
    release: Release,
    published: Publication,
    tables: Sequence[Table],
    *,
    seed: int,
    objective: Objective | None = None,
    on_progress: OnProgress = ignore_progress,
) -> Reconstruction:
    """Records that have exactly the published counts of ``tables`` (Eq. 4.4 and 4.5).

    Args:
        tables: Block tables only for Eq. 4.5, block and tract tables for Eq. 4.4, or any others.
        seed: Decides among solutions, the same for any split of the work.
        objective: Which solution; default ``likely`` where some law makes one likelier.
        on_progress: Told of units and people done since the last call.

    Raises:
        ContradictionError: No records have these counts; names the cells.
        SourceError: A unit lacks the coarser geounit that the tables need.
    """
    plan = plan_for(release, published, tables)
    return reconstruct_plan(
        plan, published, seed=seed, objective=objective, on_progress=on_progress
    )


def plan_for(release: Release, published: Publication, tables: Sequence[Table]) -> Plan:
    """The plan that all partitions of a publication share."""
    make = make_plan if published.is_exact else make_interval_plan
    return make(release, tables, published.coverage)


def reconstruct_plan(
    plan: Plan,
    published: Publication,
    *,
    seed: int,
    objective: Objective | None = None,
    on_progress: OnProgress = ignore_progress,
    quarantine: Quarantine = NO_QUARANTINE,
) -> Reconstruction:
    """`reconstruct` with a plan already made; see there.

    ``quarantine`` is for attempts that died.
    """
    counts = arrange_counts(plan, published)
    microdata, blocks = [], []
    is_likely = objective == "likely" or (objective is None and counts.costs is not None)
    is_likely &= counts.intervals is not None
    most_listed = None
    if counts.intervals is not None:
        # Tables of narrow cliques take one program of blocks; a list is one of the whole region.
        most_listed = 0 if is_likely or CliqueForm.of(plan).is_narrow else MOST_LISTED
    for system in build_systems(plan, counts, most_listed=most_listed):
        told = ProgressSoFar(on_progress)
        solved = solve_system(
            plan,
            published,
            counts,
            system,
            seed=seed,
            quarantine=quarantine,
            is_likely=is_likely,
            on_progress=told.add,
        )
        records = person_records(plan, counts, solved, seed)
        microdata.append(records)
        units = _unit_records(plan, counts, solved, is_likely=is_likely)
        blocks.append(units)
        told.tell(len(system.units), len(records), count_statuses(units))
    if not blocks:
        return Reconstruction(_no_records(plan), pl.DataFrame(schema=_unit_schema(plan)))
    return Reconstruction(pl.concat(microdata), pl.concat(blocks))


def count_statuses(units: pl.DataFrame) -> dict[str, int]:
    """``status`` → how many rows of ``units`` have it."""
    return dict(units["status"].value_counts().iter_rows())


def _no_records(plan: Plan) -> pl.DataFrame:
    columns = {name: plan.release.column_groups(name).dtype for name in plan.release.microdata}
    return pl.DataFrame(
        schema={plan.release.geoid_column: pl.String, **columns, "certain": pl.Boolean}
    )


def _unit_schema(plan: Plan) -> dict[str, type[pl.DataType]]:
    return {
        plan.release.geoid_column: pl.String,
        "population": pl.Int32,
        "candidates": pl.Int32,
        "free": pl.Int32,
        "status": pl.String,
        "method": pl.String,
        "seconds": pl.Float64,
    }


def _unit_records(
    plan: Plan, counts: PartitionCounts, solved: BatchSolution, *, is_likely: bool
) -> pl.DataFrame:
    system, cells = solved.system, solved.cells
    n = len(system.units)
    blurred = (solved.people > 0) & ~histogram_resolved(plan, cells.atoms)
    varies = (solved.free > 0) | (np.bincount(cells.unit, weights=blurred, minlength=n) > 0)
    status = varies.astype(np.int64)
    status[varies & solved.is_least & is_likely] = 4
    status[~system.is_bounded] = 2
    status[solved.unsolved] = 3
    status[solved.undecided] = 5
    placed = pl.Series(np.bincount(cells.unit, weights=solved.people, minlength=n).astype(np.int32))
    unknown = ~system.is_bounded | solved.unsolved
    unknown |= (solved.free > 0) & (~system.has_total | (counts.intervals is not None))
    placed = placed.set(pl.Series(unknown), None)
    columns: list[Any] = [
        counts.geoids[system.units],
        counts.population[system.units].fill_null(placed),
        solved.candidates,
        solved.free,
        pl.Series(["unique", "solved", "open", QUARANTINED, "likely", UNDECIDED])[status],
        pl.Series(["propagation", "solver"])[solved.used_solver.astype(np.int64)],
        solved.deterministic_time.round(6),
    ]
    return pl.DataFrame(
        [
            pl.Series(name, column).cast(dtype)
            for (name, dtype), column in zip(_unit_schema(plan).items(), columns, strict=True)
        ]
    )
