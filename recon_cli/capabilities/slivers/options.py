"""``slivers:`` which small groups of people overlapping areas give away.

Writes slivers/: for each unit the least populated group around it whose count is a sum and
difference of areas' totals, if it is small; and sliver_counts/, what the tables then say of it.

Example:
  recon slivers -c recon.yaml
  recon slivers --set slivers.below=5
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from recon_cli.config.model import Section, TableChoice
from recon_cli.schema import Release


class Slivers(Section):
    """The section ``slivers``.

    Attributes:
        below: A group of fewer people is small.
        tables: Whose counts of such groups are written, as in ``reconstruct``. Default: every
            table.
    """

    below: Annotated[int, Field(ge=2)] = 10
    tables: TableChoice | None = None

    def check(self, release: Release) -> None:
        """Refuse unknown tables."""
        release.select_tables(self.tables)
