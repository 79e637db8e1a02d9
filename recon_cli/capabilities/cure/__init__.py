"""An estimate: which further stars leave no count recovered, and what rounding would leave."""

from recon_cli.stage import Command

COMMAND = Command(
    "plan cure",
    __name__,
    "Estimate, from the published tables alone, how to stop counts being recovered.",
)
