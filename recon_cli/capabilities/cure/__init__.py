"""An estimate: which further stars leave no count recovered, and what rounding would leave."""

from recon_cli.stage import Command

COMMAND = Command(
    "plan cure",
    __name__,
    "Estimate, without the true counts, which further stars or what rounding would help.",
)
