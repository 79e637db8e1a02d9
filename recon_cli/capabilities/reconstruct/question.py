"""The question of `recon reconstruct`: which records have the published counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, Self

import numpy as np
import polars as pl

from recon_cli import verification
from recon_cli.ask.quarantine import NO_QUARANTINE, Quarantine
from recon_cli.ask.question import (
    Answer,
    ContradictionProof,
    PlannedQuestion,
    RegionData,
    count_statuses,
)
from recon_cli.capabilities.reconstruct.cliques import CliqueForm
from recon_cli.capabilities.reconstruct.known_batch import missing_units
from recon_cli.capabilities.reconstruct.options import Reconstruct
from recon_cli.capabilities.reconstruct.person_records import (
    Within,
    histogram_resolved,
    person_records,
)
from recon_cli.capabilities.reconstruct.printed_solution import (
    solve_printed,
    solve_printed_over_cliques,
)
from recon_cli.capabilities.reconstruct.solution import BatchSolution, solve_system
from recon_cli.capabilities.reconstruct.study_program import StudyProgram
from recon_cli.capabilities.reconstruct.unit_status import QUARANTINED, UNDECIDED
from recon_cli.coverage import Coverage
from recon_cli.errors import ConfigError, VerificationError
from recon_cli.frames import ShownBySize, is_place
from recon_cli.model.counts import PartitionCounts, arrange_counts
from recon_cli.model.plan import Plan
from recon_cli.model.planning import make_interval_plan, make_plan
from recon_cli.model.system import (
    BATCH,
    INTERVAL_BATCH,
    MOST_LISTED,
    build_system,
    whole_regions_of,
)
from recon_cli.progress import OnProgress, ProgressSoFar, ignore_progress
from recon_cli.publication import Publication
from recon_cli.schema import Release, Table
from recon_cli.stage import undisturbed

#: Solution that is selected: any, or one that makes the counts likeliest, Eq. (likely).
Objective = Literal["any", "likely"]
#: Method: bounds and rounded relaxations (``auto``), or an engine that solves the study's program.
EngineChoice = Literal["auto", "cp-sat", "highs", "scip"]

#: Deterministic seconds to look for the proof of a contradiction.
_PROOF_SECONDS = 10.0


@dataclass(frozen=True, repr=False)
class Reconstruction(ShownBySize):
    """The records of one partition.

    Attributes:
        microdata: One row per person: the unit's geoid, the release's microdata columns, and
            ``certain``, true when propagation shows that the record's histogram columns are in
            every solution of the same tables (``recon solvar`` finds all such records).
        blocks: One row per unit: its geoid, ``population`` (null where unknown),
            ``candidates``, ``free`` (candidates that propagation left open), ``status``
            (``unique``: proven the only solution on the release's histogram; ``likely``: no other
            solution makes the published counts likelier (see `Objective`); ``solved``: neither is
            proven; ``open``: the tables in use do not bound the number of people, so there may be
            more; ``undecided``: neither a solution was found in time nor a proof that there is
            none, so that people are missing; ``quarantined``: no solver was started on it, so
            they are missing too, see `recon_cli.ask.quarantine`), ``method`` (``propagation``,
            ``solver``) and ``seconds``, the solver's deterministic effort.
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
    engine: EngineChoice = "auto",
    within: Within = "lowest",
    on_progress: OnProgress = ignore_progress,
) -> Reconstruction:
    """Reconstruct records with exactly the published counts of ``tables`` (Eq. 4.4 and 4.5).

    Args:
        tables: Block tables only for Eq. 4.5, block and tract tables for Eq. 4.4, or any others.
        seed: Decides among solutions, the same for any split of the work.
        objective: Selects a solution; default ``likely`` where some law makes one likelier.
        engine: Engine that finds the solution; proofs do not depend on it.
        within: Selects a single value of a feature that the tables only group.
        on_progress: Told of units and people done since the last call.

    Raises:
        ContradictionError: No records have these counts; names the cells.
    """
    plan = plan_for(release, tables, published.coverage, is_exact=published.is_exact)
    study = study_program(release, tables, published.coverage, engine, is_exact=published.is_exact)
    return reconstruct_plan(
        plan,
        published,
        seed=seed,
        objective=objective,
        study=study,
        within=within,
        on_progress=on_progress,
    )


def study_program(
    release: Release,
    tables: Sequence[Table],
    coverage: Coverage,
    engine: EngineChoice,
    *,
    is_exact: bool,
) -> StudyProgram | None:
    """Return the program that an engine solves; None where the engine is ``auto``.

    Raises:
        ConfigError: An engine is named, and some counts are not exact.
    """
    if engine == "auto":
        return None
    if not is_exact:
        raise ConfigError(
            f"reconstruct.engine: {engine} solves exact counts; some of these are suppressed, "
            "rounded, perturbed or noisy: leave out `reconstruct.engine`"
        )
    return StudyProgram.of(release, tables, coverage, engine)


def plan_for(
    release: Release, tables: Sequence[Table], coverage: Coverage, *, is_exact: bool
) -> Plan:
    """Make the plan that all partitions of a publication share."""
    make = make_plan if is_exact else make_interval_plan
    return make(release, tables, coverage)


def reconstruct_plan(
    plan: Plan,
    published: Publication,
    *,
    seed: int,
    objective: Objective | None = None,
    study: StudyProgram | None = None,
    within: Within = "lowest",
    on_progress: OnProgress = ignore_progress,
    quarantine: Quarantine = NO_QUARANTINE,
) -> Reconstruction:
    """Reconstruct like `reconstruct`, by given plans; ``quarantine`` is for attempts that died."""
    counts = arrange_counts(plan, published, joins_statistics=True)
    microdata, blocks = [], []
    is_likely = objective == "likely" or (objective is None and counts.costs is not None)
    is_likely &= counts.intervals is not None
    solve = partial(
        _solve_batch,
        plan,
        published,
        counts,
        form=_narrow_form(plan, counts),
        seed=seed,
        quarantine=quarantine,
        is_likely=is_likely,
        study=study,
    )
    for batch in whole_regions_of(counts, _batch_size(counts)):
        progress = ProgressSoFar(on_progress)
        solved = solve(batch, on_progress=progress.add)
        records = person_records(plan, counts, solved, seed, within)
        microdata.append(records)
        units = _unit_records(plan, counts, solved, is_likely=is_likely)
        blocks.append(units)
        progress.tell(len(solved.system.units), len(records), count_statuses(units))
    if not blocks:
        return Reconstruction(_no_records(plan), _unit_schema(plan).to_frame())
    return Reconstruction(pl.concat(microdata), pl.concat(blocks))


def _narrow_form(plan: Plan, counts: PartitionCounts) -> CliqueForm | None:
    """Return the clique form, if counts are intervals and it is small."""
    form = None if counts.intervals is None else CliqueForm.of(plan)
    return form if form is not None and form.is_narrow else None


def _batch_size(counts: PartitionCounts) -> int:
    """Return the number of units that are solved together, if no region has more."""
    if counts.statistics is not None:
        return 1  # single values may have to be listed, one region after the other
    return BATCH if counts.intervals is None else INTERVAL_BATCH


def _solve_batch(
    plan: Plan,
    published: Publication,
    counts: PartitionCounts,
    batch: slice,
    *,
    form: CliqueForm | None,
    seed: int,
    quarantine: Quarantine,
    is_likely: bool,
    study: StudyProgram | None,
    on_progress: OnProgress,
) -> BatchSolution:
    """Solve some whole regions; one, where statistics are printed.

    Args:
        form: Narrow cliques of the plan; None where there are none.
    """
    most_listed = None
    if counts.statistics is not None:
        if form is not None and not quarantine.is_active:
            found = solve_printed_over_cliques(
                plan,
                published,
                counts,
                batch,
                form,
                seed=seed,
                quarantine=quarantine,
                is_likely=is_likely,
            )
            if found is not None:
                return found
    elif counts.intervals is not None:
        # Narrow clique tables make a program of blocks; listed candidates make one without.
        most_listed = 0 if is_likely or form is not None else MOST_LISTED
    system = build_system(plan, counts, batch, most_listed)
    solved = solve_system(
        plan,
        published,
        counts,
        system,
        seed=seed,
        quarantine=quarantine,
        is_likely=is_likely,
        study=study,
        on_progress=on_progress,
    )
    if system.is_printed_exactly:
        return solved
    return solve_printed(plan, published, counts, solved, seed=seed)


def _no_records(plan: Plan) -> pl.DataFrame:
    columns = {name: plan.release.column_groups(name).dtype for name in plan.release.microdata}
    return pl.DataFrame(
        schema={plan.release.geoid_column: pl.String, **columns, "certain": pl.Boolean}
    )


def _unit_schema(plan: Plan) -> pl.Schema:
    counts = dict.fromkeys(("population", "candidates", "free"), pl.Int32())
    names = dict.fromkeys(("status", "method"), pl.String())
    return pl.Schema(
        {plan.release.geoid_column: pl.String(), **counts, **names, "seconds": pl.Float64()}
    )


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
    schema = _unit_schema(plan)
    return pl.DataFrame(dict(zip(schema, columns, strict=True))).cast(schema)


@dataclass(frozen=True)
class ReconstructionQuestion(PlannedQuestion):
    """The question of which records have the published counts, and whether others do."""

    options: Reconstruct
    study: StudyProgram | None

    @classmethod
    def of(
        cls,
        release: Release,
        tables: Sequence[Table],
        coverage: Coverage,
        options: Reconstruct,
        *,
        is_exact: bool,
    ) -> Self:
        """Make the plans for some tables; drop assumed zeros if the options do not use them."""
        if not options.assumptions:
            release = release.without_assumptions()
        plan = plan_for(release, tables, coverage, is_exact=is_exact)
        study = study_program(release, tables, coverage, options.engine, is_exact=is_exact)
        return cls(plan, options, study)

    def contradiction(self, published: Publication, region: str) -> ContradictionProof | None:
        with undisturbed():
            from recon_cli.capabilities.reconstruct.contradiction_proof import proof_of_region

        return proof_of_region(self.plan, published, region, _PROOF_SECONDS)

    def reconstructed(
        self,
        part: RegionData,
        on_progress: OnProgress = ignore_progress,
        quarantine: Quarantine = NO_QUARANTINE,
    ) -> tuple[Reconstruction, dict[str, int]]:
        """Reconstruct a part, and count the published cells that were compared with the result.

        Raises:
            VerificationError: The records do not reproduce a published count.
        """
        result = reconstruct_plan(
            self.plan,
            part.published,
            seed=self.options.fixed_seed,
            objective=self.options.objective,
            study=self.study,
            within=self.options.within,
            on_progress=on_progress,
            quarantine=quarantine,
        )
        return result, self._verified(part, result) if self.options.verify else {
            "cells_compared": 0
        }

    def ask(self, part: RegionData, on_progress: OnProgress, quarantine: Quarantine) -> Answer:
        """Compute rows of ``microdata/`` and ``blocks/``.

        Raises:
            VerificationError: The records do not reproduce a published count.
        """
        result, verified = self.reconstructed(part, on_progress, quarantine)
        blocks = result.blocks
        place = self.release.geoid_column
        places = blocks.filter(is_place(place))
        unlisted = blocks.height - places.height
        placed = result.microdata[place].unique().implode()
        inhabited = places.filter((pl.col("population") > 0) | pl.col(place).is_in(placed))
        is_unique = pl.col("status") == "unique"
        methods = blocks["method"].value_counts().iter_rows()
        return Answer(
            {"microdata": result.microdata, "blocks": blocks},
            statuses=count_statuses(places),
            totals={
                "units": places.height,
                **({"unlisted": unlisted} if unlisted else {}),
                "inhabited": inhabited.height,
                "unique": inhabited.filter(is_unique).height,
                "people": result.microdata.height,
                "certain": int(result.microdata["certain"].sum()),
                "people_in_unique": int(places.filter(is_unique)["population"].sum()),
                "uncounted": blocks["population"].null_count(),
                "candidates": int(blocks["candidates"].sum()),
                "free": int(blocks["free"].sum()),
                **verified,
                **{f"by_{method}": count for method, count in methods},
            },
        )

    def _verified(self, part: RegionData, result: Reconstruction) -> dict[str, int]:
        """Count the published cells compared: all except those of regions not wholly solved."""
        release, published = self.release, part.published
        gone = release.region.enclosing(missing_units(result.blocks)).unique().implode()
        region = release.region.enclosing(pl.col("geoid"))
        kept = replace(
            published,
            geounits=published.geounits.filter(~region.is_in(gone)),
            counts=published.counts.filter(~region.is_in(gone)),
            statistics=published.statistics.filter(~region.is_in(gone)),
        )
        of_region = release.region.enclosing(pl.col(release.geoid_column))
        records = result.microdata.filter(~of_region.is_in(gone))
        found = verification.verify(release, kept, records, self.plan.tables)
        try:
            found.require()
        except VerificationError as error:
            level = release.geography.partition
            raise VerificationError(f"{level} {part.partition or '(all)'}: {error}") from error
        return {
            "cells_compared": found.cells_compared,
            "cells_within": found.cells_within,
            "cells_unbounded": found.cells_unbounded,
        }
