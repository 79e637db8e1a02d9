"""Two kinds of records in one program: what both releases together prove of either."""
