"""``recon account``."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, Literal

import click
import polars as pl

from recon_cli.capabilities.account.account import Product, Spend, Total, grouped, tight_epsilon
from recon_cli.capabilities.account.options import Account
from recon_cli.capabilities.account.stage import account_of, other_accounts, uncounted
from recon_cli.console.options import OUTPUT_FILE, ConfiguredCommand, RunOptions, run_options
from recon_cli.console.output import Fact, show, show_table
from recon_cli.errors import ConfigError
from recon_cli.plurals import plural
from recon_cli.spreadsheet import csv_bytes
from recon_cli.store.files import write_named

#: Remark on a limit if the loss of some product is unbounded.
_BEYOND: Final = "and nothing keeps within it what has no ε"


@click.command(cls=ConfiguredCommand, sections=("account",))
@run_options
@click.option(
    "--by",
    type=click.Choice(["product", "level", "query"]),
    default="product",
    help="Add up by product, level or query.  [default: product]",
)
@click.option("--to", type=OUTPUT_FILE, help="Also write a row for each query to this .csv file.")
def command(
    options: RunOptions, *, by: Literal["product", "level", "query"], to: Path | None
) -> None:
    """Add up the privacy loss of all products about the same people.

    A protection with noise records its privacy loss before anything is drawn: a killed run has
    spent it, and spends no more when it is resumed; --force spends again. Products without an ε,
    such as rounded or suppressed counts of the same people, are listed too: they leave the
    total unbounded, and the sums cover the noise alone. Runs with a study_seed spend nothing.
    Publications in the work folder that are not in the account are named.

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
    facts = (
        *_in_all(products),
        *_apart(uncounted(run.work, products)),
        *_elsewhere(other_accounts(kept, run.work)),
        *_noise(section, products, run.release.record),
        *_void(products),
    )
    show("together", list(facts))


def _unbounded(products: Sequence[Product]) -> list[Product]:
    return [p for p in products if any(each.budget is None for each in p.spends)]


def _in_all(products: Sequence[Product]) -> Iterator[Fact]:
    yield "products", f"{len(products)}"
    without = len(_unbounded(products))
    if without:
        said = "1 product without" if without == 1 else f"{without} products without"
        yield "in all", f"no ρ and no ε: {said}; below, noise alone"


def _apart(folders: Sequence[tuple[str, str]]) -> Iterator[Fact]:
    for stage, folder in folders:
        yield (
            "not counted",
            f"{folder}/ of `{stage}` was published, and is not in this account",
        )


def _elsewhere(accounts: Sequence[Path]) -> Iterator[Fact]:
    for path in accounts:
        yield (
            "another account",
            f"{path} is of the same people and is not added up here; name one file in all "
            "configs (account.file)",
        )


def _noise(section: Account, products: Sequence[Product], record: str) -> Iterator[Fact]:
    """Report the privacy loss of the noise, and the rest of the limit."""
    spends = [each for p in products for each in p.spends if each.budget is not None]
    total = Total.of(spends)
    if products and not spends:
        yield "noise", "none: no product has any"
    else:
        yield "ρ", f"{float(total.rho or 0):.6g}"
        for people in section.people:
            noun = record if people == 1 else plural(record)
            epsilon = total.of_people(people).epsilon(section.delta)
            yield f"{people} {noun.replace('_', ' ')}", f"ε {epsilon:.2f} at δ {section.delta:.0e}"
        if section.tight:
            yield f"1 {record}, tight", _tight(spends, section.delta)
    yield from _left(section, total, is_bounded=not _unbounded(products))


def _void(products: Sequence[Product]) -> Iterator[Fact]:
    """Report the limits of the guarantees."""
    for product in _unbounded(products):
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


def _tight(spends: Sequence[Spend], delta: float) -> str:
    epsilon = tight_epsilon(spends, delta)
    if epsilon is not None:
        return f"ε {epsilon:.2f}, by the distribution of the privacy loss"
    if all(each.has_loss for each in spends):
        return f"not known: δ {delta:.0e} is no more than what sums of losses may be wrong by"
    return "not known: a query is no histogram, and its worst change not known cell by cell"


def _left(section: Account, total: Total, *, is_bounded: bool) -> Iterator[Fact]:
    limit = section.limit
    if limit is not None and limit.rho is not None:
        left = f"{float(limit.rho - (total.rho or 0)):.6g} left"
        yield "limit", f"ρ {float(limit.rho):.6g}, {left if is_bounded else _BEYOND}"
    if limit is not None and limit.epsilon is not None:
        told = f"ε {limit.epsilon:g} at δ {section.delta:.0e}"
        yield "limit", told if is_bounded else f"{told}, {_BEYOND}"


def _said(total: Total) -> tuple[str, str]:
    rho = "none" if total.rho is None else f"{float(total.rho):.6g}"
    return rho, "" if total.pure is None else f"{float(total.pure):.6g}"


def _print(rows: Sequence[Sequence[str]], header: list[str]) -> None:

    show_table(pl.DataFrame(rows, schema=header, orient="row"), header)


def _write(path: Path, products: Sequence[Product]) -> None:
    """Write a row for each query as CSV.

    Raises:
        ConfigError: The name does not end in ``.csv``.
    """
    if path.suffix != ".csv":
        raise ConfigError(f"--to {path}: a name that ends in .csv is expected")
    rows = [(p.stage, p.work, p.made_of, *_row(each)) for p in products for each in p.spends]
    header = ["product", "work", "made_of", "level", "query", "rho", "epsilon"]
    write_named(path, csv_bytes(pl.DataFrame(rows, schema=header, orient="row")))


def _row(spend: Spend) -> tuple[str, str, float, float | None]:
    rho = math.inf if spend.rho is None else float(spend.rho)
    pure = float(spend.budget) if spend.is_pure and spend.budget is not None else None
    return spend.level, spend.query, rho, pure
