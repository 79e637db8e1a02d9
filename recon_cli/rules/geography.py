"""``geography:`` certain records in places with too few people for microdata."""

from __future__ import annotations

from typing import Annotated

import polars as pl
from pydantic import Field

from recon_cli.attack.tags import PLACE
from recon_cli.pipeline.stages import RECONSTRUCT, SOLVAR
from recon_cli.rules.certain_records import certain_units
from recon_cli.rules.evidence import Evidence
from recon_cli.rules.finding import Finding, found_people
from recon_cli.rules.subject import Subject


class Geography(Subject):
    """Certain records in places with too few people for microdata.

    Attributes:
        at_least: People that a place of a published record must have.
    """

    needs = (RECONSTRUCT, SOLVAR)
    is_of_people = True

    at_least: Annotated[int, Field(ge=1)] = PLACE

    def violations(self, evidence: Evidence) -> Finding:
        """Certain records of units with fewer people."""
        proofs, gaps = evidence.proofs()
        if proofs is None:
            return Finding(gaps=gaps)
        found = Finding(gaps=(*gaps, *evidence.gaps_of_variability(proofs)))
        place = proofs.release.geoid_column
        # what a law perturbs, or nobody publishes, does not say how many people a place has
        published = pl.col("population") if evidence.is_exact else pl.lit(None, pl.Int64)
        for name in proofs.microdata.partitions:
            sizes = proofs.blocks.read(name, columns=(place, "population"))
            units = certain_units(
                proofs, name, proofs.columns, is_alone=evidence.stands_alone
            ).join(sizes.select(place, size=published), on=place, how="left")
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
