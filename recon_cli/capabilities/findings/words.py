"""The words of a run's results."""

from __future__ import annotations

from recon_cli.page.words import Words, words_of
from recon_cli.pipeline.run import Run


def words_of_run(run: Run) -> Words:
    """Return the words of the run's release; of the study where a section compares with it."""
    is_study = any(section.compares_with_study for section in run.config.sections.values())
    return words_of(run.release, is_study=is_study)
