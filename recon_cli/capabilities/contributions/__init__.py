"""Contributions: what each part of a publication adds to what an attack proves."""
