"""Compute how sure an adversary with noisy counts can be about a person."""

from recon_cli.stage import Command, Stage

#: The stage reads the files that its section names.
RISK = Stage(
    "plan risk release",
    folders=("risk", "risk_sums"),
    section="risk",
    package=__name__,
    called="risk",
)
COMMAND = Command(
    "plan risk",
    __name__,
    "Compute how sure an adversary with noisy counts can be about a person.",
)
