"""Audit published statistics: from published tables to the person records they imply."""

__version__ = "0.1.0"
