"""``contributions:`` which parts of a publication to leave out, and how hard to attack the rest.

Writes contributions/: for each part, how many certain people, disclosed people and proven claims
remain without it, and how many it adds; sorted by what each adds. Total populations remain known.

Example:
  recon contributions -c clinic.yaml --parts features
  recon contributions --orders 20
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from recon_cli.config.model import Names, Section, TableChoice
from recon_cli.errors import ConfigError
from recon_cli.schema import Release


class Contributions(Section):
    """The section ``contributions``.

    Attributes:
        tables: The published tables, as in ``reconstruct``; default every table.
        parts: Parts to leave out, one at a time: ``tables`` (including printed statistics),
            ``levels``, or ``features`` (for each, all cells and statistics that tell its values
            apart).
        without: Name → tables to leave out together, for further rows of the result.
        orders: Number of random orders for Shapley values; 0 for none.
        unit_seconds: Budget of each unit's claims, in seconds of solver work, not of clock time.
        seed: Seed of the orders and of the solvers; default the run's seed.
    """

    tables: TableChoice | None = None
    parts: Literal["tables", "levels", "features"] = "tables"
    without: dict[str, Names] = Field(default_factory=dict)
    orders: Annotated[int, Field(ge=0)] = 0
    unit_seconds: Annotated[float, Field(gt=0)] = 2.0
    seed: Annotated[int, Field(ge=0)] | None = None

    def check(self, release: Release) -> None:
        if release.statistics and self.tables is not None:
            raise ConfigError(
                "tables: all tables are used where statistics are printed beside counts"
            )
        release.select_tables(self.tables)
        for name, tables in self.without.items():
            for table in tables:
                if table not in {*release.table_by_name, *release.statistic_by_name}:
                    raise ConfigError(
                        f"without.{name}: no table {table!r} in release {release.name!r} "
                        f"(tables: {', '.join(release.table_by_name)})"
                    )
