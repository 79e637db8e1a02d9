"""Secret bits reconstructed from noisy sums of random subsets of them."""
