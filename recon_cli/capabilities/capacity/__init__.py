"""How much a release reveals about its people, and how much noise it would need."""

from recon_cli.stage import Stage

CAPACITY = Stage(
    "plan capacity",
    reads=("tables", "geounits"),
    folders=("capacity", "capacity_sums"),
    section="capacity",
    package=__name__,
    purpose="Compute how much the tables reveal, and how much noise they need, before any attack.",
)
#: Its page.
PAGE = "capacity.html"
