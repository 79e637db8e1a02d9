"""Explanations: which published cells imply a record, or contradict each other."""
