"""Verified claims: statements about people that hold in every solution."""

from recon_cli.stage import Stage

CLAIMS = Stage(
    "claims",
    reads=("tables", "geounits", "microdata", "blocks"),
    folders=("claims", "claim_units", "disclosures"),
    section="claims",
    package=__name__,
    can_shard=True,
    uses_statistics=True,
    purpose="Prove statements about people, on any columns, that hold in every solution.",
)
