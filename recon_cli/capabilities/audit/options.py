"""``audit:`` the values that suppressed, rounded and omitted counts can take, given all others.

Writes audit/: for every count that is not published exactly, or is omitted from a table that gives
other counts of that place, the least and the greatest value in any solution of all tables and
levels together. The count is recovered (one value is possible), narrowed (the possible values are
closer together than `audit.safety`, by default what the rule of its protection requires), safe (two
known solutions have values far enough apart), or undecided. Needs tables/ (`recon ingest`), but no
reconstruction.

Example:
  recon audit -c hospital.yaml
  recon audit --safety 3
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from recon_cli.config.model import AnyNames, Section, TableChoice, check_levels
from recon_cli.errors import ConfigError
from recon_cli.schema import Release


class Audit(Section):
    """The section ``audit``.

    Attributes:
        tables: Tables that an attacker uses, as in ``reconstruct``. Default: every table.
        safety: Required distance between two possible values of a safe count. Default: what
            the rule of its protection requires (docs/protected.md).
        ask: Levels at which every cell is audited, even cells not published there; for example the
            units that result where areas overlap.
        region_seconds: Budget of each region, in seconds of solver work, not of clock time. A
            region of over 50,000 variables (such as tables of 2,500 schools) gets proportionally
            more.
        seed: Seed of the solver; default the run's seed.
    """

    tables: TableChoice | None = None
    safety: Annotated[int, Field(ge=1)] | None = None
    ask: AnyNames = ()
    region_seconds: Annotated[float, Field(gt=0)] = 120.0
    seed: Annotated[int, Field(ge=0)] | None = None

    def check(self, release: Release) -> None:
        """Refuse unknown tables and levels, and a choice of tables beside statistics."""
        if release.statistics and (self.tables is not None or self.ask):
            raise ConfigError(
                "tables, ask: all tables are used where statistics are printed beside counts; "
                "take others out of schema and files"
            )
        release.select_tables(self.tables)
        check_levels(self.ask, release, "ask")
