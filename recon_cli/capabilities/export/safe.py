"""From true counts to those that can be published: the stages that ``--suppressed`` needs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from recon_cli.capabilities.protect.true_counts import SUPPRESSED
from recon_cli.config.sections import SECTIONS
from recon_cli.errors import ConfigError
from recon_cli.pipeline.run import Run
from recon_cli.pipeline.run_stages import run_stage
from recon_cli.pipeline.stages import stage_named
from recon_cli.sources.read.markers import looks_like_marker
from recon_cli.store import INGEST
from recon_cli.store.manifest import MANIFEST

_SUPPRESS = "suppress"


@dataclass(frozen=True)
class Marking:
    """How a count that is withheld is shown.

    Attributes:
        text: What stands in its place.
        footnote: What each sheet of a workbook says of it; None for words of ours.

    Raises:
        ConfigError: When made: a reader could take the text for a count.
    """

    text: str = SUPPRESSED
    footnote: str | None = None

    def __post_init__(self) -> None:
        if not looks_like_marker(self.text) or self.text.isdigit():
            raise ConfigError(
                f"--mark {self.text!r}: expected what nobody takes for a count, such as '*', 'c' "
                "or '[c]'"
            )

    def note(self, below: int) -> str:
        """Return the footnote.

        >>> Marking("c").note(5)
        'c: fewer than 5, or not published so that no such count can be worked out'
        """
        if self.footnote is not None:
            return self.footnote
        return (
            f"{self.text}: fewer than {below:,}, or not published so that no such count can be "
            "worked out"
        )


def with_suppressed(run: Run, below: int | None) -> Run:
    """Suppress the counts of a run's own files, unless that was done already.

    Args:
        run: Of files with true counts.
        below: Counts under it are sensitive; default as the config, or an earlier run, has it.

    Returns:
        The run, with a section for the suppression.
    """
    stage = stage_named(_SUPPRESS)
    if below is None and (run.work / stage.folders[0] / MANIFEST).is_file():
        return run
    section: Any = run.config.sections.get(_SUPPRESS) or SECTIONS[_SUPPRESS]()
    changed: dict[str, object] = {} if below is None else {"below": below}
    if section.records is None and section.counts is None:
        changed["counts"] = run.work
    sections = {**run.config.sections, _SUPPRESS: section.model_copy(update=changed)}
    run = replace(run, config=replace(run.config, sections=sections))
    for each in (INGEST, stage):
        run_stage(each, run)
    return run
