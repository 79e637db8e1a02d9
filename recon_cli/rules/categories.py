"""``categories:`` certain records with values that too few people of the country have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import polars as pl
from pydantic import Field, field_serializer

from recon_cli.attack.tags import CATEGORY, are_rare
from recon_cli.config.model import ConfigPath, Names
from recon_cli.errors import ConfigError, SourceError
from recon_cli.pipeline.stages import RECONSTRUCT, SOLVAR
from recon_cli.rules.certain_records import certain_units
from recon_cli.rules.evidence import Evidence
from recon_cli.rules.finding import Finding, found_people
from recon_cli.rules.subject import Subject
from recon_cli.schema import Release


class Categories(Subject):
    """Certain records with values that too few people of the country have.

    Attributes:
        columns: Features or recodes whose values, together, are a category.
        at_least: People of the country that a category must have.
        totals: CSV file with these columns and ``count``, the people of the country. Without it
            nothing is proven: few people of a release may be many of a country.
    """

    needs = (RECONSTRUCT, SOLVAR)
    is_of_people = True

    columns: Names
    at_least: Annotated[int, Field(ge=1)] = CATEGORY
    totals: ConfigPath | None = None

    @field_serializer("totals", when_used="json")
    def _name_of_totals(self, totals: Path | None) -> str | None:
        """Verdicts may be published, with no place of a machine."""
        return None if totals is None else totals.name

    def check(self, release: Release) -> None:
        """Refuse columns that are not in the histogram."""
        for column in self.columns:
            if column not in release.histogram:
                raise ConfigError(
                    f"columns: no column {column!r} in the histogram "
                    f"(columns: {', '.join(release.histogram)})"
                )

    def violations(self, evidence: Evidence) -> Finding:
        """Certain records with such values."""
        proofs, gaps = evidence.proofs()
        if proofs is None:
            return Finding(gaps=gaps)
        release, place = proofs.release, proofs.release.geoid_column
        if self.totals is None:
            gaps = (*gaps, "no national `totals`: within this release alone nothing is proven")
        if unseen := [name for name in self.columns if name not in proofs.columns]:
            gaps = (*gaps, f"no table shows {', '.join(unseen)}")
        found = Finding(gaps=(*gaps, *evidence.gaps_of_variability(proofs)))
        totals = None if self.totals is None else self.read_totals(self.totals, release)
        features = [release.column_groups(name).feature for name in self.columns]
        for name in proofs.microdata.partitions:
            units = certain_units(proofs, name, proofs.columns, is_alone=evidence.stands_alone)
            small = pl.DataFrame(schema={place: pl.String, "small": pl.Int64})
            if totals is not None and not unseen:
                read = dict.fromkeys((place, "certain", *features))
                records = proofs.microdata.read(name, columns=tuple(read))
                whole = units.filter(pl.col("at_least") == pl.col("people"))[place]
                is_certain = records["certain"] | records[place].is_in(whole.implode())
                rare = self.rare(release, records.filter(is_certain), totals)
                small = rare.group_by(place).agg(small=pl.len().cast(pl.Int64))
            joined = units.join(small, on=place, how="left").with_columns(
                pl.col("small").fill_null(0)
            )
            found += found_people(joined.select(place, "people", "at_most", at_least="small"))
        return found

    def rare(self, release: Release, records: pl.DataFrame, totals: pl.DataFrame) -> pl.DataFrame:
        """The records whose category has too few people of the country.

        Args:
            release: The schema.
            records: ``columns`` or their features at least.
            totals: As from `read_totals`.

        Raises:
            ConfigError: A category has no row.
        """
        try:
            return records.filter(are_rare(release, records, totals, self.at_least))
        except SourceError as error:
            raise ConfigError(f"check.rules: categories: {self.totals}: {error}") from error

    def read_totals(self, path: Path, release: Release) -> pl.DataFrame:
        """``columns`` in the types of the release, and ``count``.

        Raises:
            ConfigError: The file cannot be read, or lacks a column or a value.
        """
        try:
            read = pl.read_csv(path, infer_schema=False)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise ConfigError(
                f"check.rules: categories.totals: {path} cannot be read: {error}"
            ) from error
        if missing := [name for name in (*self.columns, "count") if name not in read.columns]:
            raise ConfigError(
                f"check.rules: categories.totals: {path} has no column {missing[0]!r} "
                f"(columns: {', '.join(read.columns)})"
            )
        labels = []
        for name in self.columns:
            groups = release.column_groups(name)
            written = [str(label).lower() for label in groups.labels]
            shown = pl.Series(list(groups.labels), dtype=groups.dtype)
            codes = pl.col(name).str.to_lowercase()
            labels.append(codes.replace_strict(pl.Series(written), shown, default=None))
        people = pl.col("count").cast(pl.Int64, strict=False)
        typed = read.select(*labels, people)
        if typed.null_count().sum_horizontal().item():
            row = typed.with_row_index().filter(pl.any_horizontal(pl.all().is_null()))["index"][0]
            raise ConfigError(
                f"check.rules: categories.totals: {path}, row {row + 1}: a value of the release in "
                "each column and a whole number of people are expected"
            )
        return typed.group_by(list(self.columns)).agg(pl.col("count").sum())
