"""``round:`` rounding of counts.

Writes rounded/, a tidy publication with its protection.yaml, which recon ingest reads. With
round.geounits it also has the list of all units. private/round/ has its accuracy, the full
manifest, and the secret key that later tables need.

Example:
  recon protect round -c nation.yaml
  recon protect round --base 5 --work work/rr5
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from recon_cli.capabilities.protect.sections import PerturbingCounts
from recon_cli.config.model import Names, check_levels
from recon_cli.schema import Release


class Round(PerturbingCounts):
    """The section ``round``.

    Attributes:
        base: Every count becomes a multiple of this number.
        how: ``nearest``: to the nearest multiple; ``random``: to either neighbour, without bias;
            ``controlled``: to either, keeping the tables of a geounit additive.
        keys: ``records``: equal sets of records are rounded alike everywhere; ``cells``: each cell
            by itself; an attacker can then average the copies of a count.
        levels: Levels to round; counts at other levels stay exact; default all.
    """

    base: Annotated[int, Field(ge=2)] = 3
    how: Literal["nearest", "random", "controlled"] = "random"
    keys: Literal["records", "cells"] = "records"
    levels: Names | None = None

    def check(self, release: Release) -> None:
        super().check(release)
        check_levels(self.levels, release)
