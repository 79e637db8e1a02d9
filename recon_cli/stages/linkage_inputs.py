"""From the section ``link`` to the files of an attack and what is done with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from recon_cli.attack.linkage.baselines import most_frequent
from recon_cli.attack.linkage.dedup import FLAGS
from recon_cli.attack.linkage.key_encoding import KeyEncoder
from recon_cli.attack.linkage.published_margins import published_margin
from recon_cli.attack.linkage.specification import (
    CEF,
    CEF_ATKR,
    HDF,
    TABLES,
    Guesser,
    LinkageSpecification,
)
from recon_cli.config.sections.link import GuesserSection, Link
from recon_cli.errors import ConfigError, SchemaError
from recon_cli.execute import OnProgress
from recon_cli.pipeline.run import Run
from recon_cli.schema import AttackKeys, Release, Table
from recon_cli.sources.records import RecordFile, open_records
from recon_cli.store import INGEST, Piece, read_published
from recon_cli.store.manifest import MANIFEST, read_manifest
from recon_cli.store.piece import EVERYWHERE, Span
from recon_cli.store.pieces import PIECE_PEOPLE, cut

#: Default name of the bought file.
COMRCL = "COMRCL"
DATA_DEFINED = "data_defined"
#: Folders of the work folder that may hold the truth: one's own, or that of `recon synth`.
_TRUTHS = ("cef", "persons")


@dataclass(frozen=True)
class LinkageInputs:
    """The files of an attack.

    Attributes:
        lineup: What is done with them; its modes are not known yet.
        files: Origins and attackers by name.
        tables: What guessers from tables may use.
        present: The partitions that each file has records in.
    """

    lineup: LinkageSpecification
    files: Mapping[str, RecordFile]
    tables: tuple[Table, ...]
    present: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def columns(self, name: str) -> list[str]:
        """The columns that are read of a file."""
        lineup, release = self.lineup, self.lineup.release
        needed = [release.geoid_column, *lineup.keys.columns]
        for column in lineup.keys.columns:
            feature = release.column_groups(column).feature
            needed += [feature, *release.features[release.feature_index[feature]].options]
        if name == lineup.truth or name in lineup.attackers:
            needed += [lineup.id, *FLAGS]
        if name == lineup.truth and lineup.data_defined is not None:
            needed.append(lineup.data_defined)
        return list(dict.fromkeys(needed))

    def read(self, name: str, partition: str, span: Span = EVERYWHERE) -> pl.DataFrame:
        """A file's records of one partition; none where it has no such partition."""
        file = self.files[name]
        if partition in self.present[name]:
            return file.read(partition, self.columns(name), span)
        known = [column for column in file.columns() if column in self.columns(name)]
        return pl.DataFrame(schema=dict.fromkeys(known, pl.String))


def open_linkage_inputs(run: Run) -> LinkageInputs:
    """Open the files that the config names, or those of the work folder.

    Raises:
        ConfigError: A file, a name or a column is not there, or the release says nothing of
            attacks.
        SchemaError: The columns cannot be linked on.
        SourceError: A file lacks the geoid column.
        StageError: A stage folder is damaged.
    """
    config = run.config.section(Link)
    keys = _keys(run.release, config)
    files = _origins(run, config)
    guessers = _guessers(run, config, files)
    attackers = _attackers(run, config, files)
    truth_columns = files[CEF].columns()
    defined = config.data_defined
    if defined is None and DATA_DEFINED in truth_columns:
        defined = DATA_DEFINED
    elif defined is not None and defined not in truth_columns:
        raise ConfigError(f"link.data_defined: CEF has no column {defined!r}")
    origins = tuple(files)
    lineup = LinkageSpecification.of(
        run.release,
        keys,
        origins=origins,
        guessers=guessers,
        attackers={name: file is None for name, file in attackers.items()},
        seed=run.config.top.seed if config.seed is None else config.seed,
        id=config.id,
        data_defined=defined,
    )
    bought = {name: file for name, file in attackers.items() if file is not None}
    return LinkageInputs(lineup, {**files, **bought}, _tables(run, config))


@dataclass(frozen=True)
class GainCounts:
    """What a partition says of itself before anything is linked.

    Attributes:
        gains: Origin → packed gained value → people who have it.
        pieces: The partition, cut.
    """

    gains: Mapping[str, Mapping[int, int]]
    pieces: tuple[Piece, ...]


def count_gains(job: tuple[LinkageInputs, Path], piece: Piece, tick: OnProgress) -> GainCounts:
    """Count the gained values of all origins that guess or are judged by one, in one partition.

    Runs in a worker; ``job`` is the cast and the work folder.
    """
    (cast, work), partition = job, piece.partition
    lineup, release = cast.lineup, cast.lineup.release
    coder = KeyEncoder(release, lineup.keys, pl.Series([], dtype=pl.String))
    gains: dict[str, dict[int, int]] = {}
    for name in dict.fromkeys(
        (lineup.truth, lineup.baseline, *(g.origin for g in lineup.guessers))
    ):
        people = None
        if name == TABLES:
            published = read_published(work, release, partition)
            found = published_margin(release, published, cast.tables, lineup.keys.gains)
            people = found["n"]
        else:
            found = cast.read(name, partition)
        if name == lineup.truth:
            place = pl.col(release.geoid_column).alias("geoid")
            units = found.group_by(place).agg(population=pl.len())
        gains[name] = coder.gain_counts(found, name, people)
    tick(units.height, int(units["population"].sum()))
    return GainCounts(gains, tuple(cut(release, partition, units, PIECE_PEOPLE)))


def with_modes(cast: LinkageInputs, surveys: Iterable[GainCounts]) -> LinkageInputs:
    """The cast with the national modes."""
    counts: dict[str, Counter[int]] = {}
    for each in surveys:
        for name, found in each.gains.items():
            counts.setdefault(name, Counter()).update(found)
    modes = {name: most_frequent(found) for name, found in counts.items()}
    return replace(cast, lineup=replace(cast.lineup, modes=modes))


def _keys(release: Release, config: Link) -> AttackKeys:
    own, parts = release.attack, {}
    for name in ("exact", "binned", "gains"):
        said = getattr(config, name)
        if said is None and own is None:
            raise ConfigError(
                f"link.{name}: release {release.name!r} does not say what an attacker links on; "
                "give link.exact, link.binned and link.gains, or `attack:` in the schema"
            )
        parts[name] = said if said is not None else getattr(own, name)
    keys = AttackKeys(**parts)
    try:
        release.check_attack(keys)
    except SchemaError as error:
        raise ConfigError(f"link: {error}") from error
    return keys


def _origins(run: Run, config: Link) -> dict[str, RecordFile]:
    cef = config.cef or next((run.work / n for n in _TRUTHS if (run.work / n).exists()), None)
    if cef is None:
        known = " nor ".join(f"{name}/" for name in _TRUTHS)
        raise ConfigError(
            f"link.cef: missing: the file with the truth (there is no {known} in {run.work})"
        )
    files = {CEF: open_records(CEF, cef, run.release)}
    hdf = config.hdf or run.work / "hdf"
    if config.hdf is not None or hdf.exists():
        files[HDF] = open_records(HDF, hdf, run.release)
    sources = config.sources
    if sources is None:
        own = (run.work / "microdata" / MANIFEST).is_file()
        sources = {_own_name(run): None} if own else {}
    for name, path in sources.items():
        if name in (*files, TABLES):
            raise ConfigError(f"link.sources.{name}: that name has a meaning of its own")
        where = run.work / "microdata" if path is None else path
        files[name] = open_records(name, where, run.release)
    return files


def _own_name(run: Run) -> str:
    """``rHDF_bt`` for a reconstruction from block and tract tables."""
    notes = read_manifest(run.work / "microdata", command="recon reconstruct").notes
    used = [run.release.table_by_name[name] for name in notes["tables"]]
    finest = {run.release.finest_level(table).name for table in used}
    initials = [level.name[0] for level in run.release.geography.levels if level.name in finest]
    return "rHDF_" + "".join(initials)


def _guessers(run: Run, config: Link, files: Mapping[str, RecordFile]) -> tuple[Guesser, ...]:
    sections = config.guessers
    if sections is None:
        published = (run.work / INGEST.folders[0] / MANIFEST).is_file()
        origin = HDF if HDF in files else TABLES if published else CEF
        sections = {
            "MDG": GuesserSection(guess="modal", of=origin),
            "PRG": GuesserSection(guess="proportional", of=origin),
        }
    for name, section in sections.items():
        where = f"link.guessers.{name}"
        if name in (*files, TABLES):
            raise ConfigError(f"{where}: a source has that name")
        if section.of not in (*files, TABLES):
            known = ", ".join((*files, TABLES))
            raise ConfigError(f"{where}.of: no source {section.of!r} (known: {known})")
        if section.of == TABLES and section.leave_one_out:
            raise ConfigError(
                f"{where}.leave_one_out: published tables hold no records to leave out"
            )
        if section.tables is not None and section.of != TABLES:
            raise ConfigError(f"{where}.tables: only with `of: {TABLES}`")
    return tuple(
        Guesser(name, section.guess, section.of, section.leave_one_out)
        for name, section in sections.items()
    )


def _tables(run: Run, config: Link) -> tuple[Table, ...]:
    named = [s.tables for s in (config.guessers or {}).values() if s.tables is not None]
    if len(set(named)) > 1:
        raise ConfigError("link.guessers: all guessers from tables use the same ones")
    unit = run.release.geography.unit.name
    if not named:
        return tuple(table for table in run.release.tables if unit in table.levels)
    return run.release.select_tables(named[0])


def _attackers(
    run: Run, config: Link, files: Mapping[str, RecordFile]
) -> dict[str, RecordFile | None]:
    attackers = config.attackers
    if attackers is None:
        has_id = config.id in files[CEF].columns()
        attackers = {CEF_ATKR: None} if has_id else {}
        bought = run.work / "comrcl"
        if bought.exists():
            attackers = {COMRCL: bought, **attackers}
    return {
        name: None if path is None else open_records(name, path, run.release)
        for name, path in attackers.items()
    }
