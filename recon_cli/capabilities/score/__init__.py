"""Counts of links → the tables that a data steward judges by."""

from recon_cli.stage import Stage

SCORE = Stage(
    "score",
    reads=("links", "tallies", "targets", "agreement", "truth", "solvar", "blocks", "confidence"),
    folders=("score",),
    section="score",
    package=__name__,
    purpose="Make the result tables: who is re-identified, against guessing.",
)
