"""One geounit's part of a work folder: located, checked, and read as far as needed.

With the options of its explanation, `Why`.
"""

from __future__ import annotations

import bisect
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

from recon_cli.capabilities.audit import AUDIT
from recon_cli.capabilities.claims import CLAIMS
from recon_cli.capabilities.findings.checked import UNCHECKED
from recon_cli.capabilities.findings.fresh import WorkFolder
from recon_cli.capabilities.findings.proven import Proofs
from recon_cli.capabilities.ingest.options import PART_OF
from recon_cli.capabilities.ingest.words import sheet_words_of
from recon_cli.capabilities.joint import JOINT
from recon_cli.capabilities.prove import PROVE
from recon_cli.capabilities.reconstruct import RECONSTRUCT
from recon_cli.capabilities.reconstruct.reconstructed import release_of_records
from recon_cli.capabilities.show.geounit_page import GeounitTables, published_tables
from recon_cli.capabilities.slivers import SLIVERS
from recon_cli.capabilities.solvar import SOLVAR
from recon_cli.errors import ConfigError, StageError
from recon_cli.frames import OPEN
from recon_cli.page.missing import Missing
from recon_cli.pipeline.run import Run
from recon_cli.plurals import plural
from recon_cli.schema import Geography, Level, Release, Table
from recon_cli.stage import undisturbed
from recon_cli.store import Folder, Span
from recon_cli.store.piece import EVERYWHERE
from recon_cli.store.published import open_published, read_names

if TYPE_CHECKING:
    from recon_cli.capabilities.ingest.sheet_words import SheetWords
    from recon_cli.publication import Publication

_NEAR = 5
#: After every geoid that begins with a prefix.
_END = "\U0010ffff"


@dataclass(frozen=True)
class Why:
    """The rows to explain, and whether to explain counts.

    Attributes:
        numbers: Row numbers; None for the first few.
        everyone: All rows with certain people.
        first: Number of rows to explain by default.
        counts: Whether to find the sums of counts that give recovered counts: seconds for each.
    """

    numbers: tuple[int, ...] | None = None
    everyone: bool = False
    first: int = 3
    counts: bool = True

    @property
    def is_asked(self) -> bool:
        """Report whether particular rows, or all, are requested."""
        return self.everyone or self.numbers is not None


def locate(run: Run, place: str) -> Located:
    """Find a geounit in the work folder of a run; `Reconstructed` if it has records.

    Args:
        place: The geoid, or the name where it is known, of a geounit of any level from the unit
            to the partition.

    Raises:
        ConfigError: There is no such geounit, or several have the name.
        StageError: ``tables/`` or ``microdata/`` is missing, damaged or out of date.
    """
    tables, geounits = open_published(run.work, run.release)
    names = read_names(geounits)
    geoid = run.release.geography.find(geoid_called(place, names))
    try:
        level = level_of(run.release, geoid)
    except ConfigError as error:
        raise ConfigError(f"{_near_names(place, names)}{error}") from None
    partition = run.release.geography.partition_level.enclosing(geoid)
    if partition not in tables.partitions:
        known = ", ".join(tables.partitions[:_NEAR])
        name = run.release.geography.partition
        raise ConfigError(f"no {level.name} {geoid} in the release ({plural(name)}: {known})")
    region = run.release.region.enclosing(geoid)
    span = Span(region, region + _END) if run.release.geography.is_nested else EVERYWHERE
    _check_listed(run.release.geography, geounits.read(partition, span), level, geoid)
    work = WorkFolder(run.work)
    if (work.holds(AUDIT) or work.holds(JOINT)) and not work.holds(RECONSTRUCT):
        return Located(run, partition, geoid, level, span, names)
    microdata = work.open(RECONSTRUCT)
    found = work.fresh(RECONSTRUCT, partition)
    if isinstance(found, Missing):
        raise StageError(f"{run.work}: {found.why}; run {found.remedy}")
    return Reconstructed(run, partition, geoid, level, span, names, microdata)


def geoid_called(place: str, names: Mapping[str, str]) -> str:
    """Find the geoid of a place by its name; else return the argument.

    >>> geoid_called("abbey school", {"1": "North / Abbey School", "2": "South / Hill School"})
    '1'

    Raises:
        ConfigError: Several places have the name.
    """
    sought = place.casefold()
    called = [geoid for geoid, name in names.items() if name.casefold() == sought]
    # A place within another has a name of both; its own part is enough where unambiguous.
    called = called or [
        geoid for geoid, name in names.items() if name.casefold().rpartition(PART_OF)[2] == sought
    ]
    if place in names or not called:
        return place
    if len(called) > 1:
        known = ", ".join(f"{geoid} ({names[geoid]})" for geoid in sorted(called))
        raise ConfigError(f"several places are called {place!r}: {known}; give a geoid")
    return called[0]


def _near_names(place: str, names: Mapping[str, str]) -> str:
    """Suggest names that are similar to an unknown one."""
    if not names:
        return ""
    called = {name.casefold(): name for name in names.values()}
    near = [called[each] for each in get_close_matches(place.casefold(), called)]
    known = f" (near it: {', '.join(near)})" if near else ""
    return f"no place is called {place!r}{known}, and as a geoid "


def level_of(release: Release, geoid: str) -> Level:
    """Return the level of a geoid.

    Raises:
        ConfigError: No level has geoids of that length, or it is coarser than a partition.
    """
    geography = release.geography
    shown = geography.inside_partitions
    level = geography.level_of(geoid)
    if level is None and not geography.is_nested:
        raise ConfigError(f"{geoid!r} is no place of the membership file")
    if level is None or level not in shown:
        known = ", ".join(f"{each.name} {each.digits}" for each in shown)
        raise ConfigError(
            f"{geoid!r} has {len(geoid)} characters, which is no level that can be shown ({known})"
        )
    return level


def _check_listed(geography: Geography, geounits: pl.DataFrame, level: Level, geoid: str) -> None:
    here = geounits.filter(pl.col("level") == level.name)["geoid"]
    inside = geography.inside(geounits["geoid"], geoid)
    if (here == geoid).any() or (here.is_empty() and inside.any()):
        return
    near = (here if not here.is_empty() else geounits["geoid"]).sort().to_list()
    first = max(0, min(bisect.bisect(near, geoid) - _NEAR // 2, len(near) - _NEAR))
    names = ", ".join(near[first : first + _NEAR])
    hint = f"near it: {names}" if names else "`recon show` of a coarser geounit lists those inside"
    raise ConfigError(f"no {level.name} {geoid} in the release ({hint})")


def tightened(intervals: pl.DataFrame, claimed: pl.DataFrame) -> pl.DataFrame:
    """Tighten intervals of histogram cells by claims.

    Args:
        intervals: The geoid column, histogram columns, ``lower``, ``upper``, perhaps ``exact``.
        claimed: As from `recon_cli.capabilities.findings.proven.claimed_records`.
    """
    cells = [name for name in intervals.columns if name not in ("lower", "upper", "exact")]
    if not set(cells) <= set(claimed.columns):
        return intervals
    proven = claimed.select(*cells, least="lower", settled="exact")
    joined = intervals.join(proven, on=cells, how="left", nulls_equal=True, maintain_order="left")
    least, settled = pl.col("least").fill_null(0), pl.col("settled").fill_null(value=False)
    tight = joined.with_columns(
        lower=pl.max_horizontal("lower", least).cast(intervals.schema["lower"]),
        upper=pl.when(settled)
        .then(pl.min_horizontal("upper", "least"))
        .otherwise("upper")
        .cast(intervals.schema["upper"]),
    )
    if "exact" in tight.columns:
        tight = tight.with_columns(exact=pl.col("exact") | settled)
    return tight.drop("least", "settled")


@dataclass(frozen=True)
class Located:
    """One geounit's part of the work folder, read lazily.

    Attributes:
        partition: The geounit's partition.
        span: The geounit's whole region, or the geounit if it is larger.
        names: Geoid → name of the place, where known.
    """

    run: Run
    partition: str
    geoid: str
    level: Level
    span: Span
    names: Mapping[str, str]

    @cached_property
    def release(self) -> Release:
        """Return the schema, with the structural zeros that proofs used."""
        return self.run.release

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """Return the tables that were attacked."""
        folder = self.joint if self.audit is None else self.audit
        return () if folder is None else self._of(folder)

    @cached_property
    def sheet_words(self) -> SheetWords | None:
        """Return the sheets' labels of cells; None if no labels were read."""
        return sheet_words_of(self.run.config, self.release)

    @cached_property
    def published(self) -> Publication:
        with undisturbed():
            from recon_cli.store.protection import read_published

        at = self.partition, self.span
        return read_published(self.run.work, self.release, *at, with_statistics=True)

    @cached_property
    def work(self) -> WorkFolder:
        return WorkFolder(self.run.work)

    @cached_property
    def audit(self) -> Folder | None:
        """Return ``audit/``, if it was made from the present counts."""
        folder = self.work.fresh(AUDIT, self.partition)
        return None if isinstance(folder, Missing) else folder

    @cached_property
    def joint(self) -> Folder | None:
        """Return ``joint/``, if it was made from the present counts."""
        folder = self.work.fresh(JOINT, self.partition)
        return None if isinstance(folder, Missing) else folder

    @cached_property
    def slivers(self) -> pl.DataFrame | None:
        """Return rows of ``slivers/``, if it was made from the present counts."""
        folder = self.work.fresh(SLIVERS, self.partition)
        return None if isinstance(folder, Missing) else folder.read(self.partition)

    def published_tables(self) -> GeounitTables:
        row = self.published.geounits.filter(pl.col("geoid") == self.geoid)
        if row.is_empty():
            return GeounitTables((), (), ())
        pattern = self.published.coverage[int(row["pattern"][0])]
        here = self.published.counts.filter(pl.col("geoid") == self.geoid)
        if self.published.is_exact:
            here = here.with_columns(low="count", high=pl.lit(None, pl.Int32))
        else:
            exact = pl.col("low").eq_missing(pl.col("high"))
            high = pl.when(~exact).then(pl.col("high").fill_null(OPEN))
            here = here.with_columns(high=high).filter((pl.col("low") > 0) | ~exact)
        ends = here.select("table", "cell", "low", "high").iter_rows()
        counts = {(table, cell): (low, high) for table, cell, low, high in ends}
        return published_tables(
            self.release, pattern, counts, {table.name for table in self.tables}
        )

    def _of(self, folder: Folder) -> tuple[Table, ...]:
        return self.release.select_tables(tuple(folder.manifest.notes["tables"]))


@dataclass(frozen=True)
class Reconstructed(Located):
    """One geounit with its records.

    Attributes:
        microdata: The records, made from the present counts.
    """

    microdata: Folder

    @cached_property
    def release(self) -> Release:
        """Return the schema, with the structural zeros that the records used."""
        return release_of_records(self.run.release, self.microdata.manifest)

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """Return the tables that the records were made from."""
        return self._of(self.microdata)

    @cached_property
    def records(self) -> pl.DataFrame:
        return self.microdata.read(self.partition, self.span)

    @cached_property
    def proofs(self) -> Proofs:
        """Return the proofs about the partition's records, as in the report."""
        return Proofs.of(self.work, self.release, self.partition)

    @cached_property
    def blocks(self) -> pl.DataFrame:
        """Return the units of `span`, with what is proven; see `Proofs.units`."""
        return self.proofs.units(self.partition, self.records, self.span)

    @property
    def measured(self) -> Folder | None:
        """Return ``solvar/``, if it was made from these records."""
        return self.proofs.solvar

    @property
    def claims(self) -> Folder | None:
        """Return ``claims/``, if it was made from these records."""
        return self.proofs.claims

    @cached_property
    def checked(self) -> pl.DataFrame | None:
        """Return the outcome of each statement of `span`; see ``proofs/``."""
        folder = self.work.fresh(PROVE, self.partition)
        return None if isinstance(folder, Missing) else folder.read(self.partition, self.span)

    def confirmed(self, source: str) -> pl.DataFrame:
        """Return statements of a folder that have no proof, if proofs were made."""
        rows = pl.DataFrame(schema={"geoid": pl.String, "statement": pl.String})
        if self.checked is None:
            return rows
        return self.checked.filter(source=source, status="confirmed").select(rows.columns)

    @property
    def proofs_of_claims(self) -> dict[str, str]:
        """Map claims about the geounit to the sum of counts that proves each, or to its absence."""
        if self.checked is None:
            return {}
        rows = self.checked.filter(pl.col("sum").is_not_null(), geoid=self.geoid, source="claims")
        sums = rows.select("statement", "proof: " + pl.col("sum")).iter_rows()
        unproven = self.confirmed("claims").filter(geoid=self.geoid)["statement"]
        return dict(sums) | dict.fromkeys(unproven, UNCHECKED)

    @cached_property
    def claimed(self) -> pl.DataFrame | None:
        """Return what claims prove about histogram cells of `span`."""
        return self.proofs.claimed(self.partition, self.span)

    @cached_property
    def disclosures(self) -> pl.DataFrame | None:
        if self.claims is None:
            return None
        return self.work.open(CLAIMS, "disclosures").read(self.partition, self.span)

    @cached_property
    def solvar(self) -> pl.DataFrame | None:
        """Return the variability of `span`."""
        return None if self.measured is None else self.measured.read(self.partition, self.span)

    def intervals(self) -> pl.DataFrame:
        """Return intervals of the unit's histogram cells: measured, or else by propagation."""
        if self.measured is not None:
            intervals = self.work.open(SOLVAR, "intervals").read(self.partition, self.span)
        else:
            with undisturbed():
                from recon_cli.capabilities.solvar.histogram import propagated_intervals

            intervals = propagated_intervals(self.release, self.published, self.tables)
        here = intervals.filter(pl.col(self.release.geoid_column) == self.geoid)
        return here if self.claimed is None else tightened(here, self.claimed)
