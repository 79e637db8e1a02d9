"""``ingest:`` which published files to read, and as what.

Writes tables/ (every non-zero published count) and geounits/.

Example:
  recon ingest -c al.yaml
  recon ingest --set ingest.paths=[al2010.sf1.zip]
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from recon_cli.config.mapping import Mapping
from recon_cli.config.model import ConfigPath, ConfigPaths, Section, TableChoice
from recon_cli.errors import ConfigError
from recon_cli.schema import Release
from recon_cli.store.pieces import PIECE_PEOPLE

Absent = Literal["zero", "unpublished"]
SourceFormat = Literal[
    "sf1-legacy",
    "pl-legacy",
    "dhc-legacy",
    "tidy",
    "census-api",
    "json-stat",
    "data-census-gov",
    "factfinder",
    "nhgis",
    "nomis",
    "eurostat-tsv",
    "sdmx-csv",
    "ons-bulk",
    "ons-filtered",
    "statcan-profile",
    "long",
    "wide",
]


class Ingest(Section):
    """The section ``ingest``.

    Attributes:
        source: Format of the files.
        paths: Files, or folders of files; of legacy formats also folders of zips.
        tables: For the legacy formats: the tables to read, as in ``reconstruct``; segments without
            any of them need not be there. Default every table.
        mapping: What the files do not say themselves; `recon init` drafts it.
        absent: What a cell without a count means; default ``zero`` for ``tidy``, ``unpublished``
            for all others. For all tables, or by table, where those that are not named have zeros.
        geounits: A list of all geounits, a CSV or Parquet file with a column ``geoid``; default
            ``geounits.txt`` beside the files, if there is one. Without a list, a geounit without
            any row is taken to be empty where published zeros prove it; else one unit stands for
            all that the files do not list.
        membership: With ``areas`` in the schema: which areas each unit lies in, a CSV or Parquet
            file with a column for each level, as offices publish lookups. An empty field: outside
            that system. Without the unit's column, distinct rows are the units. It lists all of
            them, empty ones too: nobody lives in what it leaves out.
        columns: Level → its column in the membership file, where that is called something else.
        names: What people call the places, a CSV or Parquet file with columns ``geoid`` and
            ``name``; pages and ``recon show`` have the name beside the geoid. Names that
            ``mapping.geoids`` numbers are known without.
        protection: A file that declares by which law counts were suppressed, rounded or perturbed;
            default ``protection.yaml`` beside the files, if there is one.
        piece_people: About how many people a worker takes at a time; fewer need less memory.
    """

    source: SourceFormat
    paths: ConfigPaths
    tables: TableChoice | None = None
    mapping: Mapping | None = None
    absent: Absent | dict[str, Absent] | None = None
    geounits: ConfigPath | None = None
    membership: ConfigPath | None = None
    columns: dict[str, str] = Field(default_factory=dict)
    names: ConfigPath | None = None
    protection: ConfigPath | None = None
    piece_people: Annotated[int, Field(ge=1)] = PIECE_PEOPLE

    @property
    def is_legacy(self) -> bool:
        """Whether the files are a state's in a legacy layout."""
        return self.source.endswith("-legacy")

    @property
    def absent_cells(self) -> Absent | dict[str, Absent]:
        """What a cell without a count means, the default of the format included."""
        if self.absent is not None:
            return self.absent
        return "zero" if self.source == "tidy" else "unpublished"

    def complete(self, release: Release) -> Release:
        """The release with the geounits of the membership file."""
        if self.membership is None:
            if release.geography.is_nested:
                return release
            raise ConfigError(
                "membership: missing; the schema has areas, and this file says which of them each "
                f"{release.geography.unit.name} lies in"
            )
        from recon_cli.sources.membership import read_membership  # noqa: PLC0415 - loads polars

        return release.with_membership(read_membership(release, self.membership, self.columns))

    def check(self, release: Release) -> None:
        """Refuse tables that the release does not have, and a list that the files have."""
        release.select_tables(self.tables)
        if not release.geography.is_nested:
            if self.geounits is not None:
                raise ConfigError("geounits: the membership file lists every unit, leave it out")
            if self.source != "tidy":
                raise ConfigError(f"source: areas are read of tidy files, not of {self.source}")
        if self.tables is not None and not self.is_legacy:
            raise ConfigError(f"tables: of {self.source} files every table is read")
        if self.is_legacy and self.geounits is not None:
            raise ConfigError("geounits: these files name every geounit, they need no list")
        if self.protection is not None and self.source == "sf1-legacy":
            raise ConfigError("protection: counts of these files are exact")
        if (self.is_legacy or self.source == "tidy") and self.mapping is not None:
            raise ConfigError(f"mapping: {self.source} files say themselves what they count")
        for name in self.absent if isinstance(self.absent, dict) else ():
            if name not in release.table_by_name:
                raise ConfigError(f"absent: no table {name!r} in release {release.name!r}")

    def inputs(self, work: Path) -> tuple[Path, ...]:  # noqa: ARG002
        """The published files, the list of geounits, their names, and the laws."""
        beside = (self.geounits, self.membership, self.names, self.protection)
        return (*self.paths, *(each for each in beside if each is not None))
