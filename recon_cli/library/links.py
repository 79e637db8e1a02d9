"""From records to links with attacker files, and to the rates that judge them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from recon_cli.attack.linkage.baselines import ValueCounts, expected_correct, most_frequent
from recon_cli.attack.linkage.key_encoding import KeyEncoder
from recon_cli.attack.linkage.links import count_agreement
from recon_cli.attack.linkage.published_margins import margin_records, published_margin
from recon_cli.attack.linkage.reidentification import LinkageCounts, PartitionLinkage
from recon_cli.attack.linkage.specification import (
    CEF,
    CEF_ATKR,
    HDF,
    TABLES,
    Guesser,
    LinkageSpecification,
)
from recon_cli.errors import ConfigError
from recon_cli.library.tables import Choice, chosen_tables, inside
from recon_cli.publication import Publication
from recon_cli.schema import AttackKeys, Release, Table
from recon_cli.score.collect import Partition, add_up, collect
from recon_cli.score.control import Control
from recon_cli.score.rates import Rules
from recon_cli.score.sizes import Sizes
from recon_cli.score.tables import Sources, make_rates


@dataclass(frozen=True)
class Linked:
    """What came of linking.

    Attributes:
        lineup: What was linked with what.
        links: A row a link: ``attacker, source``, the id, the geoid, the linking and gained
            columns, ``pass`` (``exact`` or ``binned``) and ``confirmed``.
        counted: Partition → what its links add up to; `score` makes rates of it.
    """

    lineup: LinkageSpecification
    links: pl.DataFrame
    counted: Mapping[str, LinkageCounts]


def link(
    release: Release,
    truth: pl.DataFrame,
    records: Mapping[str, pl.DataFrame],
    *,
    attackers: Mapping[str, pl.DataFrame | None] | None = None,
    published: Publication | None = None,
    guessers: Sequence[Guesser] | None = None,
    tables: Choice = None,
    keys: AttackKeys | None = None,
    id: str = "pik",  # noqa: A002 - the config's own word
    data_defined: str | None = None,
    seed: int = 0,
) -> Linked:
    """Match sources of records with attacker files, and confirm the links on the truth.

    Args:
        release: The schema.
        truth: The confidential records, with ``id``; results call it ``CEF``.
        records: Other sources by name: reconstructions, and what was tabulated as ``HDF``.
        attackers: Attacker files by name; None stands for the truth's own linking columns.
            Default ``CEF_atkr`` of that kind.
        published: What guessers of ``tables`` know.
        guessers: Default ``MDG`` (modal) and ``PRG`` (proportional), of the HDF, else of
            ``published``, else of the truth.
        tables: Which tables guessers may use; default those of the finest level.
        keys: What is linked on and gained; default the schema's.
        id: Column with a person's identifier.
        data_defined: Column of the truth that is false for people whom nobody can be linked to.
        seed: Breaks ties and draws guesses.

    Raises:
        ConfigError: The release does not say what an attacker links on, or the tables do not
            determine what guessers must know.
        SourceError: A file lacks a column, or has a value that the schema does not know.
    """
    chosen = release.attack if keys is None else keys
    if chosen is None:
        raise ConfigError(f"release {release.name!r} does not say what an attacker links on")
    release.check_attack(chosen)
    files = {CEF_ATKR: None} if attackers is None else attackers
    origins = {CEF: truth, **records}
    if guessers is None:
        of = HDF if HDF in origins else CEF if published is None else TABLES
        guessers = (Guesser("MDG", "modal", of), Guesser("PRG", "proportional", of))
    if published is None and any(guesser.origin == TABLES for guesser in guessers):
        raise ConfigError("guessers of tables need the published counts")
    known = None if published is None else _Known.of(release, published, tables)
    lineup = LinkageSpecification.of(
        release,
        chosen,
        origins=tuple(origins),
        guessers=guessers,
        attackers={name: file is None for name, file in files.items()},
        seed=seed,
        id=id,
        data_defined=data_defined,
    )
    bought = {name: file for name, file in files.items() if file is not None}
    parts = _partitions(release, truth)
    attacks = [_attack_on(lineup, part, origins, bought, known) for part in parts]
    modes = _national_modes(attacks)
    links, counted = [], {}
    for part, attack in zip(parts, attacks, strict=True):
        attack.lineup = replace(lineup, modes=modes)
        links.append(attack.no_links)
        counted[part] = attack.run(links.append)
    return Linked(lineup, pl.concat(links), counted)


def score(
    linked: Linked,
    *,
    zero: pl.Series | None = None,
    compare: str | None = None,
    sizes: Sequence[int] = (1, 10, 50, 100, 250, 500, 1000),
    interval: float = 95.0,
    bootstrap: int = 200,
    seed: int = 0,
) -> pl.DataFrame:
    """The rates of every result table, with intervals and the guessers' rates beside.

    Args:
        linked: Of `link`.
        zero: Geoids of the geounits that are proven to have zero solution variability.
        compare: A published study to put beside.
        sizes: Lowest population of each size class, rising from 1.
        interval: Coverage of intervals, in percent.
        bootstrap: Resamples of geounits for intervals; 0 for none.
        seed: Of the resamples.

    Returns:
        See `recon_cli.score.tables.make_rates`.

    Raises:
        ConfigError: Sizes do not rise from 1, or there is no such study.
    """
    lineup, classes = linked.lineup, Sizes(tuple(sizes))
    place = lineup.release.geoid_column
    collected = add_up(
        [
            collect(
                Partition(name, each.truth, each.targets, each.tallies, each.agreement, zero),
                place,
                classes,
                draws=1,
                resamples=bootstrap,
                seed=seed,
            )
            for name, each in linked.counted.items()
        ]
    )
    shown = Sources.of(
        (*lineup.origins, *(each.name for each in lineup.guessers)),
        {each.name: each.kind for each in lineup.guessers},
        leave_one_out=[each.name for each in lineup.guessers if each.leave_one_out],
        truth=lineup.truth,
    )
    return make_rates(collected, shown, Rules(classes, Control(), interval), compare)


def agreement(
    release: Release, left: pl.DataFrame, right: pl.DataFrame, *, keys: AttackKeys | None = None
) -> pl.DataFrame:
    """How many records of two files agree, geounit by geounit (Algorithm 1).

    Args:
        release: The schema.
        left: Records, such as a reconstruction.
        right: Records, such as the truth; its geounits are the rows.
        keys: The columns that have to agree; default the schema's.

    Returns:
        The geoid, ``records`` (of ``right``), ``exact`` (equal on the exact keys and gains) and
        ``agree`` (on these, or on the binned keys and gains).

    Raises:
        ConfigError: The release does not say what an attacker links on.
        SourceError: A file lacks a column, or has a value that the schema does not know.
    """
    coder = _coder(release, right, keys)
    ours, theirs = (
        coder.encode(file, name=name).records for file, name in ((left, "left"), (right, "right"))
    )
    found = theirs.group_by("unit").agg(pl.len().cast(pl.Int32).alias("records"))
    found = found.join(count_agreement(ours, theirs), on="unit", how="left").fill_null(0)
    return _by_geoid(coder, found)


def baselines(
    release: Release, records: pl.DataFrame, *, keys: AttackKeys | None = None
) -> pl.DataFrame:
    """How many people of each geounit a guesser is right about, on average, without linking.

    Args:
        release: The schema.
        records: What the guesser knows the geounits' values from, and is asked about.
        keys: Whose gained columns are guessed; default the schema's.

    Returns:
        The geoid, ``people``, and of them those that are guessed right by ``modal`` (what is
        most frequent), ``proportional`` (a draw), and by both when everybody is guessed from the
        others alone: ``modal_without``, ``proportional_without``.

    Raises:
        ConfigError: The release does not say what an attacker gains.
        SourceError: A column is missing, or has a value that the schema does not know.
    """
    coder = _coder(release, records, keys)
    counts = pl.DataFrame(
        [
            coder.units(records, "records").alias("unit"),
            coder.pack(records, coder.keys.gains, "records").alias("gain"),
        ]
    ).drop_nulls()
    counts = counts.group_by("unit", "gain").agg(pl.len().alias("n"))
    levels = release.geography.levels
    mode = most_frequent(coder.gain_counts(records, "records"))
    digits = levels[min(1, len(levels) - 1)].digits
    return _by_geoid(coder, expected_correct(ValueCounts.of(counts, coder.geoids, digits, mode)))


@dataclass(frozen=True)
class _Known:
    """What guessers of published tables know."""

    published: Publication
    tables: tuple[Table, ...]

    @classmethod
    def of(cls, release: Release, published: Publication, choice: Choice) -> _Known:
        unit = release.geography.unit.name
        tables = chosen_tables(release, published, choice)
        if choice is None:
            tables = tuple(table for table in tables if unit in table.levels)
        return cls(published, tables)


def _partitions(release: Release, records: pl.DataFrame) -> list[str]:
    digits = release.geography.partition_digits
    return sorted(set(records[release.geoid_column].cast(pl.String).str.head(digits).drop_nulls()))


def _attack_on(
    lineup: LinkageSpecification,
    partition: str,
    records: Mapping[str, pl.DataFrame],
    files: Mapping[str, pl.DataFrame],
    known: _Known | None,
) -> PartitionLinkage:
    """The attack on one partition, as `recon link` makes it; its modes are not known yet."""
    release = lineup.release
    rows = pl.col(release.geoid_column).cast(pl.String).str.starts_with(partition)
    here = {name: file.filter(rows) for name, file in records.items()}
    margin = None
    if TABLES in lineup.used and known is not None:
        part = inside(known.published, partition)
        margin = published_margin(release, part, known.tables, lineup.keys.gains)
        margin = margin.rename({"geoid": release.geoid_column})
        here[TABLES] = margin_records(release, part, known.tables, lineup.keys)
    return PartitionLinkage(
        lineup, here, {n: file.filter(rows) for n, file in files.items()}, margin
    )


def _national_modes(attacks: Sequence[PartitionLinkage]) -> dict[str, int]:
    """The most frequent gained value of every origin, over all partitions."""
    counts: dict[str, Counter[int]] = {}
    for attack in attacks:
        lineup = attack.lineup
        coder = KeyEncoder(lineup.release, lineup.keys, pl.Series([], dtype=pl.String))
        for name in lineup.used:
            tally = counts.setdefault(name, Counter())
            if name != TABLES:
                tally.update(coder.gain_counts(attack.records[name], name))
            elif attack.margin is not None:
                tally.update(coder.gain_counts(attack.margin, name, attack.margin["n"]))
    return {name: most_frequent(found) for name, found in counts.items()}


def _coder(release: Release, records: pl.DataFrame, keys: AttackKeys | None) -> KeyEncoder:
    chosen = release.attack if keys is None else keys
    if chosen is None:
        raise ConfigError(f"release {release.name!r} does not say what an attacker links on")
    geoids = records[release.geoid_column].cast(pl.String).drop_nulls().unique().sort()
    return KeyEncoder(release, chosen, geoids)


def _by_geoid(coder: KeyEncoder, units: pl.DataFrame) -> pl.DataFrame:
    geoid = coder.geoids.gather(units["unit"]).alias(coder.release.geoid_column)
    return units.select(geoid, pl.exclude("unit")).sort(geoid.name)
