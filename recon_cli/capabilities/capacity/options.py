"""``capacity:`` how much the tables reveal, and how much noise they would need.

Writes capacity/: the number of independent cells by exact rank, the number of unknowns with and
without those that zeros exclude, the bits in the records and in the counts, three estimates of the
noise needed, and a page.

Example:
  recon plan capacity -c al.yaml
  recon plan capacity --tables block
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from recon_cli.config.model import Section, TableChoice
from recon_cli.schema import Release

Share = Annotated[float, Field(gt=0, lt=1, strict=False)]
Deviation = Annotated[float, Field(gt=0, strict=False)]


class Capacity(Section):
    """The section ``capacity``.

    Attributes:
        tables: Tables, by name or by their finest level: ``block+tract`` for those down to blocks
            or tracts. Default: every table.
        right: Limits, above 0.5, on the probability that an attacker tells two records apart.
        shares: Shares of the records' bits that may be revealed.
        gain: Largest gain allowed to an attacker's decoder, relative to its success without tables.
        sd: Standard deviations of noise to simulate.
        simulated_units: Number of units to simulate.
        seed: Seed of the simulation; default the run's seed.
    """

    tables: TableChoice | None = None
    right: Annotated[
        tuple[Annotated[float, Field(gt=0.5, lt=1)], ...], Field(strict=False, min_length=1)
    ] = (0.55, 0.6, 0.75)
    shares: Annotated[tuple[Share, ...], Field(strict=False, min_length=1)] = (0.5, 0.1)
    gain: Annotated[float, Field(gt=0, strict=False)] = 0.1
    sd: Annotated[tuple[Deviation, ...], Field(strict=False, min_length=1)] = (
        *(0.1, 0.5, 1.0, 2.0),
        *(5.0, 10.0, 20.0, 50.0),
    )
    simulated_units: Annotated[int, Field(ge=1)] = 25
    seed: Annotated[int, Field(ge=0)] | None = None

    def check(self, release: Release) -> None:
        release.select_tables(self.tables)
