"""Shared parts of all protections of records and of counts."""
