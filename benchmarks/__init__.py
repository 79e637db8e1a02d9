"""What the program costs, and what the study's own formulation costs: ``make bench``."""

import os

# As the command line has it, before numpy is loaded: threads of small linear algebra only wait.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
