"""What `recon joint` tells of places: which kinds of records, and where the rows are."""

from __future__ import annotations

from typing import Final

from recon_cli.pipeline.stages import JOINT
from recon_cli.store import Manifest

#: The folder with a row a place.
JOINT_UNITS: Final = JOINT.folders[2]
#: The folder with a row for each kind of members of a household that is certain with all of them.
JOINT_MEMBERS: Final = JOINT.folders[4]
#: What is counted in a place of each kind of records.
COUNTED: Final = ("records", "alone", "joint")
#: Statuses of places where a joint solution was found.
SOLVED: Final = ("proven", "bounded")


def told_parts(manifest: Manifest) -> tuple[str, str]:
    """What the links call the run's own records, and its partner's.

    Further parts only say more of these.

    Args:
        manifest: Of ``joint/``.
    """
    own, partner = manifest.notes["parts"][:2]
    return str(own), str(partner)
