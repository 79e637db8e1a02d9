"""Comparison of a synthetic population with the published one."""

from recon_cli.stage import Command

COMMAND = Command(
    "lab calibrate",
    __name__,
    "Compare synthetic populations with published facts about the real one.",
)
