"""Estimate true counts from the noisy ones of all levels together."""

from recon_cli.stage import Stage

ESTIMATE = Stage(
    "estimate",
    reads=("tables", "geounits"),
    folders=("estimates",),
    section="estimate",
    package=__name__,
    purpose="Estimate true counts from the noisy ones of all levels together, with intervals.",
)
