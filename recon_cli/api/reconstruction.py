"""Reconstruct records from published counts, and prove which of them are certain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import polars as pl

from recon_cli import sources
from recon_cli.api.keywords import Keywords, OfTables
from recon_cli.ask.question import RegionData
from recon_cli.capabilities.audit import question as audit
from recon_cli.capabilities.audit import witnesses
from recon_cli.capabilities.audit.options import Audit
from recon_cli.capabilities.claims import question as claims
from recon_cli.capabilities.claims.groups import require_columns
from recon_cli.capabilities.claims.options import Claims
from recon_cli.capabilities.claims.question import VerifiedClaims
from recon_cli.capabilities.claims.surprise import count_records, with_surprise
from recon_cli.capabilities.reconstruct.options import Reconstruct
from recon_cli.capabilities.reconstruct.question import Reconstruction, ReconstructionQuestion
from recon_cli.capabilities.solvar import question as solvar
from recon_cli.capabilities.solvar.options import Solvar
from recon_cli.capabilities.solvar.question import Variability
from recon_cli.coverage import select
from recon_cli.deprecation import Former
from recon_cli.publication import Publication, gather
from recon_cli.schema import Release, Table
from recon_cli.sources import NO_MAPPING, AbsentCells, FileMapping
from recon_cli.statement import EXACT, Protection
from recon_cli.verification import Verification
from recon_cli.verification import verify as compare

#: Deterministic seconds of one solution.
_WITNESS_EFFORT = 30.0

#: Finest levels joined by ``+`` (``block+tract``), table names, or None: all that are published.
Choice = str | Sequence[str] | None


def publish(
    release: Release,
    counts: pl.DataFrame,
    *,
    absent: AbsentCells = "zero",
    geounits: Iterable[str] | None = None,
    protection: Protection | None = None,
) -> Publication:
    """Build a publication from tidy counts, after checking them.

    Args:
        counts: ``geoid, table, cell, count``, or ``geoid, cell, count`` with cell codes.
        absent: Meaning of a cell without a row: ``zero`` or ``unpublished``; for all tables, or
            by table.
        geounits: The geoids of all geounits; without these, a geounit without a published cell is
            not known.
        protection: Law of each count; default all counts are exact.

    Raises:
        SourceError: A row, which is named, is no published count of the release.

    >>> import recon_cli as recon
    >>> release, patients = recon.load_release("clinic_visits"), recon.example_patients()
    >>> recon.publish(release, recon.tabulate(release, patients))
    <Publication: geounits 2 × 5, counts 47 × 4, statistics 0 × 4, narrowed 0 × 5>
    """
    listed = None if geounits is None else sources.list_geounits(release, geounits, "geounits")
    tidy = sources.tidy_frame(release, counts, absent=absent, protection=protection)
    return gather(release, sources.complete_geounits(release, tidy, listed), tidy.protection)


def read_published(
    release: Release,
    paths: Iterable[Path | str],
    *,
    source: str = "tidy",
    mapping: FileMapping = NO_MAPPING,
    absent: AbsentCells | None = None,
    geounits: Path | str | None = None,
    protection: Protection | None = None,
) -> Publication:
    """Read published files of any format whole into memory.

    Args:
        paths: Files that are together one publication.
        source: Format of the files, as in ``ingest.source``.
        mapping: Facts that the files do not state, as in ``ingest.mapping``.
        absent: Meaning of a cell without a count: ``zero``, the default of tidy files, or
            ``unpublished``, that of all others; for all tables, or by table.
        geounits: A file with a column ``geoid``: the list of all geounits.
        protection: Law of each count; default all counts are exact.

    Raises:
        ConfigError: There is no such format, or the mapping does not fit the release.
        SourceError: A file is malformed; the message names the file and the place in it.

    >>> import recon_cli as recon
    >>> import tempfile
    >>> release, patients = recon.load_release("clinic_visits"), recon.example_patients()
    >>> path = f"{tempfile.mkdtemp()}/counts.csv"
    >>> recon.tabulate(release, patients).write_csv(path)
    >>> recon.read_published(release, [path])
    <Publication: geounits 2 × 5, counts 47 × 4, statistics 0 × 4, narrowed 0 × 5>
    """
    opened = sources.open_source(
        release,
        source,
        [Path(path) for path in paths],
        mapping=mapping,
        absent=absent,
        geounits=None if geounits is None else sources.read_geounit_list(release, Path(geounits)),
        protection=protection,
    )
    return gather(release, opened.source, opened.protection or EXACT)


@Keywords(Reconstruct)
def reconstruct(release: Release, published: Publication, options: Reconstruct) -> Reconstruction:
    """Reconstruct records that have exactly the published counts.

    Args:
        published: Published counts, from `publish` or `read_published`.

    Returns:
        ``microdata``, one row per person, and ``blocks``, how each geounit was solved.

    Raises:
        ConfigError: A table is unknown or not published.
        ContradictionError: No records have these counts; names the cells.
        SolverError: Two engines disagree.
        VerificationError: The records do not reproduce a published count.

    >>> import recon_cli as recon
    >>> release, patients = recon.load_release("clinic_visits"), recon.example_patients()
    >>> published = recon.publish(release, recon.tabulate(release, patients))
    >>> recon.reconstruct(release, published, seed=2).microdata["gender"].to_list()
    ['woman', 'woman', 'man', 'man']
    """
    used = chosen_tables(release, published, options.tables)
    question = ReconstructionQuestion.of(
        release, used, published.coverage, options, is_exact=published.is_exact
    )
    parts = [question.reconstructed(RegionData(part))[0] for part in split(release, published)]
    return Reconstruction(
        pl.concat(part.microdata for part in parts), pl.concat(part.blocks for part in parts)
    )


def verify(
    release: Release, published: Publication, records: pl.DataFrame, *, tables: Choice = None
) -> Verification:
    """Tabulate records again and compare every published cell.

    Args:
        published: Published counts, from `publish` or `read_published`.
        records: One row per person.

    Returns:
        ``ok``, ``cells_compared``, of these ``cells_within`` (not the published number, but within
        the range of its law) and ``cells_unbounded`` (the law allows any count), and
        ``mismatches``, one row per cell that differs.

    Raises:
        ConfigError: A table is unknown or not published.
        VerificationError: The records do not fit the schema.

    >>> import recon_cli as recon
    >>> release, patients = recon.load_release("clinic_visits"), recon.example_patients()
    >>> published = recon.publish(release, recon.tabulate(release, patients))
    >>> found = recon.reconstruct(release, published, seed=2)
    >>> recon.verify(release, published, found.microdata).ok
    True
    """
    return compare(release, published, records, chosen_tables(release, published, tables))


#: Keywords of `audit_counts` in version 0.2.
FORMER_AUDIT: Final = {"effort": Former("audit_counts(effort=", "region_seconds=", since="0.3")}


class _Solvar(OfTables, Solvar):
    """The section ``solvar``, with tables."""


@Keywords(_Solvar)
def measure_variability(
    release: Release, published: Publication, microdata: pl.DataFrame, options: _Solvar
) -> Variability:
    """Measure how much other solutions can differ from a reconstruction, and find common records.

    Args:
        published: Published counts, from `publish` or `read_published`.
        microdata: Records from `reconstruct`, made from the same tables.

    Returns:
        ``units``, ``intervals`` and ``regions``, from which `flag_certain` flags records.

    Raises:
        ConfigError: A table is unknown or not published, or the tables tell no column apart.
        StageError: The records do not have the published counts.
        SolverError: Two engines disagree.

    >>> import recon_cli as recon
    >>> release, patients = recon.load_release("clinic_visits"), recon.example_patients()
    >>> published = recon.publish(release, recon.tabulate(release, patients))
    >>> found = recon.reconstruct(release, published, seed=2)
    >>> variability = recon.measure_variability(release, published, found.microdata)
    >>> variability.units.select("solvar_pct", "certain_records", "status").rows()
    [(50.0, 1, 'proven')]
    """
    used = chosen_tables(release, published, options.tables)
    parts = [
        solvar.measure_variability(release, part, used, microdata, options)
        for part in split(release, published)
    ]
    return Variability(
        parts[0].columns,
        pl.concat(part.units for part in parts),
        pl.concat(part.intervals for part in parts),
        pl.concat(part.regions for part in parts),
    )


class _Claims(OfTables, Claims):
    """The section ``claims``, with tables."""


@Keywords(_Claims)
def find_claims(
    release: Release, published: Publication, microdata: pl.DataFrame, options: _Claims
) -> VerifiedClaims:
    """Find claims about people that are true in every solution, on any of the columns.

    Args:
        published: Published counts, from `publish` or `read_published`.
        microdata: Records from `reconstruct`, made from the same tables.

    Returns:
        ``claims``, ``units`` and ``disclosures``.

    Raises:
        ConfigError: A table is unknown or not published, or the tables tell no column apart.
        StageError: The records do not have the published counts.
        SolverError: Two engines disagree.

    >>> import recon_cli as recon
    >>> release, patients = recon.load_release("clinic_visits"), recon.example_patients()
    >>> published = recon.publish(release, recon.tabulate(release, patients))
    >>> found = recon.reconstruct(release, published, seed=2)
    >>> recon.find_claims(release, published, found.microdata).claims.height > 0
    True
    """
    used = chosen_tables(release, published, options.tables)
    require_columns(release, used, published.coverage)
    parts = [
        claims.find_claims(release, part, used, microdata, options)
        for part in split(release, published)
    ]
    counted = count_records(release, microdata, parts[0].columns)
    return VerifiedClaims(
        parts[0].columns,
        pl.concat(
            with_surprise(release, part.claims, part.units, counted, counted) for part in parts
        ),
        pl.concat(part.units for part in parts),
        pl.concat(part.disclosures for part in parts),
    )


@Keywords(Audit, former=FORMER_AUDIT)
def audit_counts(release: Release, published: Publication, options: Audit) -> pl.DataFrame:
    """Compute the possible values of each suppressed, rounded, perturbed or omitted count.

    Args:
        published: Protected counts.

    Returns:
        A row per cell that is published as an interval, asked for, or omitted from a table that is
        published for its geounit: ``geoid, level, table, cell``; ``low`` and ``high``, the range by
        its own statement (null: open); ``least`` and ``greatest``, the range over all solutions
        (null: no bound), and ``width``, their distance; ``is_exact``, whether solutions reach both;
        ``suppression``: ``primary``, ``complementary`` or ``unknown`` for a flagged count;
        ``required``, the safety range; ``status``: ``recovered`` if one count is possible,
        ``narrowed`` if the possible counts are closer together than required, ``safe`` if two known
        solutions are as far apart as required, else ``undecided``.

    Raises:
        ConfigError: A table is unknown or not published.
        ContradictionError: No true counts fit the statements.
        SolverError: A solver could not decide, or two engines disagree.

    >>> import recon_cli as recon
    >>> release, patients = recon.load_release("clinic_visits"), recon.example_patients()
    >>> law = recon.parse_law({"suppressed": {"below": 3}})
    >>> protection, chance = recon.Protection((recon.Statement(law),)), recon.KeyedChance.secret()
    >>> counts = recon.protect_counts(release, patients, protection, chance=chance)
    >>> tidy = counts.select("geoid", "table", "cell", "count")
    >>> suppressed = recon.publish(release, tidy, protection=protection)
    >>> recon.audit_counts(release, suppressed)["status"].unique().to_list()
    ['recovered']
    """
    used = chosen_tables(release, published, options.tables)
    parts = split(release, published)
    return pl.concat(audit.audit_counts(release, part, used, options) for part in parts)


def find_witnesses(
    release: Release,
    published: Publication,
    cells: pl.DataFrame,
    *,
    tables: Choice = None,
    seed: int = 0,
    safety: int = 1,
) -> list[pl.DataFrame]:
    """Find solutions that differ in given counts, as a proof that needs no solver.

    Each solution is a set of records with all published counts, which any program that counts
    records can verify. A count that differs between two solutions is not determined by the
    publication.

    Args:
        published: Protected counts.
        cells: ``geoid, table, cell``, such as rows of `audit_counts`.
        tables: Tables whose counts the records must have.
        seed: Decides among solutions.
        safety: Least difference between the counts.

    Returns:
        Sets of records like those of `reconstruct`. A count that is the same in all sets may or
        may not be recovered.

    Raises:
        ConfigError: A table is unknown or not published.
        ContradictionError: No true counts fit the statements.
        SolverError: A solver could not decide, or more records are possible than can be listed.

    >>> import recon_cli as recon
    >>> release, patients = recon.load_release("clinic_visits"), recon.example_patients()
    >>> law = recon.parse_law({"suppressed": {"below": 3}})
    >>> protection, chance = recon.Protection((recon.Statement(law),)), recon.KeyedChance.secret()
    >>> counts = recon.protect_counts(release, patients, protection, chance=chance)
    >>> of_clinic = counts.filter(level="clinic", table="PATIENTS")
    >>> tidy = of_clinic.select("geoid", "table", "cell", "count")
    >>> suppressed = recon.publish(release, tidy, absent="unpublished", protection=protection)
    >>> audit = recon.audit_counts(release, suppressed, tables=["PATIENTS"])
    >>> safe = audit.filter(status="safe").head(1)
    >>> [len(each) for each in recon.find_witnesses(release, suppressed, safe, tables=["PATIENTS"])]
    [4, 4]
    """
    used = chosen_tables(release, published, tables)
    options = witnesses.WitnessOptions(seed, _WITNESS_EFFORT, safety)
    parts = [
        list(witnesses.find_witnesses(release, part, used, cells, options))
        for part in split(release, published)
    ]
    return [
        pl.concat(part[min(at, len(part) - 1)] for part in parts)
        for at in range(max(map(len, parts)))
    ]


def split(release: Release, published: Publication) -> list[Publication]:
    """Split a publication into its partitions, at least one, as the commands do."""
    prefix = release.geography.partition_level.enclosing(published.geounits["geoid"])
    return [inside(release, published, name) for name in prefix.unique().sort()]


def inside(release: Release, published: Publication, partition: str) -> Publication:
    """Return one partition of a publication."""
    rows = release.geography.inside(pl.col("geoid"), partition)
    parts = published.geounits, published.counts, published.statistics
    geounits, counts, statistics = (part.filter(rows) for part in parts)
    return replace(published, geounits=geounits, counts=counts, statistics=statistics)


def chosen_tables(release: Release, published: Publication, choice: Choice) -> tuple[Table, ...]:
    """Return the published tables that a choice names.

    Raises:
        ConfigError: A table is unknown or not published.
    """
    named = choice if isinstance(choice, str) or choice is None else tuple(choice)
    return select(release, named, published.coverage).tables
