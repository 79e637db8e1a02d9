"""Rules about people: certain records, small places, rare categories, known columns."""

from __future__ import annotations

from collections.abc import Container, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import polars as pl
from pydantic import Field, field_serializer

from recon_cli.capabilities.check.finding import Finding, difference, found_people
from recon_cli.capabilities.check.subject import Subject
from recon_cli.capabilities.check.tags import CATEGORY, PLACE, are_rare
from recon_cli.capabilities.claims import CLAIMS
from recon_cli.capabilities.findings.disclosing import alike_people, possible_cells
from recon_cli.capabilities.findings.proven import Proofs, unasked_columns
from recon_cli.capabilities.reconstruct import RECONSTRUCT
from recon_cli.capabilities.solvar import SOLVAR
from recon_cli.config.model import ConfigPath, Names
from recon_cli.errors import ConfigError, SourceError
from recon_cli.schema import Release
from recon_cli.store import Folder, Stage

if TYPE_CHECKING:  # a config has rules, and commands that judge none start fast
    from recon_cli.capabilities.check.evidence import Before, Evidence

#: Nobody violates a rule.
_NOBODY = {"at_least": pl.lit(0, pl.Int64), "at_most": pl.lit(0, pl.Int64)}


class CertainRecords(Subject):
    """Records that are in every solution.

    Attributes:
        columns: Columns of the release's histogram; default those that the tables distinguish.
    """

    needs = (RECONSTRUCT, SOLVAR)
    is_of_people = True

    columns: Names | None = None

    def stages(self, sections: Container[str]) -> tuple[Stage, ...]:
        """Add claims for columns that no other stage covers."""
        asks_claims = self.columns is not None or CLAIMS.section in sections
        return (*self.needs, CLAIMS) if asks_claims else self.needs

    def check(self, release: Release) -> None:
        _require_histogram(self.columns or (), release)

    def newly(self, now: Evidence, before: Before) -> Finding:
        found, _ = now.proofs
        columns = self.columns or (() if found is None else found.columns)
        if before.records is None or not columns:
            return self.violations(now)
        rule = self.model_copy(update={"columns": tuple(columns)})
        known, _ = before.records.proofs
        shown = columns if known is None else known.columns
        # Of a column that nothing tells of another value is as possible.
        is_told = not before.records.leaves_open(set(columns) - set(shown))
        earlier = rule.violations(before.records) if is_told else Finding()
        return difference(rule.violations(now), earlier)

    def violations(self, evidence: Evidence) -> Finding:
        proofs, gaps = evidence.proofs
        if proofs is None:
            return Finding(gaps=gaps)
        columns = self.columns or proofs.columns
        if unseen := [name for name in columns if name not in proofs.columns]:
            gaps = (*gaps, f"no table shows {', '.join(unseen)}")
        elif set(columns) == set(proofs.columns):
            gaps = (*gaps, *evidence.gaps_of_variability(proofs))
        elif not evidence.stands_alone:
            gaps = (
                *gaps,
                "of some columns claims take each unit alone: coarser levels may tell more",
            )
        found = Finding(gaps=gaps)
        for name in proofs.microdata.partitions:
            units = certain_units(evidence, proofs, name, columns)
            if proofs.claims is not None:
                units = _with_claims(units, evidence, proofs.claims, name, columns)
            found += found_people(units)
        return found


def _require_histogram(columns: Sequence[str], release: Release) -> None:
    for column in columns:
        if column not in release.histogram:
            raise ConfigError(
                f"columns: no column {column!r} in the histogram "
                f"(columns: {', '.join(release.histogram)})"
            )


def certain_units(
    evidence: Evidence, proofs: Proofs, partition: str, columns: Sequence[str]
) -> pl.DataFrame:
    """Return the geoid, ``people``, and bounds ``at_least`` and ``at_most`` of certain ones."""
    place = proofs.release.geoid_column
    units = evidence.units(proofs, partition, "exact" if evidence.stands_alone else proofs.mode)
    people = pl.max_horizontal("population", "placed").fill_null(0)
    if not columns:  # totals alone say how many there are, and nothing of anybody
        return units.select(place, people=people, **_NOBODY)
    is_whole = set(columns) == set(proofs.columns)
    is_seen = set(columns) <= set(proofs.columns)
    return units.select(
        place,
        people=people,
        at_least=pl.col("certain").cast(pl.Int64) if is_seen else pl.lit(0, pl.Int64),
        at_most=pl.min_horizontal(people, "certain_at_most") if is_whole else people,
    )


def _with_claims(
    units: pl.DataFrame, evidence: Evidence, claims: Folder, partition: str, columns: Sequence[str]
) -> pl.DataFrame:
    """Tighten the bounds by claims on exactly these columns."""
    place, spoken = units.columns[0], claims.manifest.notes["columns"]
    if not set(columns) <= set(spoken):
        return units
    about = (
        pl.col(name).is_not_null() if name in columns else pl.col(name).is_null() for name in spoken
    )
    claimed = claims.read(partition).filter(*about).group_by(place)
    sums = claimed.agg(claimed=pl.col("count").cast(pl.Int64).sum())
    complete = evidence.work.open(CLAIMS, "claim_units").read(partition)
    joined = units.join(sums, on=place, how="left").join(
        complete.select(place, is_complete=pl.col("status") == "complete"), on=place, how="left"
    )
    known = pl.col("claimed").fill_null(0)
    at_least = pl.max_horizontal("at_least", known)
    is_bound = pl.col("is_complete").fill_null(value=False) & pl.lit(evidence.stands_alone)
    at_most = pl.min_horizontal("at_most", pl.when(is_bound).then(known))
    return joined.select(
        place, "people", at_least=at_least, at_most=pl.max_horizontal(at_least, at_most)
    )


class Geography(Subject):
    """Certain records in places with too few people for microdata.

    Attributes:
        at_least: People that a place of a published record must have.
    """

    needs = (RECONSTRUCT, SOLVAR)
    is_of_people = True

    at_least: Annotated[int, Field(ge=1)] = PLACE

    def violations(self, evidence: Evidence) -> Finding:
        proofs, gaps = evidence.proofs
        if proofs is None:
            return Finding(gaps=gaps)
        found = Finding(gaps=(*gaps, *evidence.gaps_of_variability(proofs)))
        place = proofs.release.geoid_column
        # what a law perturbs, or nobody publishes, does not say how many people a place has
        published = pl.col("population") if evidence.is_exact else pl.lit(None, pl.Int64)
        for name in proofs.microdata.partitions:
            sizes = proofs.blocks.read(name, columns=(place, "population"))
            units = certain_units(evidence, proofs, name, proofs.columns).join(
                sizes.select(place, size=published), on=place, how="left"
            )
            is_small = pl.col("size") < self.at_least
            found += found_people(
                units.select(
                    place,
                    "people",
                    at_least=pl.when(is_small).then("at_least").otherwise(0),
                    at_most=pl.when(is_small.fill_null(value=True)).then("at_most").otherwise(0),
                )
            )
        return found


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
        """Return the file name of totals: verdicts may be published, without paths of a machine."""
        return None if totals is None else totals.name

    def check(self, release: Release) -> None:
        _require_histogram(self.columns, release)

    def violations(self, evidence: Evidence) -> Finding:
        proofs, gaps = evidence.proofs
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
            units = certain_units(evidence, proofs, name, proofs.columns)
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
        """Select the records whose category has too few people in the country.

        Args:
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
        """Read ``columns`` in the types of the release, and ``count``.

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


class Disclosed(Subject):
    """People for whom known columns determine another column.

    Attributes:
        kind: Kind of disclosure, as in ``disclosures/``.
        known: Greatest number of known columns.
    """

    needs = (RECONSTRUCT, SOLVAR, CLAIMS)
    is_of_people = True

    kind: Literal["attribute", "identity", "inferential"] = "attribute"
    known: Annotated[int, Field(ge=0)]

    def violations(self, evidence: Evidence) -> Finding:
        proofs, gaps = evidence.proofs
        if proofs is None:
            return Finding(gaps=gaps)
        if self.kind != "inferential":
            gaps = (*gaps, *evidence.gaps_of_variability(proofs))
        if proofs.claims is None:
            gaps = gaps if evidence.tells_nothing else (*gaps, evidence.not_done(CLAIMS))
        elif further := unasked_columns(proofs.release, proofs.claims.manifest):
            gaps = (
                *gaps,
                f"tables show {', '.join(further)}, which the schema's `histogram` lacks",
            )
        found = Finding(gaps=gaps)
        for name in proofs.microdata.partitions:
            found += found_people(self._units(evidence, proofs, name))
        return found

    def _units(self, evidence: Evidence, proofs: Proofs, partition: str) -> pl.DataFrame:
        """Return the geoid, ``people``, and bounds ``at_least`` and ``at_most`` in such groups."""
        place = proofs.release.geoid_column
        units = evidence.units(proofs, partition, proofs.mode).select(
            place,
            pl.col("population").cast(pl.Int64),  # of protected counts others may have more people
            people=pl.max_horizontal("population", "placed").fill_null(0).cast(pl.Int64),
        )
        at_least, at_most = [pl.lit(0, pl.Int64)], [pl.col("population")]
        if proofs.claims is not None:
            known = min(self.known, len(proofs.claims.manifest.notes["columns"]) - 1)
            claimed = evidence.work.open(CLAIMS, "disclosures").read(partition).filter(known=known)
            claimed = claimed.select(place, claimed=pl.col(self.kind).cast(pl.Int64))
            units = units.join(claimed, on=place, how="left")
            at_least.append(pl.col("claimed"))
        if proofs.solvar is not None and self.kind != "inferential":
            alike = self._alike(evidence, proofs, partition)
            # Where nobody can be nobody is in a group.
            nobody = units.join(alike, on=place, how="anti").select(
                place, at_least=0, at_most=0, single=0
            )
            alike = pl.concat([alike, nobody.cast(alike.schema)])
            units = units.join(alike, on=place, how="left")
            if self.kind == "attribute":
                at_least.append(pl.col("at_least"))
            at_most.append(pl.col("at_most" if self.kind == "attribute" else "single"))
        least = pl.max_horizontal(at_least)
        return units.select(
            place,
            "people",
            at_least=least,
            at_most=pl.when(pl.any_horizontal(each.is_not_null() for each in at_most)).then(
                pl.max_horizontal(least, pl.min_horizontal(at_most))
            ),
        )

    def _alike(self, evidence: Evidence, proofs: Proofs, partition: str) -> pl.DataFrame:
        """Find alike people: `recon_cli.capabilities.findings.disclosing.alike_people`."""
        cells = possible_cells(
            evidence.work.open(SOLVAR, "intervals").read(partition),
            proofs.microdata.read(partition),
            proofs.columns,
        )
        if proofs.mode != "exact" and not evidence.stands_alone:
            # Values that a unit alone attains may not be attained in its whole region.
            cells = cells.with_columns(attained=pl.col("here") > 0)
        return alike_people(proofs.release, cells, proofs.columns, self.known)
