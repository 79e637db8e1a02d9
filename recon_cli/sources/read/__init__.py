"""Files read by their numbers: grid, tables, relations, features, and a role for every cell."""
