"""Solution variability: how far other solutions could be, and the records that all share."""

from recon_cli.stage import Stage

SOLVAR = Stage(
    "solvar",
    reads=("tables", "geounits", "microdata", "blocks"),
    folders=("solvar", "intervals", "certainty", "regions"),
    section="solvar",
    package=__name__,
    can_shard=True,
    uses_statistics=True,
    purpose="Measure how far any other solution could differ, and find the records that all "
    "solutions share.",
)
