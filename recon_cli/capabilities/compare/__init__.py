"""Several protections of one truth side by side: what each costs, and what it leaves to find."""
