"""Summary of `recon tabulate`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from recon_cli.capabilities.tabulate.stage import Tabulated, tabulated
from recon_cli.console.output import Line, seconds, show, title_of
from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.plurals import plural


def summary(run: Run, outcome: StageOutcome) -> Iterator[Line]:
    """Yield the summary lines of a finished stage."""
    written = tabulated(run, outcome)
    title = title_of(outcome) if outcome.skipped else f"tabulate: wrote {written.path}"
    yield partial(print_written, run, written, title)


def print_written(run: Run, written: Tabulated, title: str) -> None:
    """Print what was counted."""
    people = plural(run.release.record).replace("_", " ")
    show(
        title,
        [
            ("format", written.format),
            (people, f"{written.people:,}"),
            ("non-zero cells", f"{written.cells:,}"),
            ("seconds", seconds(written.seconds, written.people, people)),
        ],
    )
