"""Count records in every published cell."""

from recon_cli.stage import Stage

#: The stage reads and writes the files that its section names.
TABULATE = Stage(
    "data tabulate",
    folders=("tabulated",),
    public=("tabulated",),
    section="tabulate",
    package=__name__,
    uses_statistics=True,
    purpose="Count records in every published cell, and compute the release's statistics.",
)
