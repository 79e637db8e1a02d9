"""Find which values the tables prove about people whom an attacker knows."""

from recon_cli.stage import Stage, private_folder

#: All results are private, since they are about people whom somebody knows.
ATTRIBUTE = Stage(
    "attribute",
    reads=("tables", "geounits", "microdata", "blocks", "solvar", "intervals"),
    folders=(f"{private_folder('attribute')}/attributed",),
    section="attribute",
    package=__name__,
    purpose="Find which further values the tables prove about people whom an attacker knows.",
)
