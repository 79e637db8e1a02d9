"""``audit:`` what the other counts give away of each suppressed, rounded or left out one.

Writes audit/: for every count that is not published exactly, or left out of a table that has
others of its place, the least and the greatest that any solution has, over all tables and
levels together, and whether it is recovered (one count is left), narrowed (those left lie
closer together than its law requires, or `audit.safety`), or safe (two solutions are known
that are far enough apart).
Needs tables/ (`recon ingest`), no reconstruction.

Example:
  recon audit -c hospital.yaml
  recon audit --set audit.safety=3
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from recon_cli.config.model import AnyNames, Section, TableChoice, check_levels
from recon_cli.schema import Release


class Audit(Section):
    """The section ``audit``.

    Attributes:
        tables: What an attacker uses, as in ``reconstruct``. Default: every table.
        safety: A cell is safe if two possible counts of it are at least so far apart. Default:
            what the law of each requires (docs/protected.md).
        ask: Levels, such as the units that areas cut each other into: of each of their geounits
            every cell of the tables is asked for, whether published there or not.
        region_seconds: Budget of each region, in deterministic seconds.
        seed: For the solver's own choices; default the run's seed.
    """

    tables: TableChoice | None = None
    safety: Annotated[int, Field(ge=1)] | None = None
    ask: AnyNames = ()
    region_seconds: Annotated[float, Field(gt=0)] = 120.0
    seed: Annotated[int, Field(ge=0)] | None = None

    def check(self, release: Release) -> None:
        """Refuse unknown tables and levels."""
        release.select_tables(self.tables)
        check_levels(self.ask, release, "ask")
