"""``certain_records:`` records that are in every solution."""

from __future__ import annotations

from collections.abc import Container, Sequence

import polars as pl

from recon_cli.config.model import Names
from recon_cli.errors import ConfigError
from recon_cli.evaluate.proven import Proofs, placed_records, proven_units
from recon_cli.pipeline.stages import CLAIMS, RECONSTRUCT, SOLVAR
from recon_cli.rules.evidence import Before, Evidence
from recon_cli.rules.finding import Finding, difference, found_people
from recon_cli.rules.subject import Subject
from recon_cli.schema import Release
from recon_cli.store import Folder, Stage


class CertainRecords(Subject):
    """Records that are in every solution.

    Attributes:
        columns: Of the release's histogram; default those that the tables show.
    """

    needs = (RECONSTRUCT, SOLVAR)
    is_of_people = True

    columns: Names | None = None

    def stages(self, sections: Container[str]) -> tuple[Stage, ...]:
        """Claims tell of some columns what no other stage does."""
        asks_claims = self.columns is not None or CLAIMS.section in sections
        return (*self.needs, CLAIMS) if asks_claims else self.needs

    def check(self, release: Release) -> None:
        """Refuse columns that are not in the histogram."""
        for column in self.columns or ():
            if column not in release.histogram:
                raise ConfigError(
                    f"columns: no column {column!r} in the histogram "
                    f"(columns: {', '.join(release.histogram)})"
                )

    def newly(self, now: Evidence, before: Before) -> Finding:
        """Records that are certain with the candidate, on the columns that all tables show."""
        found, _ = now.proofs()
        columns = self.columns or (() if found is None else found.columns)
        if before.records is None or not columns:
            return self.violations(now)
        rule = self.model_copy(update={"columns": tuple(columns)})
        known, _ = before.records.proofs()
        shown = columns if known is None else known.columns
        # Of a column that nothing tells of another value is as possible.
        is_told = not before.records.leaves_open(set(columns) - set(shown))
        earlier = rule.violations(before.records) if is_told else Finding()
        return difference(rule.violations(now), earlier)

    def violations(self, evidence: Evidence) -> Finding:
        """Records that are certain on the columns."""
        proofs, gaps = evidence.proofs()
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
            units = certain_units(proofs, name, columns, is_alone=evidence.stands_alone)
            if proofs.claims is not None:
                units = _with_claims(units, evidence, proofs.claims, name, columns)
            found += found_people(units)
        return found


def certain_units(
    proofs: Proofs, partition: str, columns: Sequence[str], *, is_alone: bool
) -> pl.DataFrame:
    """The geoid, ``people``, ``at_least`` and ``at_most`` of them certain on the columns."""
    place = proofs.release.geoid_column
    records = proofs.microdata.read(partition, columns=(place, "certain"))
    units = proven_units(
        proofs.blocks.read(partition),
        placed_records(proofs.release, records),
        None if proofs.solvar is None else proofs.solvar.read(partition),
        proofs.claimed(partition),
        "exact" if is_alone else proofs.mode,
    )
    people = pl.max_horizontal("population", "placed").fill_null(0)
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
    """The same, tightened by claims on just these columns."""
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
