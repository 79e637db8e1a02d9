"""Rules of `recon check`."""

from recon_cli.stage import Command

COMMAND = Command(
    "check",
    __name__,
    "Judge the published tables by the rules of the config: broken, kept or undecided.",
)
