"""Write the results of a work folder as one page."""

from recon_cli.stage import EVERYTHING, Stage

REPORT = Stage(
    "report",
    reads=(EVERYTHING,),
    folders=("report",),
    public=("report",),
    uses_statistics=True,
    section="report",
    package=__name__,
    purpose="Write the results as one page, readable offline.",
)
