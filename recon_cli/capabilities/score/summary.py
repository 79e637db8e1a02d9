"""Summary of `recon score`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import polars as pl
from rich.text import Text

from recon_cli.capabilities.findings.words import words_of_run
from recon_cli.capabilities.link import LINK
from recon_cli.capabilities.link.labels import with_labels
from recon_cli.capabilities.score.rates_page import brief, table_title
from recon_cli.capabilities.score.stage import read_rates
from recon_cli.capabilities.score.tables import TABLES
from recon_cli.console.output import (
    Line,
    TableColumn,
    console,
    fitted_table,
    seconds,
    show,
    title_of,
)
from recon_cli.page.document import ResultTable
from recon_cli.page.sizes import ALL
from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.store import open_folder

#: Tables that are printed by default.
_SHOWN = ("table08_agreement", "table09_overall", "table10_zero_solvar")


def summary(run: Run, outcome: StageOutcome) -> Iterator[Line]:
    """Yield the first tables, and the summary of a finished stage."""
    yield partial(print_tables, run, read_rates(run), ())
    yield partial(print_facts, run, outcome, None)


def print_tables(run: Run, rates: pl.DataFrame, asked: tuple[str, ...]) -> None:
    """Print the requested tables; without any, the totals of the first ones."""
    words = words_of_run(run)
    for name in TABLES if "all" in asked else (asked or _SHOWN):
        rows = rates.filter(pl.col("table") == name)
        if not asked:
            rows = rows.filter(pl.col("block_size") == ALL)
        for sheet in brief(table_title(name, words), rows, words):
            _print(sheet)


def print_facts(run: Run, outcome: StageOutcome, page: Path | None) -> None:
    """Print the inputs of the tables."""
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
