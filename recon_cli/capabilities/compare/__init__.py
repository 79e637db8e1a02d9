"""Comparison of several protections of the same records: error and remaining risk."""

from recon_cli.stage import Stage

#: Its protections have work folders of their own, in ``compare/``.
COMPARE = Stage(
    "compare",
    reads=("persons", "households"),
    folders=("comparison",),
    section="compare",
    package=__name__,
    purpose="Protect the same records in several ways, attack each, and compare error and risk.",
)
#: Its page.
PAGE = "comparison.html"
