"""The rules of `recon check`."""

from recon_cli.stage import Command

COMMAND = Command(
    "check",
    __name__,
    "Check the published tables against your rules: kept, broken or undecided.",
)
