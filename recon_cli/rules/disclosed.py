"""``disclosed:`` people of whom known columns settle another one."""

from __future__ import annotations

from typing import Annotated, Literal

import polars as pl
from pydantic import Field

from recon_cli.evaluate.disclosing import alike_people, possible_cells
from recon_cli.evaluate.proven import Proofs
from recon_cli.pipeline.stages import CLAIMS, RECONSTRUCT, SOLVAR
from recon_cli.rules.evidence import Evidence
from recon_cli.rules.finding import Finding, found_people
from recon_cli.rules.subject import Subject


class Disclosed(Subject):
    """People of whom known columns settle another one.

    Attributes:
        kind: Which disclosure, as in ``disclosures/``.
        known: At most so many columns of a person are known.
    """

    needs = (RECONSTRUCT, SOLVAR, CLAIMS)
    is_of_people = True

    kind: Literal["attribute", "identity", "inferential"] = "attribute"
    known: Annotated[int, Field(ge=0)]

    def violations(self, evidence: Evidence) -> Finding:
        """People in disclosing groups."""
        proofs, gaps = evidence.proofs()
        if proofs is None:
            return Finding(gaps=gaps)
        if self.kind != "inferential":
            gaps = (*gaps, *evidence.gaps_of_variability(proofs))
        if proofs.claims is None:
            gaps = (*gaps, evidence.not_done(CLAIMS))
        elif further := set(proofs.claims.manifest.notes["columns"]) - set(proofs.columns):
            named = ", ".join(sorted(further))
            gaps = (*gaps, f"tables show {named}, which the schema's histogram leaves out")
        found = Finding(gaps=gaps)
        for name in proofs.microdata.partitions:
            found += found_people(self._units(evidence, proofs, name))
        return found

    def _units(self, evidence: Evidence, proofs: Proofs, partition: str) -> pl.DataFrame:
        """The geoid, ``people``, ``at_least`` and ``at_most`` of them in disclosing groups."""
        place = proofs.release.geoid_column
        units = proofs.units(partition, proofs.microdata.read(partition)).select(
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
        """See `recon_cli.evaluate.disclosing.alike_people`."""
        cells = possible_cells(
            evidence.work.open(SOLVAR, "intervals").read(partition),
            proofs.microdata.read(partition),
            proofs.columns,
        )
        if proofs.mode != "exact" and not evidence.stands_alone:
            # What a unit alone attains the whole may not.
            cells = cells.with_columns(attained=pl.col("here") > 0)
        return alike_people(cells, proofs.columns, self.known)
