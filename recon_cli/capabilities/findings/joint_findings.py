"""Joint findings: proofs from several releases of the same places, and who lives with whom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import polars as pl

from recon_cli.store import Manifest

#: Counts of each kind of records.
COUNTED: Final = ("records", "alone", "joint")
#: Statuses of places where a joint solution was found.
SOLVED: Final = ("proven", "bounded")


def are_all_open(manifest: Manifest) -> bool:
    """Test whether no place of ``joint/`` has bounded records, so that none is counted."""
    units: int = manifest.totals["units"]
    return 0 < units == manifest.statuses.get("open", 0)


def shown_parts(manifest: Manifest) -> tuple[str, str]:
    """Return the names of the run's own records, and of its partner's, in the links of ``joint/``.

    Further parts only add information about these.
    """
    own, partner = manifest.notes["parts"][:2]
    return str(own), str(partner)


@dataclass(frozen=True)
class DivisionFindings:
    """The findings about who lives with whom.

    Attributes:
        certain: Records of the partner that are in every solution with every member.
        proven: Places where nothing else is certain with every member.
        unique: Places with records of the partner, all certain with every member.
        asked: Places where a division was sought.
    """

    certain: int
    proven: int
    unique: int
    asked: int

    @classmethod
    def of(cls, units: pl.DataFrame) -> DivisionFindings:
        """Sum rows of ``joint_units/``."""
        division = units["division"]
        return cls(
            int(units["certain_with_members"].sum()),
            int((division == "proven").sum()),
            int(units["is_division_unique"].sum()),
            int(division.is_in(["proven", "bounded", "undecided"]).sum()),
        )


@dataclass(frozen=True)
class JointFindings:
    """The results of `recon joint`.

    Attributes:
        by_size: By ``size`` of a place, the first row over all: ``places``, and for each reported
            part ``<part>_records``, ``<part>_alone``, ``<part>_joint``.
        worst: Rows of ``joint_units/`` of the places with most records certain only together, with
            their ``geoid``; none where places may not be named.
        divisions: Who lives with whom; None if this was not asked for.
    """

    manifest: Manifest
    by_size: pl.DataFrame
    worst: pl.DataFrame
    divisions: DivisionFindings | None = None

    @property
    def shown_parts(self) -> tuple[str, str]:
        return shown_parts(self.manifest)

    @property
    def solved(self) -> int:
        """Count places with a joint solution."""
        return sum(self.manifest.statuses.get(name, 0) for name in SOLVED)

    @property
    def own(self) -> tuple[int, int, int]:
        """Count the run's own records, those proven by its own tables, and by all tables."""
        records, alone, joint = (
            self.manifest.totals[f"{self.shown_parts[0]}_{what}"] for what in COUNTED
        )
        return records, alone, joint
