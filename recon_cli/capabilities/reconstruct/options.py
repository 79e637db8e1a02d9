"""``reconstruct:`` which tables to use, and how.

Writes microdata/ (one row per person) and blocks/ (how each was solved). The records are tabulated
again and compared with every cell of the tables used before the stage is completed, unless
--no-verify is given.

Example:
  recon reconstruct -c al.yaml
  recon reconstruct --tables block --work work/b
  recon reconstruct --engine cp-sat -c al.yaml
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from recon_cli.config.model import Section, TableChoice
from recon_cli.schema import Release


class Reconstruct(Section):
    """The section ``reconstruct``.

    Attributes:
        tables: Tables, by name or by their finest level: ``block+tract`` for those down to blocks
            or tracts. Default: every table.
        seed: Selects one of several solutions; default the run's seed.
        assumptions: Use structural zeros that the schema merely assumes.
        objective: Kind of solution: ``any``, or a ``likely`` one, under which the published counts
            are likeliest. Default: ``likely`` where the protection makes some solutions likelier
            than others.
        engine: ``auto``, or a single engine, which then solves the program of the 2010 Census study
            by itself (NBER WP 31995, Eq. 4.4 and 4.5). Its solution is used, and proofs are made as
            with ``auto``; if it runs out of time, the units are undecided.
        within: Value to take where the tables fix only a group of values: ``lowest``, ``middle`` or
            ``random``; an engine other than ``auto`` makes its own choice.
        verify: Tabulate the result again and compare before it is stored.
    """

    tables: TableChoice | None = None
    seed: Annotated[int, Field(ge=0)] | None = None
    assumptions: bool = True
    objective: Literal["any", "likely"] | None = None
    engine: Literal["auto", "cp-sat", "highs", "scip"] = "auto"
    within: Literal["lowest", "random", "middle"] = "lowest"
    verify: bool = True

    def check(self, release: Release) -> None:
        release.select_tables(self.tables)
