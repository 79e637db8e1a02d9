"""Counts of links → the tables that a data steward judges by."""
