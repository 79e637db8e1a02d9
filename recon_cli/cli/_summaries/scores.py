"""What linkage rates print, and how they fall where a person is left out."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from rich.text import Text

from recon_cli.capabilities.leave_one_out.scores import read_differences
from recon_cli.capabilities.score.rates_page import brief, table_title
from recon_cli.capabilities.score.stage import read_rates
from recon_cli.capabilities.score.tables import TABLES
from recon_cli.capabilities.score.words import with_labels, words_of_run
from recon_cli.cli._output import (
    Fact,
    TableColumn,
    console,
    fitted_table,
    seconds,
    share,
    show,
    show_table,
    title_of,
)
from recon_cli.page.document import ResultTable
from recon_cli.page.sizes import ALL
from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.pipeline.stages import LINK
from recon_cli.store import open_folder

#: What is printed without being asked for.
_SHOWN = ("table08_agreement", "table09_overall", "table10_zero_solvar")


def score(run: Run, outcome: StageOutcome) -> None:
    """Print the first tables and the summary of a finished stage."""
    print_tables(run, read_rates(run), ())
    print_facts(run, outcome, None)


def print_tables(run: Run, rates: pl.DataFrame, asked: tuple[str, ...]) -> None:
    """Print the tables that were asked for; without any, the totals of the first ones."""
    words = words_of_run(run)
    for name in TABLES if "all" in asked else (asked or _SHOWN):
        rows = rates.filter(pl.col("table") == name)
        if not asked:
            rows = rows.filter(pl.col("block_size") == ALL)
        for sheet in brief(table_title(name, words), rows, words):
            _print(sheet)


def print_facts(run: Run, outcome: StageOutcome, page: Path | None) -> None:
    """Print what the tables were made from."""
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
    columns = [TableColumn(name, at >= sheet.text_columns) for at, name in enumerate(sheet.header)]
    out = console()
    out.print(Text(sheet.title, style="bold"))
    out.print(fitted_table(columns, sheet.rows, out.width))


def leave_one_out(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage."""
    words = words_of_run(run)
    manifest = outcome.manifest
    totals, statuses = manifest.totals, manifest.statuses
    unknown = statuses.get("open", 0) + statuses.get("quarantined", 0)
    facts: list[Fact] = [
        ("learnt", ", ".join(manifest.notes["gains"])),
        (f"{words.people} left out", f"{totals['people']:,}"),
        ("  distinct runs", f"{totals['records']:,}"),
        ("  not known", share(unknown, totals["people"])),
        ("undecided", share(statuses.get("partial", 0), totals["people"])),
        ("seconds", seconds(manifest.run.wall_seconds, totals["people"], words.people)),
    ]
    show(title_of(outcome), facts)
    ends = (pl.col(name).round(1).cast(pl.String).fill_null("–") for name in ("low", "high"))
    table = (
        read_differences(run.work)
        .filter(block_size="All")
        .select(
            pl.col("panel").map_elements(words.panel, return_dtype=pl.String),
            "measure",
            pl.col("people").cast(pl.Int64),
            "pct",
            "pct_without",
            "difference",
            pl.concat_str(*ends, separator="–"),
        )
    )
    show_table(table, ["who", "measure", words.people, "with %", "without %", "points", "interval"])
