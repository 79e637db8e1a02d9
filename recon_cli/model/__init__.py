"""The exact constraint system that a published release is: margins, cells, rows, bounds."""
