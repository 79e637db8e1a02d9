"""``recon data tabulate``."""

from __future__ import annotations

from pathlib import Path

import click

from recon_cli.cli._options import (
    ConfiguredCommand,
    GivenPath,
    RunOptions,
    force_option,
    run_options,
    tables_value,
)
from recon_cli.cli._output import seconds, share, show, title_of
from recon_cli.cli._stage import print_for_study, run_and_print
from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.plurals import plural
from recon_cli.stages.tabulate import Tabulated, tabulated, write_tables
from recon_cli.store.study import has_study_name


@click.command(cls=ConfiguredCommand, sections=("tabulate",))
@click.argument("records", required=False, type=GivenPath())
@run_options
@click.option("--to", type=GivenPath(), help="The file to write.")
@click.option("--format", "form", type=click.Choice(["tidy", "legacy"]), help="Its format.")
@click.option("--release", help="Packaged schema, or a .yaml file.")
@click.option("--tables", help="Levels (block+tract), or table names (P1,P12).")
@click.option("--levels", help="Only these levels, separated by commas.")
@force_option
def command(
    options: RunOptions,
    *,
    records: Path | None,
    to: Path | None,
    form: str | None,
    release: str | None,
    tables: str | None,
    levels: str | None,
    force: bool,
) -> None:
    r"""Count records in every published cell.

    RECORDS is a Parquet or CSV file, or a folder of them by partition such as hdf/, with the
    unit's geoid (geoid_block, …) and a column for each feature; without it the run's microdata/
    is counted. A config is not needed when --release says enough; with a work folder, tabulated/
    in it says what the file was made from, and what is up to date is skipped.

    Example:
      recon data tabulate people.csv --release sf1_2010 \
        --to al2010.sf1.zip
      recon data tabulate -c al.yaml --to tables.parquet
    """
    options = options.setting(
        release=release,
        tabulate__records=records,
        tabulate__to=to,
        tabulate__format=form,
        tabulate__tables=tables_value(tables),
        tabulate__levels=None if levels is None else tuple(levels.split(",")),
    )

    if options.load().top.work is not None:
        run_and_print("tabulate", options, force=force)
        return
    run = options.run(force=force)
    written = write_tables(run)
    if options.verbosity >= 0:
        print_written(run, written, f"tabulate: wrote {written.path}")
        if has_study_name(written.path):
            print_for_study()


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
