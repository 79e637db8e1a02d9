"""Protect records or exact counts by the laws that `protection.yaml` declares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Literal

import numpy as np
import polars as pl

from recon_cli.arrays import WordArray
from recon_cli.capabilities.protect.controlled import round_geounits
from recon_cli.capabilities.protect.keys import (
    cell_keys,
    definition_keys,
    independent_keys,
    record_keys,
)
from recon_cli.capabilities.tabulate.tabulation import tabulate
from recon_cli.chance import Draws, KeyedChance
from recon_cli.coverage import CoveragePattern
from recon_cli.errors import ConfigError, SourceError
from recon_cli.frames import COUNTS
from recon_cli.publication import GeounitBatch, Publication, with_population
from recon_cli.schema import AreaGeography, Release, Table
from recon_cli.statement import FLAGGED, Law, Protection, law_document
from recon_cli.statement.rounding import Rounded

#: Source of the chance of a cell: ``records``, the keys of the records that it counts, so
#: that equal sets of records are published alike everywhere; or ``cells``, each cell by itself.
#: Where only counts are known, ``records`` means cells of a geounit that count the same.
Keys = Literal["records", "cells"]

#: Columns of protected counts: as published (null: suppressed), and the true count.
PROTECTED: Final = pl.Schema(
    {
        "geoid": pl.String,
        "level": pl.String,
        "table": pl.String,
        "cell": pl.Int16,
        "count": pl.Int32,
        "true": pl.Int32,
    }
)

_CELL: Final = ["geoid", "table", "cell"]
#: A draw with which a law is tested for publishing count by count.
_ONE_DRAW: Final = Draws(np.zeros(1, dtype=np.uint64), KeyedChance.for_study(0))


def protect_counts(
    release: Release,
    data: pl.DataFrame | Publication,
    protection: Protection,
    *,
    chance: KeyedChance,
    records: pl.DataFrame | None = None,
    keys: Keys = "records",
    identifier: str | None = None,
) -> pl.DataFrame:
    """Publish counts by laws.

    Args:
        data: Records, as `recon.tabulate` takes them; or exact counts.
        protection: The laws; each must keep zeros and publish count by count, or be controlled
            rounding.
        chance: Source of all keys. Whoever has its key, or guesses the seed behind it, undoes
            the protection.
        records: Records behind exact counts, if known.
        keys: Source of a cell's chance.
        identifier: The column from which keys of records are made; default geoid and features.

    Returns:
        Columns of `PROTECTED`: a row per true count above zero, by level (finest first), geoid,
        table and cell. All others are zero and published so.

    Raises:
        ConfigError: A law changes zeros too or cannot publish count by count, or records have no
            such column.
        SourceError: Counts are not exact, or what is published differs within a level.
        SolverError: No controlled rounding was found in time.
        VerificationError: The records do not fit the schema.

    >>> import recon_cli as recon
    >>> release, patients = recon.load_release("clinic_visits"), recon.example_patients()
    >>> law = recon.parse_law({"suppressed": {"below": 3}})
    >>> protection, chance = recon.Protection((recon.Statement(law),)), recon.KeyedChance.secret()
    >>> counts = recon.protect_counts(release, patients, protection, chance=chance)
    >>> counts.head(2).select("table", "cell", "count", "true").rows()
    [('PATIENTS', 1, 4, 4), ('PATIENTS', 2, None, 2)]
    """
    for law in protection.laws:
        require_zeros_kept(law)
    if isinstance(data, pl.DataFrame):
        records, truth = data, count_records(release, data)
    else:
        truth = data
    require_one_pattern(truth)
    counts = _with_levels(release, truth.counts, protection)
    draws = Draws(np.zeros(len(counts), dtype=np.uint64), chance)
    if any(law.has_cost for law in protection.laws):
        words = _keys_of(release, counts, records, chance, keys=keys, identifier=identifier)
        draws = Draws(words, chance.named("count"))
    true = counts["count"].cast(pl.Int64).to_numpy()
    law_of, published = counts["law"].to_numpy(), true.copy()
    for number, law in enumerate(protection.laws):
        mine = np.flatnonzero(law_of == number)
        if isinstance(law, Rounded) and law.how == "controlled":
            published[mine] = round_geounits(release, truth, counts[mine], law.base)
        else:
            published[mine] = law.publish(true[mine], draws.at(mine))
    return counts.select(
        "geoid",
        "level",
        "table",
        "cell",
        pl.Series("count", published).replace(FLAGGED, None).cast(pl.Int32),
        true=pl.col("count"),
    )


def count_records(
    release: Release,
    records: pl.DataFrame,
    tables: Sequence[Table] | None = None,
    units: pl.Series | None = None,
) -> Publication:
    """Count records in the geounits that exist.

    Args:
        records: As `recon.tabulate` takes them.
        tables: Published tables, each at its own levels; default all.
        units: Geoids of all units, inhabited or not; default those that records are in, or all of
            the membership file.
    """
    chosen = release.tables if tables is None else tables
    counts = tabulate(release, records, chosen)
    published = {name for table in chosen for name in table.levels}
    if isinstance(release.geography, AreaGeography):
        published.add(release.geography.unit.name)  # the file lists them, whatever is published
        units = pl.Series(list(release.geography.listed([]))) if units is None else units
    levels = [level for level in release.geography.levels if level.name in published]
    names = {table.name for table in chosen}
    coverage = tuple(_some(CoveragePattern.complete(release, each.name), names) for each in levels)
    if units is None:
        units = records[release.geoid_column].unique()
    geounits = pl.concat(
        [
            pl.DataFrame(
                {"geoid": level.enclosing(units).drop_nulls().unique().sort()}
            ).with_columns(level=pl.lit(level.name), pattern=pl.lit(number, pl.Int16))
            for number, level in enumerate(levels)
        ]
    )
    batch = GeounitBatch(geounits, counts)
    return Publication.of(release, with_population(release, coverage, batch), counts, coverage)


def _some(pattern: CoveragePattern, names: set[str]) -> CoveragePattern:
    return replace(pattern, cells={k: cells for k, cells in pattern.cells.items() if k in names})


def require_zeros_kept(law: Law) -> None:
    """Refuse a law that may publish a true zero as another number.

    Raises:
        ConfigError: The law may do so, or does not publish single counts.
    """
    if isinstance(law, Rounded) and law.how == "controlled":
        return
    try:
        law.publish(np.array(0), _ONE_DRAW)
    except ValueError as error:
        raise ConfigError(str(error)) from error
    if not law.keeps_zeros:
        raise ConfigError(
            f"{law_document(law)}: publishes other than zero for true zeros, which are not counted"
        )


def require_one_pattern(truth: Publication) -> None:
    """Refuse true counts that a tidy file with implied zeros cannot express.

    Raises:
        SourceError: The counts are not exact, or geounits of a level have different published
            cells.
    """
    truth.require_exact("a protection")
    open_ = [pattern.level for pattern in truth.coverage if not pattern.is_listed]
    if open_:
        raise SourceError(
            f"a protection needs counts of every {open_[0]}; here a unit stands for all that the "
            "files may not list: if they list all, `recon init --all-places` says so, or "
            "`ingest.geounits` names them (a CSV file with a column `geoid`)"
        )
    levels = [pattern.level for pattern in truth.coverage]
    for level in levels:
        if levels.count(level) > 1:
            raise SourceError(
                f"a protection needs the same published cells for every {level}; here they differ"
            )


def tidy_counts(
    truth: Publication, protected: pl.DataFrame, known: pl.Series | None = None
) -> pl.DataFrame:
    """Convert protected counts to rows of a tidy file in which a cell without a row is zero.

    Such a file must mention every published cell of a level, so zeros have rows for all cells of
    the first geounit of each level that has a row. A geounit of which all counts became zero has
    none unless it is ``known``: a row would show that somebody is there.

    Args:
        truth: Has the geounits and what is published for them.
        protected: Columns of `PROTECTED`.
        known: Geoids that are public, or known to have records; by default all.

    Returns:
        Columns of `COUNTS`, sorted; flags are null.
    """
    shown = protected.select(COUNTS.names()).filter((pl.col("count") != 0).fill_null(value=True))
    zeros = [COUNTS.to_frame()]
    for number, pattern in enumerate(truth.coverage):
        geoids = truth.geounits.filter(pl.col("pattern") == number)["geoid"].sort()
        cells = [(name, cell) for name, numbers in pattern.cells.items() for cell in numbers]
        listed = geoids if known is None else geoids.filter(geoids.is_in(known.implode()))
        first = geoids.filter(geoids.is_in(pl.concat([listed, shown["geoid"]]).implode())).head(1)
        if not len(first) or not cells:
            continue
        schema = {"table": pl.String, "cell": pl.Int16}
        columns = pl.DataFrame(cells, schema=schema, orient="row")
        for some, of_cells in ((first, columns), (listed, columns.head(1))):
            rows = pl.DataFrame({"geoid": some}).join(of_cells, how="cross")
            zeros.append(rows.with_columns(count=pl.lit(0, COUNTS["count"])))
    needed = pl.concat(zeros).unique().join(shown, on=_CELL, how="anti")
    return pl.concat([shown, needed]).sort(_CELL)


def _with_levels(release: Release, counts: pl.DataFrame, protection: Protection) -> pl.DataFrame:
    """Sort counts, and add ``level`` and ``law``, the index of each one's law."""
    level = release.geography.level_names(pl.col("geoid"))
    named = counts.with_columns(level=level)
    pairs = named.select("table", "level").unique()
    numbers = [protection.number(table, level) for table, level in pairs.iter_rows()]
    with_law = named.join(
        pairs.with_columns(law=pl.Series(numbers, dtype=pl.Int64)), on=["table", "level"]
    )
    tables = {table.name: i for i, table in enumerate(release.tables)}
    published = pl.col("table").replace_strict(tables, return_dtype=pl.Int64)
    rank = pl.col("level").replace_strict(release.geography.order, return_dtype=pl.Int64)
    return with_law.sort(rank, "geoid", published, "cell")


def _keys_of(
    release: Release,
    counts: pl.DataFrame,
    records: pl.DataFrame | None,
    chance: KeyedChance,
    *,
    keys: Keys,
    identifier: str | None,
) -> WordArray:
    if keys == "cells":
        return independent_keys(counts, chance)
    if records is None:
        return definition_keys(release, counts, chance)
    if identifier is not None and identifier not in records.columns:
        raise ConfigError(
            f"records have no column {identifier!r} (columns: {', '.join(records.columns)})"
        )
    of_records = record_keys(release, records, chance, identifier)
    found = cell_keys(release, records, of_records, release.tables)
    return counts.join(found, on=_CELL, how="left", maintain_order="left")["key"].to_numpy()
