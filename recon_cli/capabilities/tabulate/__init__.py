"""Count records in every published cell."""

from recon_cli.stage import Stage

#: It reads and writes what its section names.
TABULATE = Stage(
    "data tabulate",
    folders=("tabulated",),
    public=("tabulated",),
    section="tabulate",
    package=__name__,
    uses_statistics=True,
    purpose="Count records in every published cell, and compute the release's statistics.",
)
