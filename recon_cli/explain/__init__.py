"""Why: which published cells force a record, or contradict each other."""
