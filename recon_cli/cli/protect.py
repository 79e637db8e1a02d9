"""``recon protect``: swap, round, cellkey, suppress, census1980, noise, topdown, randomize."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from recon_cli.cli._options import RunOptions, force_option, run_options
from recon_cli.cli._output import seconds, share, show, show_table, title_of
from recon_cli.cli._stage import run_and_print

if TYPE_CHECKING:
    from recon_cli.pipeline.run import Run, StageOutcome

_NEIGHBOURS = {"replace": "one record changed", "add-or-remove": "one record more or less"}


@click.group()
def command() -> None:
    """Protect records or their counts before they are published.

    \b
    Example:
      recon protect swap -c nation.yaml
      recon protect round -c nation.yaml
      recon protect suppress -c clinic.yaml

    \b
    Config keys: those of each command.
    """  # noqa: D301 - click wants the character itself


@command.command()
@run_options
@click.option("--setting", help="targeted, lo, hi, or the path of a .yaml file.")
@force_option
def swap(options: RunOptions, *, setting: str | None, force: bool) -> None:
    """Swap households: the CEF becomes an HDF.

    Writes hdf/ and hdf_households/ (the records with their new blocks) and swaps/ (the pairs).
    Settings lo and hi are the two of the 2010 study's Appendix C; targeted swaps those at risk,
    at rates fitted to the published agreement of HDF and CEF.

    \b
    Example:
      recon protect swap -c nation.yaml
      recon protect swap --setting hi --work work/hi

    \b
    Config keys:
      release, work, seed, workers
      swap.population  work folder with persons/
                       and households/
      swap.setting     targeted (default), lo, hi,
                       or the path of a .yaml file
      swap.seed        default the run's seed
    """  # noqa: D301 - click wants the character itself
    run_and_print("swap", options.setting(swap__setting=setting), force=force)


def print_swap(_run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage."""
    totals, reaches = outcome.manifest.totals, outcome.manifest.statuses
    pairs = totals["pairs"]
    show(
        title_of(outcome),
        [
            ("setting", str(outcome.manifest.notes["setting"])),
            ("people", f"{totals['people']:,}"),
            ("households", f"{totals['households']:,}"),
            ("  swapped", share(2 * pairs, totals["households"])),
            *((f"  pairs met in {name}", share(count, pairs)) for name, count in reaches.items()),
            ("seconds", seconds(outcome.manifest.run.wall_seconds, totals["people"])),
        ],
    )


@command.command(name="round")
@run_options
@force_option
def round_(options: RunOptions, *, force: bool) -> None:
    """Round the counts of records to multiples of a base.

    Writes rounded/ (a tidy publication and its protection.yaml, as recon ingest reads them) and
    rounded_accuracy/. For study: whoever knows the seed undoes it, and a seeded generator is no
    release mechanism.

    \b
    Example:
      recon protect round -c nation.yaml
      recon protect round --set round.base=5 --work work/rr5

    \b
    Config keys:
      release, work, seed
      round.records  .parquet or .csv, or a folder
                     (default the run's persons/)
      round.counts   or a work folder with ingested
                     exact counts
      round.base     default 3
      round.how      random (default), nearest, or
                     controlled: tables stay additive
      round.keys     records (default): equal sets
                     of records are rounded alike;
                     cells: each cell by itself
      round.levels   default all; others are exact
      round.tables   as reconstruct.tables
      round.seed     default the run's seed
    """  # noqa: D301 - click wants the character itself
    run_and_print("round", options, force=force)


@command.command()
@run_options
@force_option
def cellkey(options: RunOptions, *, force: bool) -> None:
    """Perturb the counts of records by cell keys.

    Every record has a key; the sum of the keys in a cell picks the offset of its count from a
    p-table: of greatest entropy for a maximum and a variance, or from a file. Writes perturbed/
    (a tidy publication and its protection.yaml, as recon ingest reads them) and
    perturbed_accuracy/. For study: a seeded generator is no release mechanism.

    \b
    Example:
      recon protect cellkey --set cellkey.ptable=ptable.csv
      recon protect cellkey -c nation.yaml

    \b
    Config keys:
      release, work, seed
      cellkey.records   .parquet or .csv, or a folder
                        (default the run's persons/)
      cellkey.max       greatest offset
      cellkey.variance  of the offsets
      cellkey.never     small counts that are never
                        published, as [1, 2]
      cellkey.ptable    a CSV file (R's ptable, ONS)
                        in place of the three
      cellkey.identifier  column that keys are made
                          of; default all features
      cellkey.tables    as reconstruct.tables
      cellkey.seed      default the run's seed
    """  # noqa: D301 - click wants the character itself
    run_and_print("cellkey", options, force=force)


@command.command()
@run_options
@click.option("--strategy", help="pl94_2020, dhc_2020, or the path of a .yaml file.")
@force_option
def noise(options: RunOptions, *, strategy: str | None, force: bool) -> None:
    """Measure the counts of records with noise.

    The noise is discrete Gaussian or geometric, exactly, as a strategy says: which queries at which
    level, each with its share of the budget. Writes noisy/ (a tidy publication, its protection.yaml
    and, where the queries are not tables of the release, release.yaml: the schema to read it with)
    and noisy_accuracy/. The seeded source is for study; source opendp is for more than that.

    \b
    Example:
      recon protect noise --strategy pl94_2020
      recon protect noise -c nation.yaml

    \b
    Config keys:
      release, work, seed
      noise.strategy  pl94_2020, dhc_2020, or the path
                      of a .yaml file
      noise.records   .parquet or .csv, or a folder
                      (default the run's persons/)
      noise.geounits  all units, inhabited or not
                      (default those with records)
      noise.levels    default all of the strategy from
                      the release's partitions down
      noise.without   features that it measures and
                      the release lacks
      noise.source    seeded (default), opendp
      noise.seed      default the run's seed
    """  # noqa: D301 - click wants the character itself
    run_and_print("noise", options.setting(noise__strategy=strategy), force=force)


def print_noise(_run: Run, outcome: StageOutcome) -> None:
    """Print what was measured, what it spent, and the summary."""
    import polars as pl  # noqa: PLC0415 - slow imports when needed

    totals, notes = outcome.manifest.totals, outcome.manifest.notes
    unit = "ρ" if notes["mechanism"] == "gaussian" else "ε"
    rows = [
        (row["level"], row["query"], f"{row['cells']:,}", f"{_value(row['budget']):.6f}",
         f"{row['variance'] ** 0.5:.2f}")
        for row in notes["measured"]
    ]  # fmt: skip
    header = ["level", "query", "cells", unit, "σ"]
    show_table(pl.DataFrame(rows, schema=header, orient="row"), header)
    show(
        title_of(outcome),
        [
            ("strategy", str(notes["strategy"])),
            ("neighbours", _NEIGHBOURS[notes["neighbours"]]),
            ("spent", _spent(notes, "")),
            ("whole strategy", _spent(notes, "whole_")),
            ("noise", str(notes["source"])),
            ("people", f"{totals['people']:,}"),
            ("measurements", f"{totals['cells']:,}"),
            ("  below zero", share(totals["negative"], totals["cells"])),
            ("seconds", seconds(outcome.manifest.run.wall_seconds, totals["people"])),
        ],
    )


@command.command()
@run_options
@force_option
def topdown(options: RunOptions, *, force: bool) -> None:
    """Make records from noisy measurements, level by level.

    The design of the 2020 census: the queries of a strategy are measured at every level; from above
    each geounit's histogram is divided among its children by non-negative least squares over the
    cells that it has people in, and rounded with all sums kept. A second product agrees with the
    first. Writes mdf/. For study: the noise repeats with the seed.

    \b
    Example:
      recon protect topdown -c nation.yaml
      recon tabulate --set tabulate.records=work/mdf --to mdf.parquet

    \b
    Config keys:
      release, work, seed
      topdown.strategies  default pl94_2020, dhc_2020
      topdown.records     .parquet or .csv, or a folder
                          (default the run's persons/)
      topdown.geounits    all units that people may be
                          put in (default those with
                          records)
      topdown.levels      from above; default all
      topdown.geography   a file of other geounits, as
                          optimised block groups
      topdown.without     features that the release
                          lacks
      topdown.invariant   {query, levels}: exact counts
      topdown.steps       of least squares, default 100
      topdown.seed        default the run's seed
    """  # noqa: D301 - click wants the character itself
    run_and_print("topdown", options, force=force)


def print_topdown(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage."""
    totals, notes = outcome.manifest.totals, outcome.manifest.notes
    show(
        title_of(outcome),
        [
            ("levels", ", ".join(notes["levels"])),
            *((str(each["strategy"]), _spent(each, "")) for each in notes["products"]),
            ("neighbours", _NEIGHBOURS[notes["products"][0]["neighbours"]]),
            ("people", f"{totals['people']:,}, of {totals['true_people']:,}"),
            (f"{run.release.geography.unit.name}s with people", f"{totals['units']:,}"),
            ("seconds", seconds(outcome.manifest.run.wall_seconds, totals["people"])),
        ],
    )


@command.command()
@run_options
@force_option
def randomize(options: RunOptions, *, force: bool) -> None:
    """Replace answers of records by chance.

    Randomised response: each answer is reported or replaced by a known matrix, or by ε. Writes
    randomized/ (the records) and randomized_counts/ (for each cell the reported count, an unbiased
    estimate of the true one, and its standard deviation). For study: a seed repeats the answers.

    \b
    Example:
      recon protect randomize -c clinic.yaml

    \b
    Config keys:
      release, work, seed
      randomize.responses  feature: {epsilon: 1}, or
                           {matrix: [[…], …]}
      randomize.records    .parquet or .csv, or a folder
                           (default the run's persons/)
      randomize.tables     as reconstruct.tables
      randomize.seed       default the run's seed
    """  # noqa: D301 - click wants the character itself
    run_and_print("randomize", options, force=force)


def print_randomize(_run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage."""
    totals, found = outcome.manifest.totals, outcome.manifest.notes["epsilon"]
    answers = totals["people"] * len(found)
    show(
        title_of(outcome),
        [
            *(
                (name, "no finite ε" if value is None else f"ε {value:.3g}")
                for name, value in found.items()
            ),
            ("people", f"{totals['people']:,}"),
            ("answers replaced", share(totals["changed"], answers)),
            ("counts estimated", f"{totals['cells']:,}"),
            ("seconds", seconds(outcome.manifest.run.wall_seconds, totals["people"])),
        ],
    )


def _value(text: str) -> float:
    from fractions import Fraction  # noqa: PLC0415

    return float(Fraction(text))


def _spent(notes: Mapping[str, Any], which: str) -> str:
    """``ρ 2.5562, ε 17.90 at δ 1e-10``."""
    epsilon = f"ε {notes[f'{which}epsilon']:.2f}"
    if notes["mechanism"] == "geometric":
        return epsilon
    return f"ρ {notes[f'{which}budget']:.4f}, {epsilon} at δ {notes['delta']:.0e}"


@command.command()
@run_options
@force_option
def suppress(options: RunOptions, *, force: bool) -> None:
    """Suppress small counts, and those that would give them away.

    Counts under a threshold, or that few people dominate, are primary cells. Complementary ones are
    chosen by elimination over all tables and levels of a region; then every primary cell is
    audited, and more are suppressed, until two solutions are known in which it differs. Writes
    suppressed/ (a tidy publication and its protection.yaml, as recon ingest reads them) and
    suppressed_accuracy/. For study: a seeded run is no release mechanism.

    \b
    Example:
      recon protect suppress -c clinic.yaml
      recon protect suppress --set suppress.zeros=hide

    \b
    Config keys:
      release, work, seed
      suppress.records    .parquet or .csv, or a folder
                          (default the run's persons/)
      suppress.counts     or a work folder with ingested
                          exact counts
      suppress.below      default 3
      suppress.zeros      publish (default), hide
      suppress.value      a column of the records, for
      suppress.dominance  [n, k]: the n largest values
                          are over k percent of a cell
      suppress.p_percent  or the others are under p
                          percent of the largest
      suppress.safety     how far apart two possible
                          counts of a primary cell are
                          at least (1)
      suppress.tables     as reconstruct.tables
      suppress.seed       default the run's seed
    """  # noqa: D301 - click wants the character itself
    run_and_print("suppress", options, force=force)


def print_suppress(_run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage, and what published zeros mean."""
    totals, notes = outcome.manifest.totals, outcome.manifest.notes
    suppressed, primary = totals["suppressed"], totals["primary"]
    facts = [
        ("people", f"{totals['people']:,}"),
        ("counts above zero", f"{totals['cells']:,}"),
        ("suppressed", f"{suppressed:,}"),
        (f"  primary, below {notes['below']} or dominated", share(primary, suppressed)),
        ("  complementary", share(suppressed - primary, suppressed)),
        ("seconds", seconds(outcome.manifest.run.wall_seconds, totals["people"])),
    ]
    if notes["zeros"] == "publish":
        facts.append(("warning", "zeros are published, so every flag says at least 1"))
    show(title_of(outcome), facts)


@command.command()
@run_options
@force_option
def census1980(options: RunOptions, *, force: bool) -> None:
    """Suppress counts by the rules of the 1980 census.

    Counts of 1 or 2 by race (P1) and by race and ethnicity (P2) become zero, unmarked; the same
    tables of people of voting age are withheld where the smallest group has 1 to 14 people. Race is
    in seven groups (`release: pl94_1980`). Writes census1980/ (a tidy publication and its
    protection.yaml), census1980_accuracy/ and census1980_rates/: Tables 18 and 19 of the study.

    \b
    Example:
      recon protect census1980 -c rules.yaml

    \b
    Config keys:
      release, work
      census1980.records  .parquet or .csv, or a folder
                          (default the run's persons/)
    """  # noqa: D301 - click wants the character itself
    run_and_print("census1980", options, force=force)


def print_census1980(run: Run, outcome: StageOutcome) -> None:
    """Print Tables 18 and 19 beside the study's, and the summary."""
    from recon_cli.stages.census1980 import read_rates  # noqa: PLC0415 - loads polars

    totals = outcome.manifest.totals
    show_table(
        read_rates(run.work, run.release),
        ["table", "panel", "level", "of", "affected", "%", "study"],
    )
    show(
        title_of(outcome),
        [
            ("people", f"{totals['people']:,}"),
            ("counts above zero", f"{totals['cells']:,}"),
            ("  published as zero", share(totals["zeroed"], totals["cells"])),
            ("cells withheld with their table", f"{totals['suppressed']:,}"),
            ("Panel C of Table 18", "cells of P3; the study's repeats Table 19, Panel A"),
            ("seconds", seconds(outcome.manifest.run.wall_seconds, totals["people"])),
        ],
    )


def print_round(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage, and what is known to undo it."""
    totals, copies = outcome.manifest.totals, outcome.manifest.notes["copies"]
    many = f"{copies['cells']:,} cells, {copies['margins']:,} different, one {copies['most']} times"
    show(
        title_of(outcome),
        [
            ("law", str(outcome.manifest.notes["law"])),
            ("people", f"{totals['people']:,}"),
            ("cells above zero", f"{totals['cells']:,}"),
            ("  changed", share(totals["changed"], totals["cells"])),
            ("  published as zero", share(totals["false_zeros"], totals["cells"])),
            ("  published twice or more", share(totals["repeated"], totals["cells"])),
            ("    not alike", share(totals["fixed"], totals["repeated"])),
            (f"copies in a {run.release.geography.unit.name}", many),
            ("seconds", seconds(outcome.manifest.run.wall_seconds, totals["people"])),
        ],
    )


print_cellkey = print_round
