"""Proofs about published tables that `recon_cli.reconcheck` checks independently."""

from recon_cli.stage import Stage

#: ``proofs`` has a row per statement, and beside it the texts that anybody can check.
PROVE = Stage(
    "prove",
    reads=(
        *("tables", "geounits", "microdata", "blocks"),
        *("audit", "solvar", "intervals", "claims"),
    ),
    folders=("proofs", "proof_texts"),
    section="prove",
    package=__name__,
    can_shard=True,
    uses_statistics=True,
    purpose="Write proofs of the findings that anybody can check with Python alone.",
)
