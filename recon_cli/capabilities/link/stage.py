"""Run `recon link`: sources and attacker files → ``links/`` and their counts."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import polars as pl

from recon_cli.capabilities.link import LINK, baselines
from recon_cli.capabilities.link.files import AttackerUsage, add_up_usage, count_usage
from recon_cli.capabilities.link.inputs import LinkageInputs, open_linkage_inputs
from recon_cli.capabilities.link.options import Link
from recon_cli.capabilities.link.partition import LinkageCounts, PartitionLinkage
from recon_cli.capabilities.link.specification import TABLES, LinkageSpecification, parent_level
from recon_cli.capabilities.records.files import AS_IT_IS, Slice
from recon_cli.errors import SourceError, UnknownValueError
from recon_cli.execute import OnProgress
from recon_cli.pipeline.opened_stage import MadeStage
from recon_cli.pipeline.run import Run
from recon_cli.seeding import digest_seed
from recon_cli.store import Manifest, Piece, Staging, Transaction
from recon_cli.store.files import key_of
from recon_cli.store.pieces import PIECE_PEOPLE, cut
from recon_cli.store.published import open_published

#: People whose gained values are counted while a process would start.
LIGHT = 1_000_000


def open_stage(run: Run) -> MadeStage:
    """Open the stage that matches every source with every attacker file.

    Raises:
        SourceError: A file cannot be read, lacks a column, or holds values that the schema does
            not know.
    """
    config = run.config.section(Link)
    inputs = open_linkage_inputs(run)
    slices = {name: file.slices() for name, file in inputs.files.items()}
    inputs = replace(inputs, present={name: frozenset(parts) for name, parts in slices.items()})
    partitions = {
        name: {file: parts[name].digest for file, parts in slices.items() if name in parts}
        for name in slices[inputs.spec.truth]
    }
    if TABLES in inputs.spec.used:
        tables, _ = open_published(run.work, run.release)
        for name in partitions.keys() & set(tables.partitions):
            partitions[name]["tables/"] = tables.digest(name)
    recipe = run.recipe(
        LINK,
        _settings(inputs, config),
        seed=inputs.spec.seed,
        shared={"all": key_of(partitions)},  # the national modes depend on every partition
        partitions=partitions,
    )

    def make(stage: Transaction) -> Manifest:
        truth = slices[inputs.spec.truth]
        whole = [Piece(name, people=truth[name].rows) for name in sorted(partitions)]
        counted = run.map_pieces(
            "link", count_gains, lambda: (inputs, run.work), whole, light=LIGHT
        ).values
        _check_usage(inputs, slices, counted)
        spec = baselines.with_modes(inputs.spec, [each.counts for each in counted])
        known = replace(inputs, spec=spec)
        pieces = [piece for each in counted for piece in each.pieces]
        context = LinkageContext(known, run.work, stage.staging, config.draws, rows=config.rows)
        results = run.map_unfinished(stage, link_piece, lambda: context, pieces)
        return stage.publish(
            pieces,
            notes=_notes(known, slices),
            usages=results.usages,
            workers=results.workers,
        )

    return MadeStage(recipe, make)


@dataclass(frozen=True)
class PartitionGains:
    """Counts of a partition that are needed before partitions are linked.

    Attributes:
        counts: The gained values of every origin that is guessed from.
        pieces: The pieces of the partition.
        usage: Usage of every attacker file that the config names.
    """

    counts: baselines.GainCounts
    pieces: tuple[Piece, ...]
    usage: Mapping[str, AttackerUsage]


def count_gains(job: tuple[LinkageInputs, Path], piece: Piece, tick: OnProgress) -> PartitionGains:
    """Count one partition's gained values and attackers, and cut it; runs in a worker.

    Args:
        job: The inputs and the work folder.
        piece: A whole partition.
        tick: Told of its units and people.
    """
    (inputs, work), partition = job, piece.partition
    spec = inputs.spec
    records = {name: inputs.read(name, partition) for name in spec.guessed_from if name != TABLES}
    place = pl.col(spec.release.geoid_column).alias("geoid")
    units = records[spec.truth].group_by(place).agg(population=pl.len())
    counts = baselines.count_gains(spec, records, inputs.margins(work, partition))
    tick(units.height, int(units["population"].sum()))
    # a unit without a mode of its own takes its parent's, and passes look in whole places
    region, parents = spec.release.region, parent_level(spec.release)
    whole = max(region, parents, *spec.places, key=lambda level: -level.rank)
    pieces = cut(spec.release, partition, units, PIECE_PEOPLE, whole=whole)
    return PartitionGains(counts, tuple(pieces), _usage(inputs, records[spec.truth], partition))


def _check_usage(
    inputs: LinkageInputs,
    slices: Mapping[str, Mapping[str, Slice]],
    counted: Iterable[PartitionGains],
) -> None:
    """Refuse an attacker's file that would mostly be left out, or has foreign ids.

    Raises:
        SourceError: Names the file and the remedy.
    """
    parts = [each.usage for each in counted]
    known = slices[inputs.spec.truth]
    for name, share in inputs.may_leave_out.items():
        rows = (each.rows for partition, each in slices[name].items() if partition not in known)
        usage = add_up_usage([AttackerUsage(elsewhere=sum(rows)), *(part[name] for part in parts)])
        try:
            usage.check(inputs.spec.id, share)
        except SourceError as error:
            raise SourceError(
                f"link.attackers.{name}: {inputs.files[name].path}: {error}"
            ) from error


def _usage(inputs: LinkageInputs, truth: pl.DataFrame, partition: str) -> dict[str, AttackerUsage]:
    usage = {}
    for name in inputs.may_leave_out:
        records = inputs.read(name, partition)
        try:
            usage[name] = count_usage(
                inputs.spec, truth, records, f"{name}: {inputs.files[name].path}"
            )
        except SourceError as error:
            first = None
            if isinstance(error, UnknownValueError):
                first = inputs.files[name].first_record(error.column, error.values)
            at = "" if first is None else f"; the first is record {first:,} of the file"
            raise SourceError(
                f"link.attackers.{error}{at}; `columns` and `values` translate the file's headers "
                "and codes (docs/attackers.md)"
            ) from None
    return usage


@dataclass(frozen=True)
class LinkageContext:
    """The inputs that all partitions share."""

    inputs: LinkageInputs
    work: Path
    staging: Staging
    draws: int
    rows: bool


def link_piece(context: LinkageContext, piece: Piece, tick: OnProgress) -> None:
    """Link and write one piece; runs in a worker."""
    started, partition = time.perf_counter(), piece.partition
    inputs, spec = context.inputs, context.inputs.spec
    records = {
        name: inputs.read(name, partition, piece.span) for name in spec.used if name != TABLES
    }
    files = {
        name: inputs.read(name, partition, piece.span)
        for name in spec.attackers
        if name not in spec.from_truth
    }
    margins = inputs.margins(context.work, partition, piece.span)
    links: list[pl.DataFrame] = []
    counted: list[LinkageCounts] = []
    for draw in range(context.draws):
        seed = spec.seed if draw == 0 else digest_seed(spec.seed, "draw", str(draw))
        linkage = PartitionLinkage(replace(spec, seed=seed), records, files, margins)
        counted.append(linkage.run(links.append if draw == 0 and context.rows else _discard))
    first = counted[0]
    context.staging.write(
        piece,
        {
            "links": pl.concat([linkage.no_links, *links]),
            "tallies": _by_draw([each.tallies for each in counted]),
            "targets": _by_draw([each.targets for each in counted]),
            "agreement": first.agreement,  # does not depend on the draw
            "truth": first.truth,
        },
        statuses=first.left_out,
        totals=_totals(first),
        started=started,
    )
    tick(first.truth.height, int(first.truth["population"].sum()))


def _discard(_links: pl.DataFrame) -> None: ...


def _by_draw(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat(
        frame.with_columns(pl.lit(draw, dtype=pl.Int16).alias("draw"))
        for draw, frame in enumerate(frames)
    )


def _totals(counted: LinkageCounts) -> dict[str, int]:
    return {
        "units": counted.truth.height,
        "people": int(counted.truth["population"].sum()),
        "linkable": int(counted.truth["linkable"].sum()),
        "putative": int(counted.tallies["putative"].sum()),
        "confirmed": int(counted.tallies["confirmed"].sum()),
        **_matched(counted.targets),
        **{f"mode of {name}": units for name, units in counted.modes.items()},
    }


def _matched(targets: pl.DataFrame) -> dict[str, int]:
    """Count records of each attacker's file, and those whose person the truth has in their unit."""
    by_name = targets.group_by("attacker").agg(
        pl.col("records").cast(pl.Int64).sum(),
        matched=pl.col("records").cast(pl.Int64).filter(pl.col("modal").is_not_null()).sum(),
    )
    return {
        f"{name}: {what}": count
        for name, *counts in by_name.sort("attacker").iter_rows()
        for what, count in zip(("records", "matched"), counts, strict=True)
    }


def _settings(inputs: LinkageInputs, config: Link) -> dict[str, object]:
    spec = inputs.spec
    return {
        **spec.keys.lists,
        **_passes(spec),
        "origins": list(spec.origins),
        "guessers": [
            [each.name, each.kind, each.origin, each.leave_one_out] for each in spec.guessers
        ],
        "attackers": list(spec.attackers),
        "from_truth": list(spec.from_truth),
        "translations": {
            name: asdict(file.translation)
            for name, file in inputs.files.items()
            if file.translation != AS_IT_IS
        },
        "tables": [table.name for table in inputs.tables] if TABLES in spec.used else [],
        "id": spec.id,
        "data_defined": spec.data_defined,
        "draws": config.draws,
        "rows": config.rows,
    }


def _passes(spec: LinkageSpecification) -> dict[str, object]:
    """Return the user's passes, if there are any."""
    passes = [
        [each.name, each.place.name, list(each.same), each.near, each.within]
        for each in spec.own_passes
    ]
    return {"passes": passes} if passes else {}


def _notes(inputs: LinkageInputs, slices: Mapping[str, Mapping[str, Slice]]) -> dict[str, object]:
    """Return notes for readers of the counts; records of partitions that the truth lacks."""
    spec = inputs.spec
    known = slices[spec.truth]
    return {
        "truth": spec.truth,
        "baseline": spec.baseline,
        "sources": [*spec.origins, *(each.name for each in spec.guessers)],
        "guessers": {each.name: each.kind for each in spec.guessers},
        "leave_one_out": [each.name for each in spec.guessers if each.leave_one_out],
        "origin": {each.name: each.origin for each in spec.guessers},
        "attackers": list(spec.attackers),
        "from_truth": list(spec.from_truth),
        **({"passes": [each.name for each in spec.own_passes]} if spec.own_passes else {}),
        "outside_partitions": {
            name: sum(each.rows for partition, each in parts.items() if partition not in known)
            for name, parts in slices.items()
        },
    }
