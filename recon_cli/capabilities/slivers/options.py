"""``slivers:`` small groups of people that overlapping areas reveal by subtraction.

Writes slivers/: for each unit the smallest group around it whose count follows by adding and
subtracting totals of areas, if that group has fewer people than `below`; and sliver_counts/, the
counts of these groups that follow from the tables.

Example:
  recon slivers -c recon.yaml
  recon slivers --below 5
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from recon_cli.config.model import Section, TableChoice
from recon_cli.schema import Release


class Slivers(Section):
    """The section ``slivers``.

    Attributes:
        below: Number of people below which a group is small.
        tables: Tables from which counts of such groups are computed, as in ``reconstruct``.
            Default: every table.
    """

    below: Annotated[int, Field(ge=2)] = 10
    tables: TableChoice | None = None

    def check(self, release: Release) -> None:
        release.select_tables(self.tables)
