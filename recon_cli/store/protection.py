"""The published counts and their laws, as `recon ingest` stores them and attacks read them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from recon_cli.errors import ConfigError, StageError
from recon_cli.frames import NARROWED, STATISTICS
from recon_cli.publication import Publication, require_no_statistics
from recon_cli.schema import Release
from recon_cli.stage import INGEST
from recon_cli.statement import (
    EXACT,
    FLAGGED,
    Exact,
    Protection,
    Statement,
    describe_law,
    load_protection,
)
from recon_cli.statement.cell_key import CellKey
from recon_cli.store.files import json_bytes
from recon_cli.store.folder import Folder
from recon_cli.store.piece import EVERYWHERE, Span
from recon_cli.store.published import (
    LISTED,
    PROTECTION,
    open_published,
    read_coverage,
    read_percentages,
)

_PERCENTAGES: Final = "percentages of the true counts, rounded to their last digit"


def protection_files(protection: Protection, release: Release) -> dict[str, bytes]:
    """Serialise the laws of a protected release, as files to store beside ``tables``."""
    files: dict[str, bytes] = {}
    entries = []
    for number, statement in enumerate(protection.statements or (Statement(Exact()),)):
        law = statement.law
        if isinstance(law, CellKey) and law.table is not None:
            name = f"_ptable_{number}.csv"
            files[name] = law.table.read_bytes()
            law = law.model_copy(update={"table": Path(name)})
        entries.append(replace(statement, law=law).document())
    study = {"study": True} if protection.is_study else {}
    files[PROTECTION] = json_bytes({"release": release.name, **study, "statements": entries})
    return files


def laws_of(tables: Folder, release: Release) -> tuple[str, ...]:
    """Describe the distinct laws of the counts of ``tables``; none if all counts are exact.

    A list that is said to have every place is added, since proofs depend on it, too.
    """
    statements = read_protection(tables, release).statements
    laws = [describe_law(each.law) for each in statements]
    laws += [_PERCENTAGES] if read_percentages(tables) else []
    listed = tables.manifest.notes.get(LISTED)
    laws += [f"listed for every place ({listed})"] if laws and listed is not None else []
    return tuple(dict.fromkeys(laws))


def read_protection(tables: Folder, release: Release) -> Protection:
    """Read the laws stored beside ``tables``; without any, all counts are exact.

    Raises:
        StageError: They are damaged, or do not fit ``release``.
    """
    path = tables.path / PROTECTION
    if not path.exists():
        return EXACT
    try:
        return load_protection(path, release)
    except ConfigError as error:
        raise StageError(f"{error}; run `{INGEST.command} --force`") from error


def _narrowed(tables: Folder, release: Release, protection: Protection) -> pl.DataFrame:
    """Return the intervals by laws alone of counts that percentages narrow, as in `NARROWED`."""
    if not (percentages := read_percentages(tables)):
        return NARROWED.to_frame()
    told = [(*each[:3], each[-1]) for each in percentages]
    rows = pl.DataFrame(told, schema=[*NARROWED.names()[:3], "mark"], orient="row").unique()
    rows = rows.with_columns(level=release.geography.level_names(rows["geoid"]))
    kinds = rows.select("table", "level", "mark").unique()
    ends = []
    for table, level, mark in kinds.iter_rows():
        number = protection.number(table, level, mark)
        ends.append(protection.reading(number, mark).intervals(np.array(FLAGGED)))
    kinds = kinds.with_columns(
        least=pl.Series([int(low) for low, _ in ends], dtype=pl.Int64),
        most=pl.Series([int(high) for _, high in ends], dtype=pl.Int64),
    )
    return rows.join(kinds, on=["table", "level", "mark"]).select(NARROWED.names()).cast(NARROWED)


def read_published(
    work: Path,
    release: Release,
    partition: str,
    span: Span = EVERYWHERE,
    *,
    with_statistics: bool = False,
) -> Publication:
    """Read the published counts of one partition, or of its regions in ``span``.

    Args:
        with_statistics: Also read the statistics that are printed beside the counts. Otherwise
            statistics are refused, so that nobody takes the counts for all that is published.

    Raises:
        StageError: They are missing, damaged, or of another release.
    """
    tables, geounits = open_published(work, release)
    coverage = read_coverage(tables, release)
    found = geounits.read(partition, span)
    protection = read_protection(tables, release)
    counts, statistics = apart(tables.read(partition, span))
    published = Publication.of(release, found, counts, coverage, protection)
    narrowed = _narrowed(tables, release, protection)
    published = replace(published, statistics=statistics, narrowed=narrowed)
    if not with_statistics:
        require_no_statistics(published)
    return published


def apart(rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Separate the rows of ``tables/`` into counts and printed statistics."""
    if "text" not in rows.columns:
        return rows, STATISTICS.to_frame()
    is_count = pl.col("text").is_null()
    counts = rows.filter(is_count).drop("text")
    return counts, rows.filter(~is_count).select(STATISTICS.names())
