"""Bound every suppressed, rounded or omitted count, given all the other published numbers."""

from recon_cli.stage import Stage

#: It needs no reconstruction: it asks about all of them.
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
