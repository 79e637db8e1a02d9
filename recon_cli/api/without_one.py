"""Leave-one-out attacks and confidence in records, with data frames in and out."""

from __future__ import annotations

import polars as pl

from recon_cli.api.keywords import Keywords, OfTables
from recon_cli.api.reconstruction import chosen_tables, split
from recon_cli.capabilities.confidence import question as of_records
from recon_cli.capabilities.confidence.options import Confidence
from recon_cli.capabilities.leave_one_out import again
from recon_cli.capabilities.leave_one_out import question as attack
from recon_cli.capabilities.leave_one_out.again import Publish
from recon_cli.capabilities.leave_one_out.options import LeaveOneOut
from recon_cli.publication import Publication
from recon_cli.schema import Release


class _LeaveOneOut(OfTables, LeaveOneOut):
    """The section ``leave_one_out``, with tables."""


@Keywords(_LeaveOneOut)
def leave_one_out(
    release: Release, published: Publication, records: pl.DataFrame, options: _LeaveOneOut
) -> pl.DataFrame:
    """Compare what exact counts tell about each person with and without that person's answers.

    Args:
        published: Published counts, from `publish` or `read_published`.
        records: The records that were tabulated.

    Returns:
        A row for each unit and record; the columns are those of ``leave_one_out/``.

    Raises:
        ConfigError: A table is unknown or not published, or tells nothing about the gains.
        SourceError: The counts are not exact, or not those of the records.
        SolverError: The solver could not decide, or two engines disagree.

    >>> import recon_cli as recon
    >>> release, patients = recon.load_release("clinic_visits"), recon.example_patients()
    >>> published = recon.publish(release, recon.tabulate(release, patients))
    >>> recon.leave_one_out(release, published, patients)["people"].sum()
    4
    """
    used = chosen_tables(release, published, options.tables)
    return pl.concat(
        attack.leave_out(release, part, used, records, options)
        for part in split(release, published)
    )


@Keywords(_LeaveOneOut)
def leave_one_out_protected(
    release: Release, records: pl.DataFrame, publish: Publish, options: _LeaveOneOut
) -> pl.DataFrame:
    """Compare what protected counts tell about each person with and without that person's record.

    The counts are published anew, and attacked, without each person.

    Args:
        records: The confidential records.
        publish: Publishes the counts of a partition's records. Random draws should be the same in
            each call.

    Returns:
        Rows like those of `leave_one_out`.

    Raises:
        ConfigError: A table is unknown or not published, or tells nothing about the gains.
        SolverError: The solver could not decide, or two engines disagree.

    >>> import recon_cli as recon
    >>> release, patients = recon.load_release("clinic_visits"), recon.example_patients()
    >>> def publish(records):
    ...     counts = recon.tabulate(release, records)
    ...     return recon.publish(release, counts, geounits=["D01", "D01001"])
    >>> recon.leave_one_out_protected(release, patients, publish)["people"].sum()
    4
    """
    place = records[release.geoid_column]
    share = options.share(int(release.geography.inside(place, options.within).sum()))
    prefix = release.geography.partition_level.enclosing(pl.col(release.geoid_column))
    frames = []
    for part in records.with_columns(prefix.alias("_partition")).partition_by("_partition"):
        people = part.drop("_partition")
        used = chosen_tables(release, publish(people), options.tables)
        frames.append(again.attack_again(release, used, people, publish, options, share=share))
    return pl.concat(frames)


class _Confidence(OfTables, Confidence):
    """The section ``confidence``, with tables."""


@Keywords(_Confidence)
def measure_confidence(
    release: Release, published: Publication, microdata: pl.DataFrame, options: _Confidence
) -> pl.DataFrame:
    """Estimate by sampled solutions how often each uncertain record appears; this proves nothing.

    Args:
        published: Exact published counts, from `publish` or `read_published`.
        microdata: Records from `reconstruct`, made from the same tables.

    Returns:
        The rows of ``microdata``; the columns are those of ``confidence/``.

    Raises:
        ConfigError: A table is unknown or not published.
        SourceError: The counts are not exact.
        StageError: The records do not have the published counts.
        SolverError: The solver could not decide, or two engines disagree.

    >>> import recon_cli as recon
    >>> release, patients = recon.load_release("clinic_visits"), recon.example_patients()
    >>> published = recon.publish(release, recon.tabulate(release, patients))
    >>> found = recon.reconstruct(release, published, seed=2)
    >>> sampled = recon.measure_confidence(release, published, found.microdata, solutions=10)
    >>> sampled.filter("certain").height, sampled["confidence"].null_count()
    (1, 1)
    """
    used = chosen_tables(release, published, options.tables)
    parts = []
    for part in split(release, published):
        mine = release.geography.partition_level.enclosing(part.geounits["geoid"]).unique()
        prefix = release.geography.partition_level.enclosing(pl.col(release.geoid_column))
        records = microdata.filter(prefix.is_in(mine.implode()))
        parts.append(of_records.measure_confidence(release, part, used, records, options))
    return pl.concat(parts)
