"""Files and specification of a record linkage, from the section ``link``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from recon_cli.capabilities.link.files import FLAGS
from recon_cli.capabilities.link.options import AttackerFile, Link
from recon_cli.capabilities.link.passes import Agreement, Pass, passes_by_weight
from recon_cli.capabilities.link.published_margins import PublishedMargins
from recon_cli.capabilities.link.specification import (
    CEF,
    CEF_ATKR,
    HDF,
    TABLES,
    Guesser,
    LinkageSpecification,
    default_guessers,
    guesser_tables,
)
from recon_cli.capabilities.records.files import RecordFile, open_records
from recon_cli.capabilities.records.layout import given_translation
from recon_cli.capabilities.records.records_file import RecordsFile
from recon_cli.errors import ConfigError, SchemaError, SourceError
from recon_cli.pipeline.run import Run
from recon_cli.schema import AttackKeys, Release, Table
from recon_cli.store import INGEST
from recon_cli.store.manifest import MANIFEST, read_manifest
from recon_cli.store.piece import EVERYWHERE, Span
from recon_cli.store.protection import read_published

#: Default name of the commercial file.
COMRCL = "COMRCL"
DATA_DEFINED = "data_defined"
#: Folders of the work folder that may hold the truth: one's own, or that of `recon data synth`.
_TRUTHS = ("cef", "persons")


@dataclass(frozen=True)
class LinkageInputs:
    """The files of a record linkage.

    Attributes:
        spec: Specification, without modes so far.
        files: Origins and attackers by name.
        tables: Tables that guessers may use.
        may_leave_out: Attacker → largest share of its records that may be left out.
        present: The partitions that each file has records in.
    """

    spec: LinkageSpecification
    files: Mapping[str, RecordFile]
    tables: tuple[Table, ...]
    may_leave_out: Mapping[str, float] = field(default_factory=dict)
    present: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def columns(self, name: str) -> list[str]:
        spec, release = self.spec, self.spec.release
        needed = [release.geoid_column, *spec.columns]
        for column in spec.columns:
            feature = release.column_groups(column).feature
            needed += [feature, *release.features[release.feature_index[feature]].options]
        if name == spec.truth or name in spec.attackers:
            needed += [spec.id, *FLAGS]
        if name == spec.truth and spec.data_defined is not None:
            needed.append(spec.data_defined)
        return list(dict.fromkeys(needed))

    def read(self, name: str, partition: str, span: Span = EVERYWHERE) -> pl.DataFrame:
        """Read a file's records of one partition; empty if it has no such partition."""
        file = self.files[name]
        if partition in self.present[name]:
            return file.read(partition, self.columns(name), span)
        known = [column for column in file.columns() if column in self.columns(name)]
        return pl.DataFrame(schema=dict.fromkeys(known, pl.String))

    def margins(
        self, work: Path, partition: str, span: Span = EVERYWHERE
    ) -> PublishedMargins | None:
        """Read what guessers from published tables know of a partition; None if there are none."""
        if TABLES not in self.spec.used:
            return None
        published = read_published(work, self.spec.release, partition, span)
        return PublishedMargins(self.spec.release, self.spec.keys, published, self.tables)


def open_linkage_inputs(run: Run) -> LinkageInputs:
    """Open the files that the config names, or those of the work folder.

    Raises:
        ConfigError: A file, a name or a column is not there, or the release says nothing of
            attacks.
        SourceError: A file lacks the geoid column.
    """
    config = run.config.section(Link)
    keys = _keys(run.release, config)
    files = _origins(run, config)
    attackers = _attackers(run, config, files)
    truth_columns = files[CEF].columns()
    defined = config.data_defined
    if defined is None and DATA_DEFINED in truth_columns:
        defined = DATA_DEFINED
    elif defined is not None and defined not in truth_columns:
        raise ConfigError(f"link.data_defined: CEF has no column {defined!r}")
    try:
        spec = LinkageSpecification.of(
            run.release,
            keys,
            origins=tuple(files),
            guessers=_guessers(run, config, files),
            attackers={name: file is None for name, file in attackers.items()},
            seed=run.config.top.seed if config.seed is None else config.seed,
            id=config.id,
            data_defined=defined,
            passes=_passes(run.release, config),
        )
    except ConfigError as error:
        raise ConfigError(f"link.{error}") from error
    own_files = {name: file for name, file in attackers.items() if file is not None}
    given = (config.attackers or {}).items()
    may_leave_out = {name: file.may_leave_out for name, file in given if file is not None}
    return LinkageInputs(spec, {**files, **own_files}, _tables(run, config), may_leave_out)


def _keys(release: Release, config: Link) -> AttackKeys:
    own, parts = release.attack, {}
    for name in ("exact", "binned", "gains"):
        given = getattr(config, name)
        if given is None and own is None:
            raise ConfigError(
                f"link.{name}: release {release.name!r} does not say what an attacker links on; "
                "give link.exact, link.binned and link.gains, or `attack:` in the schema"
            )
        parts[name] = given if given is not None else getattr(own, name)
    keys = AttackKeys(**parts)
    try:
        release.check_attack(keys)
    except SchemaError as error:
        raise ConfigError(f"link: {error}") from error
    return keys


def _passes(release: Release, config: Link) -> tuple[Pass, ...]:
    if config.weights is not None:
        if config.passes is not None:
            raise ConfigError("weights: with link.passes, which say themselves what comes first")
        comparisons = {
            name: [Agreement(each.same, each.m, each.u, each.within) for each in ways]
            for name, ways in config.weights.compare.items()
        }
        return passes_by_weight(release, comparisons, config.weights.at_least)
    return tuple(
        Pass.of(release, each.name, each.same, each.within) for each in config.passes or ()
    )


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
    for name, given in sources.items():
        if name in (*files, TABLES):
            raise ConfigError(f"link.sources.{name}: that name is reserved")
        if given is None:
            files[name] = open_records(name, run.work / "microdata", run.release)
        else:
            files[name] = _source_file(run.release, name, given)
    return files


def _source_file(release: Release, name: str, given: RecordsFile) -> RecordFile:
    """Open a source with headers and codes of its own."""
    try:
        translation = given_translation(release, **given.terms)
    except ConfigError as error:
        raise ConfigError(f"link.sources.{name}.{error}") from error
    return open_records(name, given.path, release, translation)


def _own_name(run: Run) -> str:
    """Name the reconstruction: ``rHDF_bt`` if from block and tract tables."""
    notes = read_manifest(run.work / "microdata", command="recon reconstruct").notes
    used = [run.release.table_by_name[name] for name in notes["tables"]]
    finest = {run.release.finest_level(table).name for table in used}
    initials = [level.name[0] for level in run.release.geography.levels if level.name in finest]
    return "rHDF_" + "".join(initials)


def _guessers(run: Run, config: Link, files: Mapping[str, RecordFile]) -> tuple[Guesser, ...]:
    if config.guessers is None:
        published = (run.work / INGEST.folders[0] / MANIFEST).is_file()
        return default_guessers(files, published=published)
    for name, section in config.guessers.items():
        if section.tables is not None and section.of != TABLES:
            raise ConfigError(f"guessers.{name}.tables: only with `of: {TABLES}`")
    return tuple(
        Guesser(name, section.guess, section.of, section.leave_one_out)
        for name, section in config.guessers.items()
    )


def _tables(run: Run, config: Link) -> tuple[Table, ...]:
    named = [s.tables for s in (config.guessers or {}).values() if s.tables is not None]
    if len(set(named)) > 1:
        raise ConfigError("link.guessers: all guessers from tables use the same ones")
    if not named:
        return guesser_tables(run.release, run.release.tables)
    return run.release.select_tables(named[0])


def _attackers(
    run: Run, config: Link, files: Mapping[str, RecordFile]
) -> dict[str, RecordFile | None]:
    if config.attackers is not None:
        return {
            name: None if given is None else _attacker_file(run.release, config.id, name, given)
            for name, given in config.attackers.items()
        }
    commercial = run.work / "comrcl"
    files_there: dict[str, RecordFile | None] = {}
    if commercial.exists():
        files_there[COMRCL] = open_records(COMRCL, commercial, run.release)
    if config.id in files[CEF].columns():
        files_there[CEF_ATKR] = None
    return files_there


def _attacker_file(release: Release, id_column: str, name: str, given: AttackerFile) -> RecordFile:
    columns = dict(given.columns)
    if given.id is not None and given.id != id_column:
        columns[given.id] = id_column
    terms = {**given.terms, "columns": columns}
    try:
        translation = given_translation(release, **terms, others=(id_column, *FLAGS))
    except ConfigError as error:
        raise ConfigError(f"link.attackers.{name}.{error}") from error
    try:
        return open_records(name, given.path, release, translation)
    except SourceError as error:
        raise SourceError(_under_its_key(name, error)) from error
    except ConfigError as error:
        raise ConfigError(_under_its_key(name, error)) from error


def _under_its_key(name: str, error: Exception) -> str:
    """Prefix a message about a file with its key in the config."""
    return f"link.attackers.{name}: {str(error).removeprefix(f'{name}: ')}"
