"""Run `recon attribute`: known people and the tables → ``private/attribute/``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any

import polars as pl

from recon_cli.capabilities.attribute import ATTRIBUTE
from recon_cli.capabilities.attribute.options import Attribute
from recon_cli.capabilities.claims.groups import claim_columns, unasked_features
from recon_cli.capabilities.findings.disclosing import attributed, labelled, possible_cells
from recon_cli.capabilities.findings.fresh import WorkFolder
from recon_cli.capabilities.findings.proven import known_columns
from recon_cli.capabilities.reconstruct.facts import (
    EVERYWHERE,
    Facts,
    PublishedCell,
    Scope,
    facts_around,
    record_counts_of,
)
from recon_cli.capabilities.reconstruct.reconstructed import Reconstructed, open_reconstructed
from recon_cli.capabilities.reconstruct.unit_status import MISSING
from recon_cli.capabilities.records.files import RecordFile, Slice, open_records
from recon_cli.capabilities.records.layout import given_translation
from recon_cli.capabilities.show.counterexamples import Claim
from recon_cli.capabilities.show.geounit_page import masks_of
from recon_cli.capabilities.show.minimal_explanation import (
    SearchEffort,
    find_exclusion,
    find_explanation,
)
from recon_cli.capabilities.solvar import SOLVAR
from recon_cli.capabilities.solvar.histogram import propagated_intervals
from recon_cli.errors import ConfigError, SourceError, StageError
from recon_cli.frames import OPEN
from recon_cli.page.missing import Missing
from recon_cli.pipeline.failure_log import log_disagreements
from recon_cli.pipeline.opened_stage import MadeStage
from recon_cli.pipeline.run import Run
from recon_cli.store import Manifest, Transaction
from recon_cli.store.files import key_of
from recon_cli.store.protection import laws_of, read_published
from recon_cli.store.tables import table_files

RESULT = "attributed"
_NUMBERS = dict.fromkeys(("least", "most", "names"), pl.Int64)


def open_stage(run: Run) -> MadeStage:
    """Open the stage that finds the columns that every solution determines for known people.

    Raises:
        ConfigError: A file or a column is missing.
        SourceError: A file cannot be read, or has values that the release lacks.
        StageError: ``tables/``, ``microdata/`` or ``intervals/`` is missing, damaged or out of
            date.
    """
    config = run.section(Attribute)
    made = open_reconstructed(run)
    made.require_bounded(ATTRIBUTE.command)
    solvar = WorkFolder(run.work).fresh(SOLVAR)
    if isinstance(solvar, Missing):
        raise StageError(f"{run.work}: {solvar.why}; run {solvar.remedy}")
    files = dict(_files(run, config))
    slices = {name: file.slices() for name, file in files.items()}
    seed = config.fixed_seed
    settings = {
        "id": config.id,
        "reasons": config.reasons,
        "attackers": {
            name: given.model_dump(mode="json", exclude={"path"}) for name, given in _named(config)
        },
        "tables": made.table_names,
    }
    digests = {
        name: {partition: each.digest for partition, each in parts.items()}
        for name, parts in slices.items()
    }
    folders = (made.tables, made.geounits, made.microdata, made.blocks, solvar)
    recipe = run.recipe(
        ATTRIBUTE,
        settings,
        seed=seed,
        shared={
            **{folder.path.name: folder.manifest.key for folder in folders},
            "attackers": key_of(digests),
        },
    )
    return MadeStage(recipe, lambda stage: _make(stage, _People(run, made, files, slices, seed)))


def _named(config: Attribute) -> list[tuple[str, Any]]:
    return sorted(config.attackers.items())


def _files(run: Run, config: Attribute) -> Iterator[tuple[str, RecordFile]]:
    for name, given in _named(config):
        columns = dict(given.columns)
        if given.id is not None and given.id != config.id:
            columns[given.id] = config.id
        where = f"attribute.attackers.{name}"
        terms = {**given.terms, "columns": columns}
        try:
            translation = given_translation(run.release, **terms, others=(config.id,))
            file = open_records(name, given.path, run.release, translation)
            columns_there = file.columns()
        except (ConfigError, SourceError) as error:
            raise type(error)(f"{where}: {error}") from error
        if config.id not in columns_there:
            raise ConfigError(f"{where}: no column {config.id!r}, which says who somebody is")
        yield name, file


@dataclass(frozen=True)
class _People:
    """The known people, and the proofs about the tables."""

    run: Run
    made: Reconstructed
    files: Mapping[str, RecordFile]
    slices: Mapping[str, Mapping[str, Slice]]
    seed: int

    def require_places(self) -> None:
        """Refuse a file most of whose people are in places that the tables lack.

        Raises:
            SourceError: Names the file.
        """
        place = self.made.release.geoid_column
        for name, given in _named(self.run.config.section(Attribute)):
            found, slices = 0, self.slices[name]
            for partition in slices.keys() & set(self.made.blocks.partitions):
                units = self.made.blocks.read(partition, columns=(place,))
                people = self.files[name].read(partition, (place,))
                found += people.join(units, on=place, how="semi").height
            people_there = sum(each.rows for each in slices.values())
            elsewhere = people_there - found
            if elsewhere > given.may_leave_out * people_there:
                raise SourceError(
                    f"attribute.attackers.{name}: {elsewhere:,} of {people_there:,} records are in "
                    "places that the tables do not have (may_leave_out allows that)"
                )

    def found(self, partition: str) -> tuple[pl.DataFrame, int]:
        """Find the determined columns of a partition's people, and count repeated rows.

        Rows with the same name, place and values are one person. ``names`` counts the listed names
        with the same place and values.
        """
        release, columns = self.made.release, self.columns
        who = self.run.config.section(Attribute).id
        cells = self._cells(partition)
        features = [feature.name for feature in release.features]
        parts, repeated = [], 0
        for name, file in self.files.items():
            if partition not in self.slices[name]:
                continue
            wanted = list(dict.fromkeys([release.geoid_column, who, *columns, *features]))
            try:
                people = labelled(release, file.read(partition, wanted), columns)
            except SourceError as error:
                raise SourceError(f"attribute.attackers.{name}: {file.path}: {error}") from None
            people = people.select(
                pl.lit(name).alias("attacker"),
                pl.col(who).cast(pl.String).alias("id"),
                release.geoid_column,
                *columns,
            )
            once = people.unique(maintain_order=True)
            repeated += people.height - once.height
            names = pl.len().over(release.geoid_column, *columns).cast(pl.Int64)
            parts.append(attributed(release, cells, once.with_columns(names=names), columns))
        return (pl.concat(parts) if parts else pl.DataFrame()), repeated

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Return every column that a published cell distinguishes; see `claim_columns`."""
        made = self.made
        return claim_columns(made.release, made.used, made.coverage)

    def _cells(self, partition: str) -> pl.DataFrame:
        """Return the cells of `columns` that people can be in, with ``lower``."""
        release, made = self.made.release, self.made
        histogram = known_columns(release, made.microdata)
        intervals = WorkFolder(self.run.work).open(SOLVAR, "intervals").read(partition)
        possible = possible_cells(intervals, made.microdata.read(partition), histogram)
        if set(self.columns) <= set(histogram):
            return possible
        published = read_published(self.run.work, release, partition)
        finer = propagated_intervals(release, published, made.used, self.columns)
        key = [release.geoid_column, *histogram]
        return finer.join(possible, on=key, how="semi", nulls_equal=True)

    def because(self, partition: str, rows: pl.DataFrame) -> Iterator[str]:
        """Yield for each group the published counts that leave its people only one value.

        Args:
            rows: A row per group: the geoid, `columns`, ``column``, ``settled``, ``least``.

        Returns:
            Words on these counts; empty for a group if the place's own counts do not settle its
            value.
        """
        made, release = self.made, self.made.release
        published = read_published(self.run.work, release, partition)
        records = made.microdata.read(partition)
        blocks = made.blocks.read(partition)
        unsolved = set(blocks.filter(blocks["status"].is_in(MISSING))[release.geoid_column])
        effort = SearchEffort(seed=self.seed).quick

        @cache
        def facts_of(unit: str) -> Facts:
            return facts_around(release, published, made.used, unit, Scope.UNIT)

        for row in rows.iter_rows(named=True):
            unit = row[release.geoid_column]
            known = {name: row[name] for name in self.columns}
            masks = {
                _text(label): masks_of(release, known | {row["column"]: label})
                for label in release.column_groups(row["column"]).labels
            }
            claim = Claim(masks.pop(row["settled"]), row["least"])
            facts = facts_of(unit)
            excluded = find_exclusion(facts, tuple(masks.values()), claim)
            if excluded is None or (excluded.needs_people and unit in unsolved):
                yield ""
                continue
            cells = excluded.cells
            if excluded.needs_people:
                people = record_counts_of(release, records, facts.units)
                with log_disagreements(self.run.work):
                    forced = find_explanation(
                        partial(_same, facts), people, claim, effort, Scope.UNIT
                    ).cells
                cells = tuple(dict.fromkeys((*cells, *forced))) if forced else ()
            yield "; ".join(dict.fromkeys(_said(cell, unit) for cell in cells))


def _same(facts: Facts, _scope: Scope) -> Facts:
    """Return the unit's own facts, whatever the scope."""
    return facts


def _text(value: object) -> str:
    """Format a label like a frame's column cast to text."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _said(cell: PublishedCell, unit: str) -> str:
    if cell.geoid == EVERYWHERE:
        return "a structural zero of the schema"
    code = cell.table.codes[cell.cell.number - 1]
    where = "" if cell.geoid == unit else f" of {cell.geoid}"
    if cell.greatest == cell.count:
        return f"{code}{where} = {cell.count}"
    if cell.greatest == OPEN:
        return f"{code}{where} is at least {cell.count}"
    return f"{code}{where} is from {cell.count} to {cell.greatest}"


def _make(stage: Transaction, known: _People) -> Manifest:
    known.require_places()
    made, left = known.made, known.run.config.section(Attribute).reasons
    parts, repeated = [], 0
    counted = beyond = 0
    for partition in made.microdata.partitions:
        found, again = known.found(partition)
        repeated += again
        if found.is_empty():
            continue
        group = [name for name in found.columns if name not in ("attacker", "id", "names")]
        alike = ["attacker", *(n for n in group if n not in ("column", "settled", "least", "most"))]
        lists = found.unique(alike).select("names", room=pl.min_horizontal("names", "most"))
        counted += int(lists["room"].sum())
        beyond += int((lists["names"] - lists["room"]).sum())
        groups = found.select(group).unique(maintain_order=True)
        reasons = [*known.because(partition, groups.head(left))]
        left -= len(reasons)
        reasons += [""] * (groups.height - len(reasons))
        because = groups.with_columns(because=pl.Series(reasons, dtype=pl.String))
        parts.append(found.join(because, on=group, how="left", nulls_equal=True))
    columns = ["attacker", "id", made.release.geoid_column, "column", "value"]
    columns += ["least", "most", "names", "because"]
    rows = (
        pl.concat(parts).rename({"settled": "value"}).select(columns)
        if parts
        else pl.DataFrame(schema={**dict.fromkeys(columns, pl.String), **_NUMBERS})
    )
    rows = rows.sort(columns[:4])
    people = sum(each.rows for parts in known.slices.values() for each in parts.values())
    stage.staging.write_extras(ATTRIBUTE.folders[0], table_files({RESULT: rows}))
    return stage.publish(
        [],
        notes={
            "people": people - repeated,
            "settled_people": counted,
            "names_beyond": beyond,
            "repeated": repeated,
            "settled": rows.height,
            "laws": list(laws_of(made.tables, known.run.release)),
            "assumes_zeros": made.release.has_assumptions,
            "columns": list(known.columns),
            "unasked": list(unasked_features(made.release, made.used, made.coverage)),
        },
    )
