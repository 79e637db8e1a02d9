"""Contributions: how much each part of a publication adds to what an attack proves."""

from recon_cli.stage import Stage

#: The stage attacks the remaining tables anew.
CONTRIBUTIONS = Stage(
    "contributions",
    reads=("tables", "geounits"),
    folders=("contributions",),
    section="contributions",
    package=__name__,
    uses_statistics=True,
    purpose="Measure what each table, level or feature reveals, by repeating the attack without "
    "it.",
)
