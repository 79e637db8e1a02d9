"""The words in which a run tells its results."""

from __future__ import annotations

from recon_cli.config.sections.score import Score
from recon_cli.pipeline.run import Run
from recon_cli.report.words import Words, words_of


def words_of_run(run: Run) -> Words:
    """The words of the run's release; of the study where ``score.compare`` names it."""
    return words_of(run.release, is_study=run.config.section(Score).compare is not None)
