"""The constraint system of a published release: margins, cells, rows, bounds."""
