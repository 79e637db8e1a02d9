"""Questions about all solutions, as pure functions over frames and arrays.

Each question implements `recon_cli.ask.question.Question`. A capability's `question.py` contains
it, with the loop over batches of regions; the other files have the mathematics of a batch.

A question about the counts of a region goes from a plan (`recon_cli.model.plan`) to the systems of
its units, a solution (`recon_cli.capabilities.reconstruct.solution`), and the least and greatest
values over all solutions (`recon_cli.capabilities.audit.ends`).
"""
