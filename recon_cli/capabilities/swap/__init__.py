"""Protections of records and of their counts, before they are published."""

from recon_cli.capabilities.swap.settings import (
    Experimental,
    Swap,
    Targeted,
    load_swap,
    packaged_swaps,
)

__all__ = ["Experimental", "Swap", "Targeted", "load_swap", "packaged_swaps"]
