"""Sampling of further solutions, to measure how often uncertain records appear."""

from recon_cli.stage import Stage

CONFIDENCE = Stage(
    "confidence",
    reads=("tables", "geounits", "microdata", "blocks"),
    folders=("confidence",),
    section="confidence",
    package=__name__,
    can_shard=True,
    purpose="Measure how often each uncertain record appears among sampled solutions.",
)
