"""What is printed of records that are made, and of their tables."""

from __future__ import annotations

from recon_cli.capabilities.tabulate.stage import Tabulated, tabulated
from recon_cli.cli._output import seconds, share, show, title_of
from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.plurals import plural


def synth(_run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage."""
    totals, statuses = outcome.manifest.totals, outcome.manifest.statuses
    count = totals["people"]
    show(
        title_of(outcome),
        [
            ("people", f"{count:,}"),
            ("  in group quarters", share(totals["in_group_quarters"], count)),
            ("  data-defined", share(totals["data_defined"], count)),
            ("households", f"{totals['households']:,}"),
            ("vacant units", f"{totals['vacant']:,}"),
            ("inhabited blocks", f"{statuses.get('inhabited', 0):,}"),
            ("uninhabited blocks", f"{statuses.get('uninhabited', 0):,}"),
            ("counties", f"{len(outcome.manifest.partitions):,}"),
            ("seconds", seconds(outcome.manifest.run.wall_seconds, count)),
        ],
    )


def attacker(_run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage."""
    totals, truths = outcome.manifest.totals, outcome.manifest.statuses
    count = totals["comrcl"]
    show(
        title_of(outcome),
        [
            ("COMRCL records", f"{count:,}"),
            *((f"  {name}", share(truths[name], count)) for name in sorted(truths)),
            ("CEF_atkr records", f"{totals['cef_atkr']:,}"),
            ("seconds", seconds(outcome.manifest.run.wall_seconds, totals["people"])),
        ],
    )


def tabulate(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage."""
    written = tabulated(run, outcome)
    title = title_of(outcome) if outcome.skipped else f"tabulate: wrote {written.path}"
    print_written(run, written, title)


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
