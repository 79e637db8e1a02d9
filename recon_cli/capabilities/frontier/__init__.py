"""The cost of noise for users of tables, against the privacy that it gives."""

from recon_cli.stage import Stage

#: The stage reads only the release's schema.
FRONTIER = Stage(
    "plan frontier",
    folders=("frontier",),
    section="frontier",
    package=__name__,
    purpose="Compute what noise would cost the users of each table, for each privacy loss.",
)
#: Its page.
PAGE = "frontier.html"
