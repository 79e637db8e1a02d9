"""`recon link`: sources and attacker files → ``links/`` and what they count up to."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from recon_cli.attack.linkage.published_margins import margin_records, published_margin
from recon_cli.attack.linkage.reidentification import LinkageCounts, PartitionLinkage
from recon_cli.attack.linkage.specification import TABLES
from recon_cli.config.sections.link import Link
from recon_cli.execute import OnProgress
from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.seeding import digest_seed
from recon_cli.sources.records import Slice
from recon_cli.stages.linkage_inputs import (
    LinkageInputs,
    count_gains,
    open_linkage_inputs,
    with_modes,
)
from recon_cli.store import Piece, Stage, Staging, read_published
from recon_cli.store.files import key_of
from recon_cli.store.published import open_published

#: ``links`` holds a row a link; the others a row a geounit and group, for `recon score`.
LINK = Stage("link", ("links", "tallies", "targets", "agreement", "truth"))

#: People that are surveyed while a process would start.
LIGHT = 1_000_000


def link(run: Run) -> StageOutcome:
    """Match every source with every attacker file, and confirm the links on the truth.

    Raises:
        ConfigError: A file, a name or a column is not there.
        SourceError: A file cannot be read, lacks a column, or holds values that the schema does
            not know.
        StageError: A stage folder is missing or damaged, or the work folder is in use.
        WorkerError: A worker died.
    """
    config = run.config.section(Link)
    cast = open_linkage_inputs(run)
    slices = {name: file.slices() for name, file in cast.files.items()}
    cast = replace(cast, present={name: frozenset(found) for name, found in slices.items()})
    partitions = {
        name: {file: found[name].digest for file, found in slices.items() if name in found}
        for name in slices[cast.lineup.truth]
    }
    if TABLES in cast.lineup.used:
        tables, _ = open_published(run.work, run.release)
        for name in partitions.keys() & set(tables.partitions):
            partitions[name]["tables/"] = tables.digest(name)
    recipe = run.recipe(
        LINK,
        _settings(cast, config),
        seed=cast.lineup.seed,
        shared={"all": key_of(partitions)},  # the national modes depend on every partition
        partitions=partitions,
    )
    with run.transaction(recipe) as stage:
        if stage.current is not None:
            return StageOutcome(LINK, stage.current, skipped=True)
        found = slices[cast.lineup.truth]
        whole = [Piece(name, people=found[name].rows) for name in sorted(partitions)]
        surveys = run.for_each(
            "link", count_gains, lambda: (cast, run.work), whole, light=LIGHT
        ).values
        cast = with_modes(cast, surveys)
        pieces = [piece for each in surveys for piece in each.pieces]
        job = _Job(cast, run.work, stage.staging, config.draws, rows=config.rows)
        results = run.work_through(stage, link_piece, lambda: job, pieces)
        manifest = stage.publish(
            pieces,
            notes=_notes(cast, slices),
            usages=results.usages,
            workers=results.workers,
        )
    return StageOutcome(LINK, manifest)


@dataclass(frozen=True)
class _Job:
    """What all partitions share."""

    cast: LinkageInputs
    work: Path
    staging: Staging
    draws: int
    rows: bool


def link_piece(job: _Job, piece: Piece, tick: OnProgress) -> None:
    """Link and write one piece; runs in a worker."""
    started, partition = time.perf_counter(), piece.partition
    cast, lineup = job.cast, job.cast.lineup
    records = {
        name: cast.read(name, partition, piece.span) for name in lineup.used if name != TABLES
    }
    files = {
        name: cast.read(name, partition, piece.span)
        for name in lineup.attackers
        if name not in lineup.from_truth
    }
    margin = None
    if TABLES in lineup.used:
        published = read_published(job.work, lineup.release, partition, piece.span)
        margin = published_margin(lineup.release, published, cast.tables, lineup.keys.gains)
        margin = margin.rename({"geoid": lineup.release.geoid_column})
        records[TABLES] = margin_records(lineup.release, published, cast.tables, lineup.keys)
    links: list[pl.DataFrame] = []
    counted: list[LinkageCounts] = []
    for draw in range(job.draws):
        seed = lineup.seed if draw == 0 else digest_seed(lineup.seed, "draw", str(draw))
        attack = PartitionLinkage(replace(lineup, seed=seed), records, files, margin)
        keep = links.append if draw == 0 and job.rows else _drop
        counted.append(attack.run(keep))
    first = counted[0]
    job.staging.write(
        piece,
        {
            "links": pl.concat([attack.no_links, *links]),
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


def _drop(links: pl.DataFrame) -> None:
    """Where links go that nobody wants to see."""


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
    }


def _settings(cast: LinkageInputs, config: Link) -> dict[str, object]:
    lineup = cast.lineup
    return {
        "exact": list(lineup.keys.exact),
        "binned": list(lineup.keys.binned),
        "gains": list(lineup.keys.gains),
        "origins": list(lineup.origins),
        "guessers": [
            [each.name, each.kind, each.origin, each.leave_one_out] for each in lineup.guessers
        ],
        "attackers": list(lineup.attackers),
        "from_truth": list(lineup.from_truth),
        "tables": [table.name for table in cast.tables] if TABLES in lineup.used else [],
        "id": lineup.id,
        "data_defined": lineup.data_defined,
        "draws": config.draws,
        "rows": config.rows,
    }


def _notes(cast: LinkageInputs, slices: Mapping[str, Mapping[str, Slice]]) -> dict[str, object]:
    """What a reader of the counts must know; records of partitions that the truth lacks."""
    lineup = cast.lineup
    known = slices[lineup.truth]
    return {
        "truth": lineup.truth,
        "baseline": lineup.baseline,
        "sources": [*lineup.origins, *(each.name for each in lineup.guessers)],
        "guessers": {each.name: each.kind for each in lineup.guessers},
        "leave_one_out": [each.name for each in lineup.guessers if each.leave_one_out],
        "origin": {each.name: each.origin for each in lineup.guessers},
        "attackers": list(lineup.attackers),
        "outside_partitions": {
            name: sum(each.rows for partition, each in found.items() if partition not in known)
            for name, found in slices.items()
        },
    }
