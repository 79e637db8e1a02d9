"""Findings of a work folder: what it proves, and which of its folders fit together."""
