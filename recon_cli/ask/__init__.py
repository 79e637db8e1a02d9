"""The attack as pure functions over frames and arrays.

What is asked of all solutions is a `recon_cli.ask.question.Question`. Of a folder `question.py`
has it, with the loop over batches of regions; the other files have the mathematics of a batch.
"""
