"""Published files of any format, opened as one source."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from recon_cli.errors import ConfigError
from recon_cli.publication import Source
from recon_cli.schema import Release
from recon_cli.sources.dense import DenseSource
from recon_cli.sources.formats import FORMATS, NO_MAPPING, FileMapping
from recon_cli.sources.legacy import open_legacy
from recon_cli.sources.listing import IncompleteSource, complete_geounits
from recon_cli.sources.tables import open_tables
from recon_cli.sources.tidy import AbsentCells, TidySource, open_tidy
from recon_cli.statement import Protection


@dataclass(frozen=True)
class OpenedSource:
    """A source, and by which laws its counts were published.

    Attributes:
        source: Batches of geounits and counts.
        protection: None if all counts are exact.
    """

    source: Source
    protection: Protection | None = None


def open_source(
    release: Release,
    source: str,
    paths: Sequence[Path],
    *,
    tables: Collection[str] | None = None,
    mapping: FileMapping = NO_MAPPING,
    absent: AbsentCells | None = None,
    geounits: pl.DataFrame | None = None,
    protection: Protection | None = None,
) -> OpenedSource:
    """Open published files.

    Args:
        release: Names the tables, cells and levels.
        source: The format: ``tidy``, ``sf1-legacy``, ``pl-legacy``, ``dhc-legacy``, or one of
            `FORMATS`.
        paths: Files, or folders of files, together one publication.
        tables: Of legacy files: the tables to read; default all.
        mapping: Of `FORMATS`: what the files do not say themselves.
        absent: What a cell without a count means; default ``zero`` in tidy files, ``unpublished``
            in all others.
        geounits: The list of all geounits, if there is one: columns ``geoid, level``.
        protection: By which law each count was published; None where all are exact.

    Raises:
        ConfigError: No paths, no such format, or what was said does not fit the release.
        SourceError: A file is missing or malformed.
    """
    if source.endswith("-legacy"):
        return OpenedSource(open_legacy(release, paths, layout=source, tables=tables))
    counts = open_counts(
        release, source, paths, mapping=mapping, absent=absent, protection=protection
    )
    return completed(release, counts, geounits)


def completed(
    release: Release, counts: IncompleteSource, geounits: pl.DataFrame | None = None
) -> OpenedSource:
    """A source with the geounits that have no row in it; see `complete_geounits`."""
    laws = counts.protection if counts.has_statements else None
    return OpenedSource(complete_geounits(release, counts, geounits), laws)


def open_counts(
    release: Release,
    source: str,
    paths: Sequence[Path],
    *,
    mapping: FileMapping = NO_MAPPING,
    absent: AbsentCells | None = None,
    protection: Protection | None = None,
) -> TidySource | DenseSource:
    """The geounits of files that have a row in them; as for `open_source`.

    Raises:
        ConfigError: No paths, no such format, or what was said does not fit the release.
        SourceError: A file is missing or malformed.
    """
    if source == "tidy":
        return open_tidy(release, paths, absent=absent or "zero", protection=protection)
    if source in FORMATS:
        return open_tables(
            release,
            source,
            paths,
            mapping=mapping,
            absent=absent or "unpublished",
            protection=protection,
        )
    known = ", ".join(("tidy", "sf1-legacy", "pl-legacy", "dhc-legacy", *FORMATS))
    raise ConfigError(f"source: no format {source!r} (formats: {known})")
