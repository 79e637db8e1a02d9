"""Leave-one-out: what the counts tell of a person, with that person in them and without."""
