"""Tables of an office: few dense places whose districts add up, with stars or rounded counts."""
