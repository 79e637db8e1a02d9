"""Tables of re-identification rates, from counts of links."""

from recon_cli.stage import Stage

SCORE = Stage(
    "score",
    reads=("links", "tallies", "targets", "agreement", "truth", "solvar", "blocks", "confidence"),
    folders=("score",),
    section="score",
    package=__name__,
    purpose="Compute tables of re-identification rates, compared with those of guessing.",
)
