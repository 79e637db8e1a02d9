"""``capacity:`` what the tables carry, and how much noise they would need.

Writes capacity/: independent cells by exact rank, unknowns before and after zeros, bits of
the records and of the counts, three figures of the noise needed, and a page.

Example:
  recon plan capacity -c al.yaml
  recon plan capacity --set capacity.tables=block
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
        tables: Finest levels joined by ``+``, or table names. Default: every table.
        right: How often an attacker may tell two records apart, each above 0.5.
        shares: Which shares of the records' bits may get through.
        gain: What our decoder may gain over knowing no table, as a share of what it knows then.
        sd: Standard deviations that the decoder tries.
        simulated_units: Units that it tries them on.
        seed: Of the simulation; default the run's seed.
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
        """Refuse unknown tables and levels."""
        release.select_tables(self.tables)
