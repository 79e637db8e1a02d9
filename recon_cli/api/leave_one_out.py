"""What people's own answers gave away, and how sure one can be of records: frames in and out."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from recon_cli.api.reconstruction import Choice, chosen_tables, split
from recon_cli.attack import confidence as of_records
from recon_cli.attack.leave_one_out import again
from recon_cli.attack.leave_one_out import partition as attack
from recon_cli.attack.leave_one_out.again import Publish
from recon_cli.attack.options import ConfidenceOptions, LeaveOneOutOptions
from recon_cli.errors import ConfigError
from recon_cli.publication import Publication
from recon_cli.schema import Release


def leave_one_out(
    release: Release,
    published: Publication,
    records: pl.DataFrame,
    *,
    tables: Choice = None,
    gains: Sequence[str] | None = None,
    within: str = "",
    solutions: int = 5,
    seconds: float = 1.0,
    seed: int = 0,
) -> pl.DataFrame:
    """What exact counts tell of each person, with that person in them and without.

    Args:
        release: The schema.
        published: Of `publish` or `read_published`.
        records: The records that were tabulated.
        tables: The tables to attack.
        gains: What an attacker wants to know; default the schema's.
        within: Only people of geounits whose geoids begin so.
        solutions: Solutions to sample, with each person and without.
        seconds: Budget to settle what is certain about one person, deterministic.
        seed: For the sampled solutions.

    Returns:
        A row for each unit and record; the columns are those of ``leave_one_out/``.

    Raises:
        ConfigError: A table is unknown or not published, or tells nothing of the gains.
        SourceError: The counts are not exact, or not those of the records.
        SolverError: The solver could not decide, or two engines disagree.
    """
    options = LeaveOneOutOptions(_gains(release, gains), seed, solutions, seconds, within=within)
    used = chosen_tables(release, published, tables)
    return pl.concat(
        attack.leave_out(release, part, used, records, options)
        for part in split(release, published)
    )


def leave_one_out_protected(
    release: Release,
    records: pl.DataFrame,
    publish: Publish,
    *,
    tables: Choice = None,
    gains: Sequence[str] | None = None,
    within: str = "",
    solutions: int = 5,
    seconds: float = 1.0,
    seed: int = 0,
) -> pl.DataFrame:
    """The same for any counts: published anew without each person, and attacked from scratch.

    Args:
        release: The schema.
        records: The confidential records.
        publish: What is published of the records of a partition. Where chance plays a part it
            should be the same in each call.
        tables: The tables to attack.
        gains: What an attacker wants to know; default the schema's.
        within: Only people of geounits whose geoids begin so.
        solutions: Solutions to sample, with each person and without.
        seconds: Budget to settle what is certain about one person, deterministic.
        seed: For the sampled solutions.

    Returns:
        As `leave_one_out`.

    Raises:
        ConfigError: A table is unknown or not published, or tells nothing of the gains.
        SolverError: The solver could not decide, or two engines disagree.
    """
    options = LeaveOneOutOptions(_gains(release, gains), seed, solutions, seconds, within=within)
    prefix = release.geography.partition_level.enclosing(pl.col(release.geoid_column))
    frames = []
    for part in records.with_columns(prefix.alias("_partition")).partition_by("_partition"):
        people = part.drop("_partition")
        used = chosen_tables(release, publish(people), tables)
        frames.append(again.attack_again(release, used, people, publish, options))
    return pl.concat(frames)


def measure_confidence(
    release: Release,
    published: Publication,
    microdata: pl.DataFrame,
    *,
    tables: Choice = None,
    solutions: int = 100,
    seed: int = 0,
) -> pl.DataFrame:
    """How often each record that is not certain appears among sampled solutions; no proof.

    Args:
        release: The schema.
        published: Of `publish` or `read_published`; exact.
        microdata: Of `reconstruct`, from the same tables.
        tables: The tables that it was made from.
        solutions: Solutions to sample.
        seed: For the sampled solutions.

    Returns:
        The rows of ``microdata``; the columns are those of ``confidence/``.

    Raises:
        ConfigError: A table is unknown or not published.
        SourceError: The counts are not exact.
        StageError: The records do not have the published counts.
        SolverError: The solver could not decide, or two engines disagree.
    """
    options = ConfidenceOptions(seed, solutions)
    used = chosen_tables(release, published, tables)
    parts = []
    for part in split(release, published):
        mine = release.geography.partition_level.enclosing(part.geounits["geoid"]).unique()
        prefix = release.geography.partition_level.enclosing(pl.col(release.geoid_column))
        records = microdata.filter(prefix.is_in(mine.implode()))
        parts.append(of_records.measure_confidence(release, part, used, records, options))
    return pl.concat(parts)


def _gains(release: Release, gains: Sequence[str] | None) -> tuple[str, ...]:
    if gains is not None:
        return tuple(gains)
    if release.attack is None:
        raise ConfigError(
            f"release {release.name!r} does not say what an attacker gains; name the columns"
        )
    return release.attack.gains
