"""Joint proofs: two kinds of records in one program, and what both releases prove together."""

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
