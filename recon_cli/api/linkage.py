"""Link records with attacker files, and compute the rates that judge the links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl
from pydantic import ConfigDict

from recon_cli.api.keywords import Keywords
from recon_cli.api.reconstruction import Choice, chosen_tables, inside
from recon_cli.capabilities.link.baselines import (
    ValueCounts,
    count_gains,
    expected_correct,
    most_frequent,
    with_modes,
)
from recon_cli.capabilities.link.key_encoding import KeyEncoder
from recon_cli.capabilities.link.links import count_agreement
from recon_cli.capabilities.link.partition import LinkageCounts, PartitionLinkage
from recon_cli.capabilities.link.passes import Pass
from recon_cli.capabilities.link.published_margins import PublishedMargins
from recon_cli.capabilities.link.specification import (
    CEF,
    CEF_ATKR,
    TABLES,
    Guesser,
    LinkageSpecification,
    default_guessers,
    default_keys,
    guesser_tables,
    parent_level,
)
from recon_cli.capabilities.score.collect import Partition, add_up, collect
from recon_cli.capabilities.score.control import Control
from recon_cli.capabilities.score.options import Score
from recon_cli.capabilities.score.rates import Rules
from recon_cli.capabilities.score.tables import Sources, make_rates
from recon_cli.errors import ConfigError
from recon_cli.frames import ShownBySize
from recon_cli.page.sizes import Sizes
from recon_cli.publication import Publication
from recon_cli.schema import AttackKeys, Release


@dataclass(frozen=True, repr=False)
class Linkage(ShownBySize):
    """Links between records and attacker files, with their totals.

    Attributes:
        spec: The sources and attackers that were linked.
        links: One row per link: ``attacker, source``, the id, the geoid, the linking and gained
            columns, ``pass`` (``exact`` or ``binned``) and ``confirmed``.
        counted: Partition → sums over its links, of which `score_links` makes rates.
    """

    spec: LinkageSpecification
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
    passes: Sequence[Pass] = (),
    id: str = "pik",  # noqa: A002 - the config's own word
    data_defined: str | None = None,
    seed: int = 0,
) -> Linkage:
    """Match sources of records with attacker files, and confirm the links on the truth.

    Args:
        truth: The confidential records, with ``id``; results call it ``CEF``.
        records: Other sources by name: reconstructions, and as ``HDF`` the tabulated records.
        attackers: Attacker files by name; None stands for the truth's own linking columns.
            Default ``CEF_atkr``, with the truth's own linking columns.
        published: Published counts, for guessers that use ``tables``.
        guessers: Default ``MDG`` (modal) and ``PRG`` (proportional), of the HDF, else of
            ``published``, else of the truth.
        tables: Tables that guessers may use; default those of the finest level.
        keys: Columns to link on and to gain; default the schema's.
        passes: Passes in place of the two by ``keys``, see `Pass.of`; tallies are then by pass.
        id: Column with a person's identifier.
        data_defined: Column of the truth that is false for people whom nobody can be linked to.
        seed: Breaks ties and draws guesses.

    Raises:
        ConfigError: The release does not say what an attacker links on, or the tables do not
            determine what guessers must know.
        SourceError: A file lacks a column, or has a value that the schema does not know.

    >>> import polars as pl
    >>> import recon_cli as recon
    >>> release, patients = recon.load_release("clinic_visits"), recon.example_patients()
    >>> published = recon.publish(release, recon.tabulate(release, patients))
    >>> found = recon.reconstruct(release, published, seed=2)
    >>> truth = patients.with_columns(pik=pl.Series(["a", "b", "c", "d"]))
    >>> linkage = recon.link(release, truth, {"rHDF": found.microdata}, seed=1)
    >>> linkage.links.filter(source="rHDF")["confirmed"].sum()
    2
    """
    chosen = default_keys(release) if keys is None else keys
    release.check_attack(chosen)
    files = {CEF_ATKR: None} if attackers is None else attackers
    origins = {CEF: truth, **records}
    if guessers is None:
        guessers = default_guessers(origins, published=published is not None)
    spec = LinkageSpecification.of(
        release,
        chosen,
        origins=tuple(origins),
        guessers=guessers,
        attackers={name: file is None for name, file in files.items()},
        seed=seed,
        id=id,
        data_defined=data_defined,
        passes=passes,
    )
    if published is None and TABLES in spec.used:
        raise ConfigError("guessers of tables need the published counts")
    parts = {
        name: _Part(
            _inside(release, origins, name),
            _inside(release, {key: file for key, file in files.items() if file is not None}, name),
            None if published is None else _margins(release, chosen, published, tables, name),
        )
        for name in _partitions(release, truth)
    }
    counts = [count_gains(spec, part.records, part.margins) for part in parts.values()]
    spec = with_modes(spec, counts)
    links, counted = [PartitionLinkage(spec, {}, {}).no_links], {}
    for name, part in parts.items():
        partition = PartitionLinkage(spec, part.records, part.files, part.margins)
        counted[name] = partition.run(links.append)
    return Linkage(spec, pl.concat(links), counted)


class _Score(Score):
    """The section ``score``, with the proofs that a work folder would have.

    Attributes:
        zero: Geoids of the geounits that are proven to have zero solution variability.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    zero: pl.Series | None = None


@Keywords(_Score)
def score_links(linkage: Linkage, options: _Score) -> pl.DataFrame:
    """Compute the rates of every result table, with intervals and the guessers' rates.

    Args:
        linkage: From `link`.

    Returns:
        See `recon_cli.capabilities.score.tables.make_rates`.

    Raises:
        ConfigError: Sizes do not increase from 1, or there is no such study or alternative.

    >>> import polars as pl
    >>> import recon_cli as recon
    >>> release, patients = recon.load_release("clinic_visits"), recon.example_patients()
    >>> published = recon.publish(release, recon.tabulate(release, patients))
    >>> found = recon.reconstruct(release, published, seed=2)
    >>> truth = patients.with_columns(pik=pl.Series(["a", "b", "c", "d"]))
    >>> linkage = recon.link(release, truth, {"rHDF": found.microdata}, seed=1)
    >>> rates = recon.score_links(linkage, bootstrap=0, threshold=0)
    >>> rates.filter(table="table09_overall", rate="precision", source="rHDF")["count"].to_list()
    [2.0]
    """
    spec, classes = linkage.spec, Sizes(options.sizes)
    order = (*spec.origins, *(each.name for each in spec.guessers))
    options.require_linked(order)
    collected = add_up(
        [
            collect(
                Partition(
                    name, each.truth, each.targets, each.tallies, each.agreement, options.zero
                ),
                spec.release.geoid_column,
                classes,
                draws=1,
                resamples=options.bootstrap,
                seed=options.fixed_seed,
            )
            for name, each in linkage.counted.items()
        ]
    )
    shown = Sources.of(
        order,
        {each.name: each.kind for each in spec.guessers},
        leave_one_out=[each.name for each in spec.guessers if each.leave_one_out],
        truth=spec.truth,
        alternatives=options.alternatives or (),
    )
    control = Control(options.threshold, options.small, options.digits)
    return make_rates(collected, shown, Rules(classes, control, options.interval), options.compare)


def agreement(
    release: Release, left: pl.DataFrame, right: pl.DataFrame, *, keys: AttackKeys | None = None
) -> pl.DataFrame:
    """Count the records of two files that agree, geounit by geounit (Algorithm 1).

    Args:
        left: Records, such as a reconstruction.
        right: Records, such as the truth; its geounits are the rows.
        keys: The columns that have to agree; default the schema's.

    Returns:
        The geoid, ``records`` (of ``right``), ``exact`` (equal on the exact keys and gains),
        ``near`` (equal except for a number, such as the age, that is off by one; null without such
        a key) and ``agree`` (on the exact keys, or on the binned keys and gains).

    Raises:
        ConfigError: The release does not say what an attacker links on.
        SourceError: A file lacks a column, or has a value that the schema does not know.

    >>> import recon_cli as recon
    >>> release, patients = recon.load_release("clinic_visits"), recon.example_patients()
    >>> published = recon.publish(release, recon.tabulate(release, patients))
    >>> found = recon.reconstruct(release, published, seed=2)
    >>> recon.agreement(release, patients, found.microdata).select("records", "agree").rows()
    [(4, 2)]
    """
    encoder = _encoder(release, right, keys)
    ours, theirs = (
        encoder.encode(file, name=name).records for file, name in ((left, "left"), (right, "right"))
    )
    units = theirs.group_by("unit").agg(pl.len().cast(pl.Int32).alias("records"))
    units = units.join(count_agreement(ours, theirs, encoder.near), on="unit", how="left")
    units = units.with_columns(pl.col("exact", "agree").fill_null(0))
    if encoder.near is not None:
        units = units.with_columns(pl.col("near").fill_null(0))
    return _by_geoid(encoder, units)


def baselines(
    release: Release, records: pl.DataFrame, *, keys: AttackKeys | None = None
) -> pl.DataFrame:
    """Count the people of each geounit about whom a guesser without links is right, on average.

    Args:
        records: Records to guess, from which the guesser also knows the geounits' values.
        keys: Keys whose gained columns are guessed; default the schema's.

    Returns:
        The geoid, ``people``, and how many of these are guessed right by ``modal`` (the most
        frequent value), by ``proportional`` (a random value), and by both if each person is
        guessed from the other people alone: ``modal_without``, ``proportional_without``.

    Raises:
        ConfigError: The release does not say what an attacker gains.
        SourceError: A column is missing, or has a value that the schema does not know.

    >>> import recon_cli as recon
    >>> release, patients = recon.load_release("clinic_visits"), recon.example_patients()
    >>> recon.baselines(release, patients).select("people", "modal", "proportional").rows()
    [(4, 2.0, 1.5)]
    """
    encoder = _encoder(release, records, keys)
    counts = pl.DataFrame(
        [
            encoder.units(records, "records").alias("unit"),
            encoder.pack(records, encoder.keys.gains, "records").alias("gain"),
        ]
    ).drop_nulls()
    counts = counts.group_by("unit", "gain").agg(pl.len().alias("n"))
    mode = most_frequent(encoder.gain_counts(records, "records"))
    values = ValueCounts.of(counts, encoder.geoids, parent_level(release), mode)
    return _by_geoid(encoder, expected_correct(values))


@dataclass(frozen=True)
class _Part:
    """One partition: records by origin, attacker files by name, and what guessers know."""

    records: Mapping[str, pl.DataFrame]
    files: Mapping[str, pl.DataFrame]
    margins: PublishedMargins | None


def _inside(
    release: Release, files: Mapping[str, pl.DataFrame], partition: str
) -> dict[str, pl.DataFrame]:
    unit = pl.col(release.geoid_column).cast(pl.String)
    rows = release.geography.inside(unit, partition)
    return {name: file.filter(rows) for name, file in files.items()}


def _margins(
    release: Release, keys: AttackKeys, published: Publication, choice: Choice, partition: str
) -> PublishedMargins:
    tables = chosen_tables(release, published, choice)
    if choice is None:
        tables = guesser_tables(release, tables)
    return PublishedMargins(release, keys, inside(release, published, partition), tables)


def _partitions(release: Release, records: pl.DataFrame) -> list[str]:
    units = records[release.geoid_column].cast(pl.String)
    return sorted(set(release.geography.partition_level.enclosing(units).drop_nulls()))


def _encoder(release: Release, records: pl.DataFrame, keys: AttackKeys | None) -> KeyEncoder:
    geoids = records[release.geoid_column].cast(pl.String).drop_nulls().unique().sort()
    return KeyEncoder(release, default_keys(release) if keys is None else keys, geoids)


def _by_geoid(encoder: KeyEncoder, units: pl.DataFrame) -> pl.DataFrame:
    geoid = encoder.geoids.gather(units["unit"]).alias(encoder.release.geoid_column)
    return units.select(geoid, pl.exclude("unit")).sort(geoid.name)
