"""``ingest:`` which published files to read, and as what.

Writes tables/ (every non-zero published count) and geounits/.

Example:
  recon ingest -c al.yaml
  recon ingest --paths al2010.sf1.zip
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, Literal, Self

from pydantic import BeforeValidator, Field, ValidationError, field_validator, model_validator

from recon_cli.config.model import (
    ConfigModel,
    ConfigPath,
    ConfigPaths,
    Section,
    TableChoice,
    as_list,
    keys_as_text,
)
from recon_cli.coverage import PROTECTION, UNIT_LIST
from recon_cli.deprecation import Former
from recon_cli.errors import ConfigError
from recon_cli.schema import Release
from recon_cli.schema.register import register_spec
from recon_cli.schema.validation import describe
from recon_cli.stage import undisturbed
from recon_cli.store.pieces import PIECE_PEOPLE


def _text(value: object) -> object:
    """Keep numbers that YAML has read as the text that they are in the files."""
    many = value if isinstance(value, list | tuple) else [value]
    return as_list([str(each) if type(each) is int else each for each in many])


#: Between a place and what it is part of, as `recon_cli.sources.formats.sheet` writes them.
PART_OF = " / "

Columns = Annotated[dict[str, str | None], BeforeValidator(keys_as_text)]
Texts = Annotated[tuple[str, ...], Field(strict=False), BeforeValidator(_text)]
Reason = Annotated[str, Field(pattern=r"\S")]
Counted = Annotated[dict[str, Texts], BeforeValidator(keys_as_text)]
HeaderRows = Annotated[
    tuple[Annotated[int, Field(ge=1)], ...],
    Field(strict=False),
    BeforeValidator(lambda value: [value] if isinstance(value, int) else value),
]


def _current(source: object) -> object:
    """Return the format that a format of an earlier version is now."""
    former = next((each for each in FORMER_SOURCES if each.spelling.endswith(f" {source}")), None)
    if former is None:
        return source
    former.warn()
    return former.now.rpartition(" ")[2]


class Dimension(ConfigModel):
    """A dimension column.

    Attributes:
        feature: The feature or recode that it is of; nothing for one that is left out.
        values: Code or label → value of the feature or group of the recode, or ``total``.
    """

    feature: str | None = None
    values: Annotated[dict[str, str], BeforeValidator(keys_as_text)] = Field(default_factory=dict)


class Percentages(ConfigModel):
    """A column of percentages.

    Attributes:
        of: Header of the column of counts that they are the share of.
        base: Header of the column of counts that they are the share among.
        times: What they are printed per: 100, or 1000 of a rate.
    """

    of: str
    base: str
    times: Annotated[int, Field(ge=1)] = 100


class Statistics(ConfigModel):
    """A column of means, medians or the like.

    Attributes:
        table: The table of statistics of the schema that it is printed in.
        of: Header of the column of counts whose people it is the statistic of.
    """

    table: str
    of: str


class Mapping(ConfigModel):
    """What the files do not say themselves.

    Attributes:
        sheet: For a workbook: the sheets to read, one or a list; default all that are not hidden.
        header: Numbers of the header rows, from 1.
        place: Header of the column with the geoids.
        parent: Headers of the columns that say what a place is part of, the largest first.
        place_per_sheet: For a workbook: each sheet is about one place, which it is called by.
        above: For a sheet that is read by its numbers: rows stand in blocks, each below a row that
            names their ``place``, or the ``kind`` of people counted there.
        geoids: What stands in that column → its geoid, where places have names and no codes.
        levels: Read only the rows of these levels.
        where: Header → the values of that column whose rows are read.
        columns: Header of a column of counts → code of its cell; nothing to leave it out.
        leave_out: Header of a column of numbers, or of one that ``where`` chooses rows by, or name
            of a sheet → why what is left out of it gives nothing away. Without a reason of yours
            no rule of `recon check` is kept.
        columns_of: File name → ``columns`` of that file alone, where files share headers.
        dimensions: Header of a dimension column → how it is read.
        labels: For a sheet that is read by its numbers: whom its labels count. By where they stand
            (``columns``, ``rows``, or the header of a dimension column): label → feature → value,
            several values, or a group of a recode; ``{}`` counts everybody.
        percentages: For such a sheet: header of a column of percentages → the counts that they are
            the share ``of``, and the ``base`` that they are the share among; where the share is
            withheld and the base is exact, they narrow it.
        statistics: For such a sheet: header of a column of means, medians, minima or maxima → the
            ``table`` of the schema that it is, and the counts ``of`` whose people it is.
        table: The table that all counts are of.
        tables: Sheet of a workbook, or name of a file, → the table that its counts are of.
        thousands: What is between groups of three digits.
        parentheses: For a sheet that is read by its numbers: whether ``(9)`` among its counts is 9
            (``numbers``), or stands for what is withheld.
        unpublished: Texts in place of a count that is not published.
        zeros: For a sheet that is read by its numbers: texts that stand for nobody.
    """

    sheet: Texts = ()
    header: HeaderRows = ()
    place: str | None = None
    parent: Texts = ()
    place_per_sheet: bool = False
    above: Literal["place", "kind"] | None = None
    geoids: Annotated[dict[str, str], BeforeValidator(keys_as_text)] = Field(default_factory=dict)
    levels: Texts = ()
    where: Annotated[dict[str, Texts], BeforeValidator(keys_as_text)] = Field(default_factory=dict)
    columns: Columns = Field(default_factory=dict)
    leave_out: Annotated[dict[str, Reason], BeforeValidator(keys_as_text)] = Field(
        default_factory=dict
    )
    columns_of: dict[str, Columns] = Field(default_factory=dict)
    dimensions: dict[str, Dimension] = Field(default_factory=dict)
    labels: dict[str, dict[str, Counted]] = Field(default_factory=dict)
    percentages: Annotated[dict[str, Percentages], BeforeValidator(keys_as_text)] = Field(
        default_factory=dict
    )
    statistics: Annotated[dict[str, Statistics], BeforeValidator(keys_as_text)] = Field(
        default_factory=dict
    )
    table: str | None = None
    tables: Annotated[dict[str, str], BeforeValidator(keys_as_text)] = Field(default_factory=dict)
    thousands: Annotated[str, Field(min_length=1, max_length=1)] | None = None
    parentheses: Literal["numbers", "withheld"] | None = None
    unpublished: Texts = ()
    zeros: Texts = ()

    @field_validator("geoids")
    @classmethod
    def _are_geoids(cls, geoids: dict[str, str]) -> dict[str, str]:
        for name, geoid in geoids.items():
            if not geoid.isalnum() or not geoid.isascii():
                raise ValueError(f"{geoid!r} of {name!r} is no geoid: letters and digits only")
        return geoids


Absent = Literal["zero", "unpublished"]
SourceFormat = Literal[
    "sf1-legacy",
    "pl-legacy",
    "dhc-legacy",
    "tidy",
    "register",
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
    "sheet",
]
#: What the source of sheets was called in version 0.2.
FORMER_SOURCES: Final = tuple(
    Former(f"ingest.source: {source}", "ingest.source: sheet", since="0.3")
    for source in ("wide", "long")
)


class Ingest(Section):
    """The section ``ingest``.

    Attributes:
        source: Format of the files; ``register`` for several publications listed in one file: that
            file is the only path, and says how to read each.
        paths: Files, or folders of files; for the Census Bureau's legacy formats also folders of
            zips.
        tables: For the legacy formats: the tables to read, as in ``reconstruct``; files (segments)
            with none of them may be missing. Default every table.
        mapping: What the files do not say themselves; `recon init` drafts it.
        absent: What a cell without a count means; default ``zero`` for ``tidy``, ``unpublished``
            for all others. One value for all tables, or one per table; tables that such a list
            omits have ``zero``.
        geounits: A list of all geounits, a CSV or Parquet file with a column ``geoid``; default
            ``geounits.txt`` beside the files, if there is one. Without a list, geounits without a
            row count as empty if published zeros prove it; otherwise one placeholder stands for all
            that a larger geounit may contain.
        membership: With ``areas`` in the schema: a CSV or Parquet file with the areas that each
            unit lies in, a column for each level, like an office's lookup file. An empty field: the
            unit is outside that system of areas. Without a column for the unit, each distinct row
            is a unit. List every unit, empty ones too: one left out is taken to be uninhabited. For
            several files that list the same units, give a mapping: file → level → the level's
            column.
        columns: Level → its column in the membership file, if the names differ.
        names: Names of the places, a CSV or Parquet file with columns ``geoid`` and
            ``name``; pages and ``recon show`` print the name beside the geoid. Names listed
            in ``mapping.geoids`` need not be in this file.
        protection: A file that declares the rule or distribution by which counts were suppressed,
            rounded or perturbed; default ``protection.yaml`` beside the files, if there is one.
        piece_people: Approximate number of people that a worker takes at a time; fewer need less
            memory.
    """

    source: Annotated[SourceFormat, BeforeValidator(_current)]
    paths: ConfigPaths
    tables: TableChoice | None = None
    mapping: Mapping | None = None
    absent: Absent | dict[str, Absent] | None = None
    geounits: ConfigPath | None = None
    membership: ConfigPath | dict[ConfigPath, dict[str, str]] | None = None
    columns: dict[str, str] = Field(default_factory=dict)
    names: ConfigPath | None = None
    protection: ConfigPath | None = None
    piece_people: Annotated[int, Field(ge=1)] = PIECE_PEOPLE

    @property
    def is_legacy(self) -> bool:
        """Report whether the files are a state's in a legacy layout."""
        return self.source.endswith("-legacy")

    @property
    def is_register(self) -> bool:
        """Report whether a register lists the files."""
        return self.source == "register"

    @property
    def publications(self) -> dict[str, Ingest]:
        """Map the publications of a register to how each is read; empty for other sources.

        Raises:
            ConfigError: Something in the register is wrong.
        """
        if not self.is_register:
            return {}
        if len(self.paths) != 1:
            raise ConfigError("paths: of a register its file is the only one")
        path = self.paths[0]
        found = {}
        for each in register_spec(path).publications:
            where = f"{path}: {each.name}: ingest"
            try:
                own = Ingest.model_validate(each.ingest, context={"base": path.parent})
            except ValidationError as error:
                raise ConfigError(f"{where}: {describe(error, Ingest)}") from error
            if own.is_register or own.is_legacy or own.membership or own.geounits:
                raise ConfigError(
                    f"{where}: no register and no legacy files; membership and geounits are said "
                    "in the config"
                )
            found[each.name] = own
        return found

    @model_validator(mode="after")
    def _columns_once(self) -> Self:
        if self.columns and isinstance(self.membership, dict):
            raise ValueError("columns: each membership file says its own")
        return self

    @property
    def lookups(self) -> dict[Path, dict[str, str]]:
        """Map each membership file to levels whose columns have other names there."""
        if isinstance(self.membership, dict):
            return self.membership
        return {} if self.membership is None else {self.membership: self.columns}

    @property
    def unit_list(self) -> Path | None:
        """Return the list of geounits that is named, or the one beside the published files.

        A list beside some of the files says nothing of places that only the others may have.
        """
        if self.geounits is not None or self.is_legacy or self.lookups:
            return self.geounits
        folders = {path if path.is_dir() else path.parent for path in self.paths}
        beside = folders.pop() / UNIT_LIST
        return beside if not folders and beside.is_file() else None

    @property
    def laws_file(self) -> Path | None:
        """Return the protection file that is named, or the one beside the published files."""
        if self.protection is not None or self.source in ("sf1-legacy", "register"):
            return self.protection
        folders = [path if path.is_dir() else path.parent for path in self.paths]
        return next((each for each in (f / PROTECTION for f in folders) if each.is_file()), None)

    @property
    def absent_cells(self) -> Absent | dict[str, Absent]:
        """Return what a cell without a count means, the default of the format included."""
        if self.absent is not None:
            return self.absent
        return "zero" if self.source == "tidy" else "unpublished"

    def complete(self, release: Release) -> Release:
        """Return the release with the geounits of the membership files."""
        if not self.lookups:
            if release.geography.is_nested:
                return release
            raise ConfigError(
                "membership: missing; the schema has areas, and this file says which of them each "
                f"{release.geography.unit.name} lies in"
            )
        with undisturbed():
            from recon_cli.capabilities.ingest.membership import read_membership

        return release.with_membership(read_membership(release, self.lookups))

    def check(self, release: Release) -> None:
        """Refuse tables that the release does not have, and a list that the files have."""
        release.select_tables(self.tables)
        self._check_register(release)
        self._check_statistics(release)
        if not release.geography.is_nested:
            if self.geounits is not None:
                raise ConfigError("geounits: the membership file lists every unit, leave it out")
            if self.source not in ("tidy", "register"):
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

    def _check_statistics(self, release: Release) -> None:
        if release.statistics and self.source not in ("tidy", "sheet"):
            raise ConfigError(
                f"source: statistics are read of tidy files and sheets, not of {self.source}; take "
                f"{release.statistics[0].name} out of the schema, or write a tidy file"
            )

    def _check_register(self, release: Release) -> None:
        if bool(release.publications) != self.is_register:
            raise ConfigError(
                "source: a release that is a register is read as `register`, and no other is"
            )
        if self.is_register and any((self.mapping, self.protection, self.absent)):
            raise ConfigError("source: mapping, protection and absent are said in the register")

    def inputs(self, work: Path) -> tuple[Path, ...]:
        """Return the published files, the list of geounits, their names, and the laws."""
        beside = (self.geounits, *self.lookups, self.names, self.protection)
        own = [path for each in self.publications.values() for path in each.inputs(work)]
        return (*self.paths, *(each for each in beside if each is not None), *own)
