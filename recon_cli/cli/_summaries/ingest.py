"""`recon ingest`."""

from __future__ import annotations

from recon_cli.cli._output import seconds, show, title_of, unlisted_facts
from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.plurals import plural


def print_summary(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage."""
    manifest, noun = outcome.manifest, plural(run.release.record)
    people, cells = manifest.totals["people"], manifest.totals["cells"]
    partly = "at least " if manifest.totals.get("partly_counted") else ""
    levels = [level.name for level in run.release.geography.levels]
    show(
        title_of(outcome),
        [
            ("release", run.release.name),
            (
                noun,
                f"{partly}{people:,}"
                if people or not (cells or partly)
                else "not published exactly",
            ),
            *(
                (plural(name).replace("_", " "), f"{manifest.statuses[name]:,}")
                for name in levels
                if name in manifest.statuses
            ),
            *unlisted_facts(manifest, plural(run.release.geography.unit.name)),
            ("non-zero cells", f"{cells:,}"),
            ("seconds", seconds(manifest.run.wall_seconds, people, noun)),
        ],
    )
