"""Bound every suppressed, rounded or omitted count, given all the other published numbers."""

from recon_cli.stage import Stage

#: An audit needs no reconstruction: it is about all solutions.
AUDIT = Stage(
    "audit",
    reads=("tables", "geounits"),
    folders=("audit",),
    section="audit",
    package=__name__,
    can_shard=True,
    uses_statistics=True,
    purpose="Find the range of values that each suppressed, rounded or omitted count can take, "
    "given all other published counts.",
)
