"""Propose a reading of a sheet by its numbers: their sums, their shares, what they leave open."""
