"""Protection of records before they are published: household swapping."""

from recon_cli.protect.settings import Experimental, Swap, Targeted, load_swap, packaged_swaps

__all__ = ["Experimental", "Swap", "Targeted", "load_swap", "packaged_swaps"]
