"""Reconstruction: one solution of the published counts, as person records."""

from recon_cli.stage import Stage

RECONSTRUCT = Stage(
    "reconstruct",
    reads=("tables", "geounits"),
    folders=("microdata", "blocks"),
    section="reconstruct",
    package=__name__,
    can_shard=True,
    uses_statistics=True,
    purpose="Reconstruct the person records that the tables imply.",
)
