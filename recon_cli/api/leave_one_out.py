"""Leave-one-out attacks and confidence in records, with data frames in and out."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import polars as pl

from recon_cli.api.reconstruction import Choice, chosen_tables, split
from recon_cli.ask.options import ConfidenceOptions, LeaveOneOutOptions
from recon_cli.capabilities.confidence import question as of_records
from recon_cli.capabilities.leave_one_out import again
from recon_cli.capabilities.leave_one_out import question as attack
from recon_cli.capabilities.leave_one_out.again import Publish, SwappedPublication, attack_swapped
from recon_cli.capabilities.link.key_encoding import require
from recon_cli.capabilities.swap.settings import load_swap
from recon_cli.capabilities.swap.swap import apply_moves, draw_moves
from recon_cli.chance import KeyedChance
from recon_cli.errors import ConfigError
from recon_cli.frames import require_polars
from recon_cli.publication import Publication
from recon_cli.schema import Release
from recon_cli.tabulation import publish_records


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
    """Compare what exact counts tell about each person with and without that person's answers.

    Args:
        published: Published counts, from `publish` or `read_published`.
        records: The records that were tabulated.
        gains: Columns that an attacker wants to learn; default the schema's.
        within: Only people of geounits whose geoids begin so.
        solutions: Number of solutions to sample, with each person and without.
        seconds: Budget for each person, in deterministic seconds.
        seed: For the sampled solutions.

    Returns:
        A row for each unit and record; the columns are those of ``leave_one_out/``.

    Raises:
        ConfigError: A table is unknown or not published, or tells nothing of the gains.
        SourceError: The counts are not exact, or not those of the records.
        SolverError: The solver could not decide, or two engines disagree.
    """
    require_polars(records)
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
    """Compare the same for protected counts, published anew without each person and attacked.

    Args:
        records: The confidential records.
        publish: Publishes the counts of a partition's records. Where chance plays a part it
            should be the same in each call. Others as of `leave_one_out`.

    Returns:
        As `leave_one_out`.

    Raises:
        ConfigError: A table is unknown or not published, or tells nothing of the gains.
        SolverError: The solver could not decide, or two engines disagree.
    """
    require_polars(records)
    options = LeaveOneOutOptions(_gains(release, gains), seed, solutions, seconds, within=within)
    prefix = release.geography.partition_level.enclosing(pl.col(release.geoid_column))
    frames = []
    for part in records.with_columns(prefix.alias("_partition")).partition_by("_partition"):
        people = part.drop("_partition")
        used = chosen_tables(release, publish(people), tables)
        frames.append(again.attack_again(release, used, people, publish, options))
    return pl.concat(frames)


def leave_one_out_swapped(
    release: Release,
    persons: pl.DataFrame,
    *,
    chance: KeyedChance,
    setting: str = "targeted",
    draws: int = 1,
    people: int | None = None,
    tables: Choice = None,
    gains: Sequence[str] | None = None,
    within: str = "",
    solutions: int = 5,
    seconds: float = 1.0,
    seed: int = 0,
) -> pl.DataFrame:
    """Compare the same for swapped tables, with the swap drawn again without each person.

    Every person and draw is attacked from scratch, so this is for thousands of people, not
    millions. Conclusions are about the true address.

    Args:
        release: A schema with tracts, counties and states, ages, races and ethnicities, whose
            published tables count everybody.
        persons: The confidential records of whole states: the unit's geoid, the features and
            ``household``, null in group quarters.
        chance: The swap's, one number for each household and purpose.
        setting: Packaged settings of a swap, or the path of a YAML file.
        draws: Number of swaps, each with random numbers of its own.
        people: Approximate number of people to sample; default all.
        seed: For the people who are drawn and the sampled solutions. Others as of
            `leave_one_out`.

    Returns:
        As `leave_one_out`, a row for each draw (column ``draw``) and distinct record of a
        household. Besides ``chance_fixed``, ``settled_fixed`` and ``certain_fixed``: without the
        person, with the pairs that were drawn with everybody; and ``units_changed``: how many
        units have other records where the swap is drawn again.

    Raises:
        ConfigError: A table is unknown or not published, or tells nothing of the gains, the
            settings are wrong, or the release has no level that swaps need.
        SourceError: A column is missing.
        SolverError: The solver could not decide, or two engines disagree.
    """
    require_polars(persons)
    geography, place = release.geography, release.geoid_column
    if missing := [name for name in ("tract", "county", "state") if name not in geography.by_name]:
        raise ConfigError(f"release {release.name!r} has no {missing[0]}: swaps need one")
    require(persons, (place, "household", "age", "race", "hispanic"), "persons")
    tract, county, state = (geography.by_name[name] for name in ("tract", "county", "state"))
    levels = tract, county, state
    settings = load_swap(setting)
    units = persons[place].unique().sort()

    def published(records: pl.DataFrame) -> Publication:
        return publish_records(release, records, units)

    inside = int(geography.inside(persons[place], within).sum())
    share = 1.0 if people is None else min(1.0, people / max(inside, 1))
    options = LeaveOneOutOptions(
        _gains(release, gains), seed, solutions, seconds, share=share, within=within
    )
    used = chosen_tables(release, published(persons), tables)
    frames = []
    for number in range(draws):
        found = attack_swapped(
            release,
            used,
            persons,
            SwappedPublication(
                partial(
                    draw_moves,
                    settings=settings,
                    chance=chance.named(f"draw {number}"),
                    levels=levels,
                ),
                apply_moves,
                published,
            ),
            options,
        )
        frames.append(found.with_columns(draw=pl.lit(number, pl.Int32)))
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
    """Estimate by sampled solutions how often each uncertain record appears; this proves nothing.

    Args:
        published: Exact published counts, from `publish` or `read_published`.
        microdata: Records from `reconstruct`, made from the same tables.
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
    require_polars(microdata)
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
