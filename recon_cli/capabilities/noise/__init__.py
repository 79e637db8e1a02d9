"""Integer noise of differential privacy: its densities, and how it is drawn."""
