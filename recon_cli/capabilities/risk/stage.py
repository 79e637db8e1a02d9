"""Run `recon plan risk release`: true counts and measurements → ``risk/``, ``risk_sums/``."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import polars as pl

from recon_cli.budget import exact
from recon_cli.capabilities.risk import RISK
from recon_cli.capabilities.risk.given import prior_of
from recon_cli.capabilities.risk.options import UNIFORM, Upper
from recon_cli.capabilities.risk.options import Risk as RiskSection
from recon_cli.capabilities.risk.release import (
    Adversaries,
    KnownUpper,
    PublishedSampler,
    UpperPrior,
    add_evidence,
    describe,
    join_measurements,
    join_siblings,
    mean_risks,
    summarize_cells,
)
from recon_cli.capabilities.risk.siblings import EachSibling
from recon_cli.capabilities.risk.two_levels import Flat, Poisson, Uniform
from recon_cli.errors import ConfigError, SourceError
from recon_cli.execute import OnProgress
from recon_cli.frames import UNREADABLE
from recon_cli.pipeline.opened_stage import MadeStage
from recon_cli.pipeline.run import Run
from recon_cli.schema import Level, Release
from recon_cli.sources.damage import columns_found, why_unreadable
from recon_cli.store import InputFile, Manifest, Piece, Staging, Transaction
from recon_cli.store.files import file_digest
from recon_cli.store.tables import table_files

SUMMARY = "summary"
_COUNTS = {"geoid": pl.String, "table": pl.String, "cell": pl.Int32, "count": pl.Int64}
_NOISY = {"geoid": pl.String, "table": pl.String, "cell": pl.Int32, "noisy": pl.Int64}


def open_stage(run: Run) -> MadeStage:
    """Open the stage that computes an adversary's belief about each person.

    Raises:
        ConfigError: The section is wrong, or a file is of another kind.
        SourceError: A measurement is missing, of an unknown cell, or of another variance.
    """
    config = run.config.section(RiskSection)
    recipe = run.recipe(
        RISK,
        config.model_dump(mode="json", exclude={"truth", "measurements"}),
        files=tuple(_input_files(config)),
    )

    def make(stage: Transaction) -> Manifest:
        pieces = _pieces(config, run.release)
        context = RiskContext(config, run.release, _priors(config), stage.staging)
        results = run.map_unfinished(stage, score_partition, lambda: context, pieces)
        done = [piece.partition for piece in pieces]
        summary = mean_risks(pl.concat(stage.staging.parts("risk_sums", done)))
        stage.staging.write_extras("risk", table_files({SUMMARY: summary}))
        return stage.publish(pieces, usages=results.usages, workers=results.workers)

    return MadeStage(recipe, make)


@dataclass(frozen=True)
class RiskContext:
    """The inputs that all partitions share."""

    config: RiskSection
    release: Release
    priors: tuple[float, ...]
    staging: Staging


def score_partition(context: RiskContext, piece: Piece, tick: OnProgress) -> None:
    """Score and write one partition; runs in a worker."""
    started, config, release = time.perf_counter(), context.config, context.release
    unit, upper = _levels(config, release)
    counts = _of_level(_scan("truth", config.truth, _COUNTS), unit)
    counts = counts.filter(release.geography.inside(pl.col("geoid"), piece.partition))
    truth = _collect(counts, config.truth)
    truth = truth.filter(pl.col("count") > 0).sort("geoid", "table", "cell")
    releases = []
    for path in config.measurements:
        measured = _measurements(path, piece.partition, config, release)
        units = measured.filter(unit.has(pl.col("geoid")))
        above = measured.filter(~unit.has(pl.col("geoid")))
        if upper is None:
            releases.append(join_measurements(truth, units))
        else:
            joined = join_measurements(truth, units, above, upper)
            if config.upper.siblings == "each":
                joined = join_siblings(joined, units, upper)
            releases.append(joined)
    adversaries = Adversaries(
        config.noise[unit.name].precision,
        None if upper is None else config.noise[upper.name].precision,
        None if upper is None else _upper_prior(config.upper),
    )
    people, flags = truth["count"].to_numpy(), config.flag.model_dump()
    rows, sums = [], []
    for p in context.priors:
        odds = add_evidence(releases, adversaries, p)
        chosen = odds.get("two_levels", odds["one_level"])
        rows.append(describe(releases[0], chosen, p))
        sums.append(summarize_cells(people, odds, p, flags))
    context.staging.write(
        piece,
        {
            "risk": pl.concat(rows).with_columns(level=pl.lit(unit.name)),
            "risk_sums": pl.concat(sums),
        },
        totals={"units": piece.units, "people": int(people.sum()), "cells": len(truth)},
        started=started,
    )
    tick(piece.units, int(people.sum()))


def _levels(config: RiskSection, release: Release) -> tuple[Level, Level | None]:
    """Return the finest level, and the one above if it is used."""
    named = [level for level in release.geography.levels if level.name in config.noise]
    if len(named) == 1 or config.upper.prior == "none":
        return named[0], None
    if named[1] not in release.geography.inside_partitions:
        raise ConfigError(
            f"risk.noise: level {named[1].name!r} is above {release.geography.partition!r}, by "
            "which the work is divided"
        )
    return named[0], named[1]


def _upper_prior(upper: Upper) -> UpperPrior:
    name, _, parameter = upper.prior.partition(":")
    if name in {"uniform", "poisson"}:
        prior = Uniform(int(parameter)) if name == "uniform" else Poisson(float(exact(parameter)))
        return EachSibling(prior) if upper.siblings == "each" else prior
    if name == "known":
        return KnownUpper(int(parameter) if parameter else None)
    plain: dict[str, UpperPrior] = {
        "flat": Flat(),
        "as-published": PublishedSampler(),
    }
    return plain[name]


def _priors(config: RiskSection) -> tuple[float, ...]:
    """Return the priors as numbers; the uniform one is over the cells of all files."""
    priors = []
    for text in config.priors:
        if text != UNIFORM:
            priors.append(prior_of(text))
        elif (cells := _measured_cells(config.measurements)) > 1:
            priors.append(float(Fraction(1, cells)))
        else:
            raise ConfigError("risk.priors: uniform needs at least two measured cells")
    return tuple(priors)


def _measured_cells(paths: Sequence[Path]) -> int:
    cell = pl.col("table", "cell")
    scans = ((path, _scan("measurements", path, _NOISY)) for path in paths)
    return pl.concat(_collect(scan.select(cell).unique(), path) for path, scan in scans).n_unique()


def _measurements(
    path: Path, partition: str, config: RiskSection, release: Release
) -> pl.DataFrame:
    """Read the measurements of one partition.

    Raises:
        SourceError: One is of a cell or level that the release does not have, or of another
            variance than the config's.
    """
    scan = _scan("measurements", path, _NOISY)
    frame = _collect(scan.filter(release.geography.inside(pl.col("geoid"), partition)), path)
    known = pl.DataFrame(
        [(table.name, len(table.cells)) for table in release.tables],
        schema={"table": pl.String, "_cells": pl.Int32},
        orient="row",
    )
    joined = frame.join(known, on="table", how="left", maintain_order="left")
    strange = joined.filter(~pl.col("cell").is_between(1, pl.col("_cells")).fill_null(value=False))
    if not strange.is_empty():
        row = strange.row(0, named=True)
        raise SourceError(
            f"{path}: geoid {row['geoid']}: release {release.name!r} has no cell {row['cell']} "
            f"of a table {row['table']!r}"
        )
    level = release.geography.level_names(pl.col("geoid"))
    for (name,), part in frame.group_by(level, maintain_order=True):
        if not isinstance(name, str) or name not in config.noise:
            levels = ", ".join(config.noise)
            raise SourceError(
                f"{path}: geoid {part['geoid'][0]} is of no level with noise ({levels})"
            )
        _require_variance(part, path, name, config.noise[name].precision)
    return frame


def _require_variance(frame: pl.DataFrame, path: Path, level: str, precision: float) -> None:
    if "variance" not in frame.columns:
        return
    stated = 1 / (2 * precision)
    other = frame.filter((pl.col("variance") / stated - 1).abs() > 1e-3)
    if not other.is_empty():
        raise SourceError(
            f"{path}: geoid {other['geoid'][0]}: variance {other['variance'][0]:g}, but "
            f"risk.noise.{level} says {stated:.6g}"
        )


def _of_level(scan: pl.LazyFrame, level: Level) -> pl.LazyFrame:
    return scan.filter(level.has(pl.col("geoid")))


def _pieces(config: RiskSection, release: Release) -> list[Piece]:
    """Return the partitions with people."""
    scan = _of_level(_scan("truth", config.truth, _COUNTS), release.geography.unit)
    people = (
        scan.filter(pl.col("count") > 0)
        .group_by(release.geography.partition_level.enclosing(pl.col("geoid")).alias("partition"))
        .agg(units=pl.col("geoid").n_unique(), people=pl.col("count").sum())
        .sort("partition")
    )
    parts = _collect(people, config.truth)
    if parts.is_empty():
        raise SourceError(f"{config.truth}: no count above 0 of a {release.geography.unit.name}")
    return [Piece(name, units=units, people=people) for name, units, people in parts.iter_rows()]


def _scan(key: str, path: Path, schema: dict[str, type[pl.DataType]]) -> pl.LazyFrame:
    """Scan a tidy file or a folder of Parquet files, with the needed columns.

    Measurements may be a publication, as `recon protect noise` writes: ``count`` is the noisy one.

    Raises:
        ConfigError: There is no such file, or it is of another kind.
        SourceError: It lacks a column.
    """
    if path.is_dir():
        scan = pl.scan_parquet(path / "**/*.parquet", hive_partitioning=False)
    elif path.suffix.lower() == ".csv" and path.is_file():
        scan = pl.scan_csv(path, infer_schema=False)
    elif path.suffix.lower() == ".parquet" and path.is_file():
        scan = pl.scan_parquet(path)
    else:
        raise ConfigError(f"risk.{key}: {path}: a .csv or .parquet file or a folder is expected")
    try:
        columns = scan.collect_schema().names()
    except UNREADABLE as error:
        raise SourceError(f"{path}: {why_unreadable(path, error)}") from None
    if "noisy" in schema and "noisy" not in columns and "count" in columns:
        scan, columns = scan.rename({"count": "noisy"}), [*columns, "noisy"]  # a publication
    missing = [name for name in schema if name not in columns]
    if missing:
        raise SourceError(f"{path}: no column {missing[0]!r} ({columns_found(columns, schema)})")
    casts = [pl.col(name).cast(dtype) for name, dtype in schema.items()]
    if "variance" in columns:
        casts.append(pl.col("variance").cast(pl.Float64))
    return scan.select(casts)


def _collect(scan: pl.LazyFrame, path: Path) -> pl.DataFrame:
    """Collect the rows of a scan.

    Raises:
        SourceError: A file is damaged, or a value is no number.
    """
    try:
        return scan.collect()
    except pl.exceptions.InvalidOperationError:
        raise SourceError(f"{path}: a number is expected in every count and cell") from None
    except UNREADABLE as error:
        raise SourceError(f"{path}: {why_unreadable(path, error)}") from None


def _input_files(config: RiskSection) -> Iterator[InputFile]:
    for path in (config.truth, *config.measurements):
        files = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
        for file in files:
            if not file.is_file():
                raise ConfigError(f"risk: {path}: no such file or folder")
            yield InputFile(file.name, file.stat().st_size, file_digest(file))
