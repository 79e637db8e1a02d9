"""``recon score``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from recon_cli.cli._options import (
    OUTPUT_FILE,
    ConfiguredCommand,
    GivenPath,
    RunOptions,
    force_option,
    run_options,
)
from recon_cli.cli._output import TableColumn, console, fitted_table, seconds, show, title_of

if TYPE_CHECKING:
    import polars as pl

    from recon_cli.pipeline.run import Run, StageOutcome
    from recon_cli.score.sheet import ResultTable

#: What is printed without being asked for.
_SHOWN = ("table08_agreement", "table09_overall", "table10_zero_solvar")


@click.command(cls=ConfiguredCommand, sections=("score",))
@run_options
@click.option("--compare", type=click.Choice(["wp31995"]), help="Put a study's values beside.")
@click.option(
    "--table", "tables", multiple=True, metavar="NAME", help="Print this table. Repeatable; or all."
)
@click.option("--page", type=OUTPUT_FILE, help="Write all tables to a .md page too.")
@click.option("--notes", type=GivenPath(), help="Markdown that the page includes.")
@force_option
def command(
    options: RunOptions,
    *,
    compare: str | None,
    tables: tuple[str, ...],
    page: Path | None,
    notes: Path | None,
    force: bool,
) -> None:
    """Make the result tables: who is re-identified, against guessing.

    Writes score/: every rate with its counts, an interval, the guessers' rate and the truth's
    own beside it, as Parquet, CSV and Markdown, in the layouts of Tables 7 to 17 of the 2010
    study. Needs links/ (`recon link`); solvar/ for Table 10.

    \b
    Example:
      recon score -c al.yaml
      recon score --compare wp31995 --table all
      recon score --page docs/scores.md
    """  # noqa: D301 - click wants the character itself
    if notes is not None and page is None:
        raise click.UsageError("--notes goes with --page")
    from recon_cli.pipeline.execution import run_stage  # noqa: PLC0415 - slow imports when needed
    from recon_cli.pipeline.stages import SCORE  # noqa: PLC0415
    from recon_cli.stages.score import read_rates  # noqa: PLC0415
    from recon_cli.stages.scores_page import write_page  # noqa: PLC0415

    run = options.setting(score__compare=compare).run(force=force)
    outcome = run_stage(SCORE, run)
    rates = read_rates(run)
    known = rates["table"].unique(maintain_order=True).to_list()
    for name in tables:
        if name not in (*known, "all"):
            raise click.BadParameter(f"no table {name!r} (tables: {', '.join(known)}, all)")
    if page is not None:
        write_page(run, rates, page, notes)
    if options.verbosity >= 0:
        _print_tables(run, rates, tables)
        _print_facts(run, outcome, page)


def print_score(run: Run, outcome: StageOutcome) -> None:
    """Print the first tables and the summary of a finished stage."""
    from recon_cli.stages.score import read_rates  # noqa: PLC0415 - imports polars

    _print_tables(run, read_rates(run), ())
    _print_facts(run, outcome, None)


def _print_tables(run: Run, rates: pl.DataFrame, asked: tuple[str, ...]) -> None:
    """Print the tables that were asked for; without any, the totals of the first ones."""
    import polars as pl  # noqa: PLC0415 - slow imports when needed

    from recon_cli.report.score_tables import brief, table_title  # noqa: PLC0415
    from recon_cli.score.sizes import ALL  # noqa: PLC0415
    from recon_cli.score.tables import TABLES  # noqa: PLC0415
    from recon_cli.stages.run_words import words_of_run  # noqa: PLC0415

    words = words_of_run(run)
    for name in TABLES if "all" in asked else (asked or _SHOWN):
        rows = rates.filter(pl.col("table") == name)
        if not asked:
            rows = rows.filter(pl.col("block_size") == ALL)
        for sheet in brief(table_title(name, words), rows, words):
            _print(sheet)


def _print_facts(run: Run, outcome: StageOutcome, page: Path | None) -> None:
    from recon_cli.pipeline.stages import LINK  # noqa: PLC0415 - slow imports when needed
    from recon_cli.stages.source_labels import with_labels  # noqa: PLC0415
    from recon_cli.store import open_folder  # noqa: PLC0415

    notes, links = outcome.manifest.notes, open_folder(run.work, LINK, "links").manifest
    show(
        title_of(outcome),
        [
            ("tables", ", ".join(notes["tables"])),
            ("sources", with_labels(run, links, links.notes["sources"])),
            ("zero variability", notes["zero_variability"]),
            ("intervals", notes["intervals"]),
            ("withheld", f"{notes['withheld']:,} rates"),
            *([("page", str(page))] if page is not None else []),
            ("seconds", seconds(outcome.manifest.run.wall_seconds)),
        ],
    )


def _print(sheet: ResultTable) -> None:
    from rich.text import Text  # noqa: PLC0415 - only when there is something to show

    columns = [TableColumn(name, at >= sheet.text_columns) for at, name in enumerate(sheet.header)]
    out = console()
    out.print(Text(sheet.title, style="bold"))
    out.print(fitted_table(columns, sheet.rows, out.width))
