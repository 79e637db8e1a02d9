"""Sample further solutions, to see how often an uncertain record appears in them."""

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
