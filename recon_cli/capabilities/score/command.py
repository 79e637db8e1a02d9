"""``recon score``."""

from __future__ import annotations

from pathlib import Path

import click

from recon_cli.capabilities.score import SCORE
from recon_cli.capabilities.score.comparison_page import write_page
from recon_cli.capabilities.score.stage import read_rates
from recon_cli.capabilities.score.summary import print_facts, print_tables
from recon_cli.console.options import (
    OUTPUT_FILE,
    ConfiguredCommand,
    GivenPath,
    RunOptions,
    force_option,
    run_options,
)
from recon_cli.console.section_options import section_options
from recon_cli.pipeline.run_stages import run_stage


@click.command(cls=ConfiguredCommand, sections=("score",))
@run_options
@click.option(
    "--table", "tables", multiple=True, metavar="NAME", help="Print this table. Repeatable; or all."
)
@click.option("--page", type=OUTPUT_FILE, help="Write all tables to a .md page too.")
@click.option("--notes", type=GivenPath(), help="Markdown that the page includes.")
@force_option
@section_options("score")
def command(
    options: RunOptions,
    *,
    tables: tuple[str, ...],
    page: Path | None,
    notes: Path | None,
    force: bool,
) -> None:
    """Compute tables of re-identification rates, compared with those of guessing.

    Writes score/: every rate with its counts, an interval, and what guessers and the true records
    would reach, as Parquet, CSV and Markdown, in the layouts of Tables 7 to 17 of the 2010 study.
    Needs the counts that `recon link` writes; Tables 7 and 10 also need solvar/ or blocks/.

    Example:
      recon score -c al.yaml
      recon score --compare wp31995 --table all
      recon score --page docs/scores.md
    """
    if notes is not None and page is None:
        raise click.UsageError("--notes goes with --page")

    run = options.run(force=force)
    outcome = run_stage(SCORE, run)
    rates = read_rates(run)
    known = rates["table"].unique(maintain_order=True).to_list()
    for name in tables:
        if name not in (*known, "all"):
            raise click.BadParameter(f"no table {name!r} (tables: {', '.join(known)}, all)")
    if page is not None:
        write_page(run, rates, page, notes)
    if options.verbosity >= 0:
        print_tables(run, rates, tables)
        print_facts(run, outcome, page)
