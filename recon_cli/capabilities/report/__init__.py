"""Write the results of a work folder as one page."""

from recon_cli.stage import Stage

#: It shows every folder that there is, so it comes last.
REPORT = Stage(
    "report",
    reads=(
        *("persons", "comrcl", "hdf", "tabulated", "tables", "microdata"),
        *("audit", "solvar", "claims", "joint", "proofs", "contributions", "confidence"),
        *("leave_one_out", "risk"),
        *("links", "score"),
    ),
    folders=("report",),
    public=("report",),
    uses_statistics=True,
    section="report",
    package=__name__,
    purpose="Write the results as one page, readable offline.",
)
