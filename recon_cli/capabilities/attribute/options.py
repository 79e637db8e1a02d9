"""``attribute:`` known people, and the values that the tables prove about them.

The attackers' files have some columns of each person. Writes private/attribute/: the further
values that each person has in every solution, and the published counts that prove them. Names stay
there: only numbers are printed, and no page shows names.

Example:
  recon attribute -c school.yaml
  recon attribute --set attribute.attackers.LIST=list.csv
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field

from recon_cli.capabilities.link.options import AttackerFile
from recon_cli.capabilities.records.records_file import as_records_file
from recon_cli.config.model import Section


class Attribute(Section):
    """The section ``attribute``.

    Attributes:
        attackers: Name → a path, or ``path``, ``columns``, ``values``, ``id`` and ``sheet`` of a
            file with other headers and codes, as in ``link``. The true records are not needed.
        id: Column that identifies a person.
        reasons: Number of groups of people for which to find the counts that prove their values.
        seed: Seed of the solver; default the run's seed.
    """

    attackers: dict[str, Annotated[AttackerFile, BeforeValidator(as_records_file)]]
    id: str = "name"
    reasons: Annotated[int, Field(ge=0)] = 100
    seed: Annotated[int, Field(ge=0)] | None = None

    def inputs(self, work: Path) -> tuple[Path, ...]:  # noqa: ARG002
        return tuple(file.path for file in self.attackers.values())
