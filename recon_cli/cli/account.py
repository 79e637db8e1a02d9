"""``recon account``."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import click
import polars as pl

from recon_cli.cli._options import OUTPUT_FILE, ConfiguredCommand, RunOptions, run_options
from recon_cli.cli._output import Fact, show, show_table
from recon_cli.config.sections.account import Account
from recon_cli.errors import ConfigError
from recon_cli.noise.account import Product, Spend, Total, grouped, tight_epsilon
from recon_cli.plurals import plural
from recon_cli.spreadsheet import csv_bytes
from recon_cli.stages.account import account_of
from recon_cli.store.files import write_named


@click.command(cls=ConfiguredCommand, sections=("account",))
@run_options
@click.option(
    "--by",
    type=click.Choice(["product", "level", "query"]),
    default="product",
    help="What is added up.  [default: product]",
)
@click.option("--to", type=OUTPUT_FILE, help="A .csv file that gets every query's row.")
def command(
    options: RunOptions, *, by: Literal["product", "level", "query"], to: Path | None
) -> None:
    """Add up what all products of the same people spend.

    A protection with noise writes down what it spends before anything is drawn: a killed run stays
    spent, and spends nothing more when it is resumed; --force spends again. What has no ε, such as
    rounded or suppressed counts of the same people, is there, too: nothing bounds what is told
    then. Runs for study spend nothing.

    Example:
      recon account -c register.yaml
      recon account -c register.yaml --by level
    """
    run = options.run()
    section = run.config.section(Account)
    kept = account_of(run.work, section)
    products = kept.products()
    if to is not None:
        _write(to, products)
    show(f"account of {section.of}", [("file", str(kept.path))])
    if by == "product":
        rows = [(p.stage, p.work, p.made_of, *_said(Total.of(p.spends))) for p in products]
        _print(rows, ["product", "work", "made of", "ρ", "ε, pure"])
    else:
        sums = grouped(products, by)
        _print([(name, *_said(total)) for name, total in sums.items()], [by, "ρ", "ε, pure"])
    show("together", list(_facts(section, products, run.release.record)))


def _facts(section: Account, products: Sequence[Product], record: str) -> Iterator[Fact]:

    bounded = [each for p in products for each in p.spends if each.budget is not None]
    unbounded = [p for p in products if any(each.budget is None for each in p.spends)]
    total = Total.of(bounded)
    yield "products", f"{len(products)}"
    yield "ρ", f"{float(total.rho or 0):.6g}"
    for people in section.people:
        noun = record if people == 1 else plural(record)
        epsilon = total.of_people(people).epsilon(section.delta)
        yield f"{people} {noun.replace('_', ' ')}", f"ε {epsilon:.2f} at δ {section.delta:.0e}"
    if section.tight:
        tight = tight_epsilon(bounded, section.delta)
        yield f"1 {record}, tight", _tight(tight)
    yield from _left(section, total)
    for product in unbounded:
        yield "not bounded", f"`{product.stage}` in {product.work}: nothing bounds what it tells"
    for product in products:
        for exact in product.invariants:
            yield (
                "invariant",
                f"`{product.stage}` publishes {exact} exactly: ρ and ε are between files that "
                "agree in that; of files that differ nothing is promised",
            )
        for note in product.notes:
            yield "note", f"`{product.stage}`: ρ and ε are {note}"


def _tight(epsilon: float | None) -> str:
    if epsilon is None:
        return "not known: a query is no histogram, and its worst change not known cell by cell"
    return f"ε {epsilon:.2f}, by the distribution of the privacy loss"


def _left(section: Account, total: Total) -> Iterator[Fact]:
    limit = section.limit
    if limit is not None and limit.rho is not None:
        left = limit.rho - (total.rho or 0)
        yield "limit", f"ρ {float(limit.rho):.6g}, {float(left):.6g} left"
    if limit is not None and limit.epsilon is not None:
        yield "limit", f"ε {limit.epsilon:g} at δ {section.delta:.0e}"


def _said(total: Total) -> tuple[str, str]:
    rho = "none" if total.rho is None else f"{float(total.rho):.6g}"
    return rho, "" if total.pure is None else f"{float(total.pure):.6g}"


def _print(rows: Sequence[Sequence[str]], header: list[str]) -> None:

    show_table(pl.DataFrame(rows, schema=header, orient="row"), header)


def _write(path: Path, products: Sequence[Product]) -> None:
    """Every query's row as CSV.

    Raises:
        ConfigError: The name does not end in ``.csv``.
        StageError: It cannot be written.
    """
    if path.suffix != ".csv":
        raise ConfigError(f"--to {path}: a name that ends in .csv is expected")
    rows = [(p.stage, p.work, p.made_of, *_row(each)) for p in products for each in p.spends]
    write_named(path, csv_bytes(_frame(rows)))


def _row(spend: Spend) -> tuple[str, str, float, float | None]:
    rho = math.inf if spend.rho is None else float(spend.rho)
    pure = float(spend.budget) if spend.is_pure and spend.budget is not None else None
    return spend.level, spend.query, rho, pure


def _frame(rows: Sequence[Sequence[object]]) -> pl.DataFrame:

    header = ["product", "work", "made_of", "level", "query", "rho", "epsilon"]
    return pl.DataFrame(rows, schema=header, orient="row")
