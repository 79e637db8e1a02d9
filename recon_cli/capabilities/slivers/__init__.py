"""Find small groups of people that overlapping areas reveal by subtraction."""

from recon_cli.stage import Stage

SLIVERS = Stage(
    "slivers",
    reads=("tables", "geounits"),
    folders=("slivers", "sliver_counts"),
    section="slivers",
    package=__name__,
    purpose="Find small groups of people that overlapping areas reveal by subtraction.",
)
