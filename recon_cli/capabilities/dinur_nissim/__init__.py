"""Reconstruction of secret bits from noisy sums of random subsets."""

from recon_cli.stage import Command

COMMAND = Command(
    "lab dinur-nissim", __name__, "Reconstruct random bits from noisy sums of random subsets."
)
