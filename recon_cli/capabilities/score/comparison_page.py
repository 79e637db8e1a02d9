"""The page that puts a run's result tables beside the published ones."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from recon_cli.capabilities.findings.stages import SOLVAR
from recon_cli.capabilities.findings.words import words_of_run
from recon_cli.capabilities.link import LINK
from recon_cli.capabilities.link.baselines import MODES_OF
from recon_cli.capabilities.link.specification import parent_level
from recon_cli.capabilities.score import SCORE
from recon_cli.capabilities.score.options import Score
from recon_cli.capabilities.score.rates_page import lay_out, table_title
from recon_cli.capabilities.score.tables import study_folder
from recon_cli.errors import ConfigError
from recon_cli.markdown import markdown_table, markdown_text
from recon_cli.page.words import Words
from recon_cli.pipeline.run import Run
from recon_cli.store import open_folder
from recon_cli.store.files import write_named
from recon_cli.store.manifest import MANIFEST

_TABLE_6 = "table06_solvar_percentiles.csv"
#: The study's origins of modal guesses in percent of blocks: block, block group, nation.
_PRINTED_MODES: Final = "95.58, 4.42, 0"
#: Differences of at least this many percentage points are listed, to be explained.
LARGE = 5.0


def write_page(run: Run, rates: pl.DataFrame, path: Path, notes: Path | None = None) -> None:
    """Write a Markdown page, and the result tables in a second file beside it.

    ``scores.md`` has what a person reads, ``scores.tables.markdown`` what one looks up.

    Args:
        rates: As from `recon_cli.capabilities.score.stage.read_rates`.
        notes: Markdown to put under the list of large differences: somebody's explanation.

    Raises:
        ConfigError: The notes cannot be read.
    """
    text = ""
    if notes is not None:
        try:
            text = notes.read_text(encoding="utf-8")
        except OSError as error:
            raise ConfigError(f"--notes: {notes} cannot be read: {error.strerror}") from error
    tables = path.with_suffix(".tables.markdown")
    write_named(path, page(run, rates, tables.name, text).encode())
    write_named(tables, tables_of(run, rates).encode())


def page(run: Run, rates: pl.DataFrame, tables: str, notes: str = "") -> str:
    """Return the text of the page: what was run, and the large differences.

    Args:
        tables: Name of the file with the result tables.
    """
    found = open_folder(run.work, SCORE, "score").manifest.notes
    linked = open_folder(run.work, LINK, "truth").manifest
    words = words_of_run(run)
    parts = [
        "# Who is re-identified, and how much better than guessing",
        "",
        f"Made by `recon score --page`, version {linked.tool}; do not edit.",
        "",
        f"- Release `{run.release.name}`: {linked.totals['people']:,} {words.people} in "
        f"{linked.totals['units']:,} {words.units}; seed {linked.seed}.",
        f"- Sources: {markdown_text(', '.join(linked.notes['sources']))}.",
        f"- Attacker files: {markdown_text(', '.join(linked.notes['attackers'])) or 'none'}.",
        f"- Intervals: {found['intervals']}. Zero variability: {found['zero_variability']}.",
        *_modes(run, linked.totals),
        "",
        f"All rates, with intervals, are in the [tables]({tables}).",
        "",
        *_differences(rates),
    ]
    if notes:
        parts += [notes]
    parts += _percentiles(run)
    parts += _gains(rates, linked.notes, words)
    return "\n".join(parts)


def tables_of(run: Run, rates: pl.DataFrame) -> str:
    """Return the result tables as Markdown, each under a heading."""
    words = words_of_run(run)
    parts = [
        "# Tables of links and scores",
        "",
        "A cell is the rate in percent, its interval, and the count that it is of the "
        f"{words.people} or, for precision, of the putative links.",
        "",
    ]
    for name in rates["table"].unique(maintain_order=True):
        rows = rates.filter(pl.col("table") == name)
        for against in rows["against"].unique(maintain_order=True):
            here = rows.filter(pl.col("against") == against)
            parts.append(lay_out(f"{table_title(name, words)}: {against}", here, words).markdown())
    return "\n".join(parts)


def _modes(run: Run, totals: Mapping[str, int]) -> list[str]:
    """State the origins of the modal guess, with the study's shares if it is compared with."""
    counts = [totals[f"mode of {name}"] for name in MODES_OF]
    units, parent = words_of_run(run).units, parent_level(run.release).name.replace("_", " ")
    own, above, national = (f"{100 * each / max(sum(counts), 1):.2f}" for each in counts)
    shares = f"of {own}% of {units}, of the {parent} for {above}%, of everybody for {national}%"
    compare = run.config.section(Score).compare
    printed = "" if compare is None else f" (the study's footnote 25: {_PRINTED_MODES})"
    return [f"- The modal guess is the own mode {shares}{printed}."]


def _gains(rates: pl.DataFrame, notes: Mapping[str, Any], words: Words) -> list[str]:
    """Compare links with the proportional guess: by size, how many points more are right."""
    guesser = next(
        (
            name
            for name, kind in notes["guessers"].items()
            if kind == "proportional" and name not in notes["leave_one_out"]
        ),
        None,
    )
    known = {notes["truth"], notes["baseline"], *notes["guessers"]}
    tables = {"everybody": "table12_all", words.nonmodal: "table13_nonmodal"}
    here = rates.filter(pl.col("table").is_in(list(tables.values())), rate="precision")
    sources = [name for name in here["source"].unique(maintain_order=True) if name not in known]
    if guesser is None or not sources:
        return []
    compared = "published_pct" in here.columns
    value = ["pct", *(["published_pct"] if compared else [])]
    keys = ["table", "against", "block_size"]
    guess = here.filter(source=guesser).select(*keys, pl.col(value).name.prefix("guess_"))
    gains = here.join(guess, on=keys, how="left", maintain_order="left").with_columns(
        (pl.col(name) - pl.col(f"guess_{name}")).alias(f"gain_{name}") for name in value
    )
    found = {
        tuple(row[key] for key in (*keys, "source")): [row[f"gain_{name}"] for name in value]
        for row in gains.iter_rows(named=True)
    }
    heads = [head for who in tables for head in (who, *(["published"] if compared else []))]
    lines = [
        f"## Gain over guessing, by {words.unit} size",
        "",
        f"Precision less that of {guesser}, in points, of Tables 12 and 13.",
        "",
    ]
    for against in here["against"].unique(maintain_order=True):
        rows = []
        for size in here["block_size"].unique(maintain_order=True):
            for source in sources:
                cells = [
                    "" if points is None else f"{points:+.1f}"
                    for table in tables.values()
                    for points in found.get((table, against, size, source), [None] * len(value))
                ]
                rows.append([size, source, *cells])
        header = [f"{words.unit} size", f"source, {against}", *heads]
        lines.append(markdown_table(header, rows, 2))
    return lines


def _percentiles(run: Run) -> list[str]:
    """List Table 6 beside the study's, where variability was measured and the study compared."""
    compare = run.config.section(Score).compare
    if compare is None or not (run.work / "solvar" / MANIFEST).is_file():
        return []
    units = words_of_run(run).units
    folder = open_folder(run.work, SOLVAR, "solvar")
    ours = pl.read_csv(folder.read_extra("percentiles.csv"))
    printed = pl.read_csv((study_folder(compare) / _TABLE_6).read_bytes())
    header = [
        *("percentile", "lower edge", "published", "upper edge"),
        *("people so far, %", "published", "variability so far, %", "published"),
    ]
    everybody, everybody_there = ours["population"].sum(), printed["population_thousands"].sum()
    rows = [
        [
            f"{own['percentile']}",
            f"{own['lowest_solvar_pct']:.1f}",
            f"{there['solvar_pct']:.1f}",
            f"{own['solvar_pct']:.1f}",
            f"{100 * own['cumulative_population'] / max(everybody, 1):.1f}",
            f"{100 * there['cumulative_population_thousands'] / everybody_there:.1f}",
            f"{own['cumulative_solvar_pct']:.1f}",
            f"{there['cumulative_solvar_pct']:.1f}",
        ]
        for own, there in zip(
            ours.iter_rows(named=True), printed.iter_rows(named=True), strict=True
        )
    ]
    return [
        f"## Table 6. Variability by percentile of {units}",
        "",
        f"Of the {units} between one percentile and the next, least variable first: the greatest "
        "share of records that differ in another solution, of the first (which the study prints) "
        "and of the last of them, in percent.",
        "",
        markdown_table(header, rows, 1),
    ]


def _differences(rates: pl.DataFrame) -> list[str]:
    if "difference" not in rates.columns or not rates["difference"].count():
        return []
    compared = rates.filter(pl.col("difference").is_not_null())
    sizes = compared["difference"].abs().to_numpy()
    large = compared.filter(pl.col("difference").abs() >= LARGE)
    lines = [
        "## Where the two differ most",
        "",
        f"{compared.height:,} rates have a published one beside them in the tables; their "
        f"median absolute difference is {np.median(sizes):.1f} points, and {large.height:,} "
        f"differ by {LARGE:.0f} points or more:",
        "",
    ]
    header = ["table", "people", "against", "rate", "block sizes", "sources", "difference"]
    groups = large.group_by("table", "panel", "against", "rate", maintain_order=True).agg(
        pl.col("block_size").unique(maintain_order=True).str.join(", "),
        pl.col("source").unique(maintain_order=True).str.join(", "),
        pl.col("difference").min().alias("low"),
        pl.col("difference").max().alias("high"),
    )
    rows = [
        [*words, f"{low:+.1f}" if low == high else f"{low:+.1f} to {high:+.1f}"]
        for *words, low, high in groups.iter_rows()
    ]
    return [*lines, markdown_table(header, rows, text_columns=6)]
