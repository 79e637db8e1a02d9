"""Questions about all solutions, as pure functions over frames and arrays.

Each question implements `recon_cli.ask.question.Question`. A capability's `question.py` contains
it, with the loop over batches of regions; the other files have the mathematics of a batch.
"""
