"""What the program costs, and what the study's own formulation costs: ``make bench``."""
