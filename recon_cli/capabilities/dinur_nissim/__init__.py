"""Secret bits reconstructed from noisy sums of random subsets of them."""

from recon_cli.stage import Command

COMMAND = Command(
    "lab dinur-nissim", __name__, "Reconstruct random bits from noisy sums of random subsets."
)
