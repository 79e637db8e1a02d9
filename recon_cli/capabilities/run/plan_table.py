"""Printing the plan of a run: `recon run --dry-run`."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from recon_cli.console.output import console, duration
from recon_cli.pipeline.run_stages import PlannedStage
from recon_cli.store import StageStatus, State


def print_plan(plan: Sequence[PlannedStage], *, force: bool) -> None:
    """Print what would happen to each stage, why, and how long it took last time."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold", ratio=1)
    grid.add_column(justify="right", no_wrap=True)
    grid.add_row("  stage", Text("what would happen", style="dim"), Text("last took", style="dim"))
    for each in plan:
        took = "–" if each.last is None else duration(each.last)
        grid.add_row(f"  {each.stage.short_name}", Text(_intention(each, force=force)), Text(took))
    out = console()
    running = sum(each.would_run for each in plan)
    title = f"dry run: {running} of {len(plan)} stages would run"
    out.print(Text(title if running else "dry run: everything is up to date", style="bold"))
    out.print(grid)


def _intention(planned: PlannedStage, *, force: bool) -> str:
    if planned.status is None:
        again = "would run again" if force else "would be checked again"
        return f"{again}, after {planned.after}"
    return _would(planned.status)


def _would(status: StageStatus) -> str:
    if status.state is State.DONE:
        return "up to date"
    why = "; ".join(status.reasons)
    if status.finished:
        of = f" of {status.partitions}" if status.partitions else ""
        kept = f"{status.finished}{of} partitions done"
        why = f"{why}; {kept}" if why else kept
    if status.state is State.HALF:
        return f"would continue: {why}" if why else "would continue"
    return f"would run: {why or 'not run yet'}"
