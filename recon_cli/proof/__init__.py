"""Proofs as text: the published tables, and the sums of their rows that reconcheck adds up."""
