"""Integer noise of differential privacy: its densities, and exact samplers."""
