"""``attribute:`` people whom somebody knows, and what the tables prove of them.

Of each person in the attackers' files some columns are known. Writes private/attribute/: who has
which further value in every solution, and the published counts that leave no other. Names stay
there: what is printed are numbers, and no page shows any.

Example:
  recon attribute -c school.yaml
  recon attribute --set attribute.attackers.LIST=list.csv
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field

from recon_cli.capabilities.link.options import AttackerFile
from recon_cli.config.model import Section


def _file(value: object) -> object:
    """A path alone is a file with the release's own columns and values."""
    return value if isinstance(value, dict) else {"path": value}


class Attribute(Section):
    """The section ``attribute``.

    Attributes:
        attackers: By name: a path; or ``path``, ``columns``, ``values``, ``id`` and ``sheet`` of a
            file with other headers and codes, as in ``link``. No truth is needed.
        id: Column that says who somebody is.
        reasons: For so many groups of people the counts are looked for that leave no other value.
        seed: For the solver's own choices; default the run's seed.
    """

    attackers: dict[str, Annotated[AttackerFile, BeforeValidator(_file)]]
    id: str = "name"
    reasons: Annotated[int, Field(ge=0)] = 100
    seed: Annotated[int, Field(ge=0)] | None = None

    def inputs(self, work: Path) -> tuple[Path, ...]:  # noqa: ARG002
        """The files that it names."""
        return tuple(file.path for file in self.attackers.values())
