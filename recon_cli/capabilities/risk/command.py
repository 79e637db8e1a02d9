"""``recon plan risk``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import polars as pl

from recon_cli.budget import exact
from recon_cli.capabilities.risk import expectation
from recon_cli.capabilities.risk.expectation import ExpectedRisk
from recon_cli.capabilities.risk.given import precision, prior_of
from recon_cli.capabilities.risk.kazan_reiter import FIGURES, TABLES, line_chart
from recon_cli.capabilities.risk.two_levels import Flat, TwoLevels
from recon_cli.console.options import (
    ConfiguredCommand,
    GivenPath,
    RunOptions,
    force_option,
    run_options,
)
from recon_cli.console.output import show, show_table
from recon_cli.console.stage_command import run_and_print
from recon_cli.errors import ConfigError
from recon_cli.page.charts import Scale
from recon_cli.page.drawing import svg_file
from recon_cli.spreadsheet import csv_bytes
from recon_cli.store.files import disk, make_folder, write_bytes


@click.group()
def command() -> None:
    """Compute how sure an adversary with noisy counts can be about a person.

    Example:
      recon plan risk expected --rho block=0.0992 --prior 1/2

    Config keys, of `recon plan risk release`:
      risk.truth, risk.measurements, risk.noise,
      risk.priors, risk.upper, risk.flag
    """


@command.command()
@click.option(
    "--rho",
    "budgets",
    multiple=True,
    required=True,
    metavar="LEVEL=RHO",
    help="ρ of a count: the geounit's, then that of the level above; as 2.56*165/4099. Repeatable.",
)
@click.option(
    "--prior", "priors", multiple=True, default=("1/2",), help="Target's prior. Repeatable.  [1/2]"
)
@click.option(
    "--rho-grid", metavar="FROM:TO:log", help="Also compute at 13 values of ρ, spaced log or lin."
)
@click.option(
    "--siblings", type=click.IntRange(min=1), default=27, help="Number of sibling geounits.  [27]"
)
@click.option(
    "--upper-count",
    type=click.IntRange(min=1),
    default=1,
    help="True count at the level above, target included.  [1]",
)
def expected(
    *,
    budgets: tuple[str, ...],
    priors: tuple[str, ...],
    rho_grid: str | None,
    siblings: int,
    upper_count: int,
) -> None:
    """Compute the risk expected before a release.

    Assumes that the target, about whom the adversary wants to know, is alone in the cell.

    A second --rho adds four adversaries who use the level above: one has a flat prior on the
    siblings' count, one samples that count as Kazan and Reiter's published code does, one knows the
    true count at the level above, and one knows the siblings.

    Example:
      recon plan risk expected --rho block=2.56*165/4099*3945/4097 --prior 1/2 --prior 1/864
      recon plan risk expected --rho block=0.0992 --rho obg=0.2465 --upper-count 5
    """
    try:
        rhos = _budgets(budgets)
        rows = [
            _row(name, rho, risk)
            for rho in (rhos[0], *_grid(rho_grid))
            for name, risk in _risks([rho, *rhos[1:]], priors, siblings, upper_count - 1)
        ]
    except ValueError as error:
        raise ConfigError(str(error)) from error
    header = ["rho", "adversary", "prior", "posterior", "ratio", "correct", "ties"]
    show_table(pl.DataFrame(rows, schema=header, orient="row"), header)


@command.command(cls=ConfiguredCommand, sections=("risk",))
@run_options
@force_option
def release(options: RunOptions, *, force: bool) -> None:
    """Compute the risk after a release.

    Writes risk/ (a row for each cell with people and each prior, and a summary) and risk_sums/
    (sums of each partition). The adversary knows everybody in the geounit but the target.

    Example:
      recon plan risk release -c recon.yaml
    """
    run_and_print("risk", options, force=force)


@command.command("kazan-reiter")
@click.option(
    "--table", "tables", multiple=True, type=click.Choice(list(TABLES)), help="Repeatable."
)
@click.option(
    "--figure", "figures", multiple=True, type=click.Choice(list(FIGURES)), help="Repeatable."
)
@click.option(
    "--to",
    type=GivenPath(file_okay=False),
    default=Path("kazan-reiter"),
    help="Folder for CSV files and drawings.  [kazan-reiter]",
)
def kazan_reiter(*, tables: tuple[str, ...], figures: tuple[str, ...], to: Path) -> None:
    """Make tables and figures of a paper by Kazan and Reiter.

    Without --table and --figure, all are made. They follow from the budgets of the 2020
    redistricting data. Tables are printed, too.

    Example:
      recon plan risk kazan-reiter --table 4
      recon plan risk kazan-reiter --figure 10 --figure 11
    """
    if not (tables or figures):
        tables, figures = tuple(TABLES), tuple(FIGURES)
    with disk(to):  # before the work, not after
        make_folder(to)
    for number in tables:
        table = TABLES[number]()
        show_table(table, table.columns)
        write_bytes(to / f"table_{number}.csv", csv_bytes(table))
    for number in figures:
        figure = FIGURES[number]
        points = figure.points()
        write_bytes(to / f"figure_{number}.csv", csv_bytes(points))
        chart = line_chart(points, Scale(figure.x, is_log=figure.is_log), Scale(figure.unit))
        write_bytes(to / f"figure_{number}.svg", svg_file(chart).encode())
        show(f"Figure {number}: {figure.caption}", [("drawing", str(to / f"figure_{number}.svg"))])


def _budgets(texts: tuple[str, ...]) -> list[float]:

    if len(texts) > 2:
        raise ValueError("--rho: one or two levels are expected")
    values = []
    for text in texts:
        level, equals, value = text.rpartition("=")
        if not equals or not level:
            raise ValueError(f"--rho {text!r}: LEVEL=RHO is expected, as in block=0.0992")
        values.append(precision(exact(value)))
    return values


def _grid(text: str | None) -> list[float]:
    """Parse thirteen values of ρ, in equal steps of its logarithm or of itself."""
    if text is None:
        return []

    parts = text.split(":")
    if len(parts) != 3 or parts[2] not in {"log", "lin"}:
        raise ValueError(f"--rho-grid {text!r}: FROM:TO:log or FROM:TO:lin is expected")
    first, last = (precision(exact(part)) for part in parts[:2])
    steps = [step / 12 for step in range(13)]
    if parts[2] == "log":
        return [first * (last / first) ** step for step in steps]
    return [first + (last - first) * step for step in steps]


def _risks(
    rhos: list[float], priors: tuple[str, ...], siblings: int, count: int
) -> Iterator[tuple[str, ExpectedRisk]]:

    for p in map(prior_of, priors):
        yield "one level", expectation.expected(rhos[0], p)
        if len(rhos) == 2:
            levels = TwoLevels(rhos[0], rhos[1], siblings)
            exact = expectation.expected_two_level(levels, p, count, Flat())
            yield "flat prior", exact
            sampler = expectation.expected_published_sampler(levels, p, count)
            yield "as published", sampler
            yield "known upper", expectation.expected_known_upper(levels, p, count)
            yield "siblings known", expectation.expected_known_siblings(levels, p)


def _row(name: str, rho: float, risk: ExpectedRisk) -> tuple[str, ...]:
    numbers = (risk.prior, risk.posterior, risk.ratio, risk.correct, risk.tied)
    return (f"{rho:.4g}", name, *(f"{number:.4g}" for number in numbers))
