"""Joint proofs: two kinds of records in one program, and what both releases prove together."""

from typing import Final

from recon_cli.stage import Stage

#: Its partner is a run of its own.
JOINT = Stage(
    "joint",
    reads=("tables", "geounits"),
    folders=("joint", "joint_partner", "joint_units", "joint_compositions", "joint_members"),
    section="joint",
    package=__name__,
    can_shard=True,
    purpose="Find the people and households that every joint solution of two releases contains.",
)
#: The folder with a row per place.
JOINT_UNITS: Final = JOINT.folders[2]
#: The folder with a row for each kind of members of a household that is certain with all of them.
JOINT_MEMBERS: Final = JOINT.folders[4]
