"""The page of `recon plan frontier`: errors of tables against the privacy loss."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from recon_cli.capabilities.frontier.matrix_mechanism import STRATEGIES
from recon_cli.capabilities.frontier.release import EVEN, OPTIMUM, NoiseLaw
from recon_cli.page.charts import Chart, CurvePanel, Scale, lines
from recon_cli.page.document import (
    Figure,
    Headline,
    ReportDocument,
    ReportSection,
    ResultTable,
    Term,
    result_table,
)
from recon_cli.page.words import words_of
from recon_cli.schema import Release

_MECHANISMS = {
    "randomized_response": "randomized response",
    "gaussian": "Gaussian",
    "laplace": "Laplace",
    "geometric": "geometric",
}
_ATTACKER = "any attacker"


@dataclass(frozen=True)
class ExactTables:
    """The cost of counts that would be exact.

    Attributes:
        what: The exact counts, and the strategy beside them, in words.
        bits: From `recon_cli.capabilities.frontier.invariant.bits_by_level`.
        posterior: From `recon_cli.capabilities.frontier.invariant.posterior_by_feature`.
    """

    what: str
    bits: pl.DataFrame
    posterior: pl.DataFrame


@dataclass(frozen=True)
class BoundedTables:
    """A count with a public bound.

    Attributes:
        right: From `recon_cli.capabilities.frontier.bounded_count.bounded_count`.
        tested: From `recon_cli.capabilities.frontier.bounded_count.count_intervals`.
    """

    most: int
    right: pl.DataFrame
    tested: pl.DataFrame


@dataclass(frozen=True)
class Frontiers:
    """The content of the page.

    Attributes:
        errors: From `recon_cli.capabilities.frontier.release.frontier`.
        one: From `recon_cli.capabilities.frontier.release.one_count`.
        levels: From `recon_cli.capabilities.frontier.matrix_mechanism.hierarchy_errors`.
        budget: The best ε at the officer's price, where one is given.
        exact: Cost of exact counts, if any are named.
        bounded: A count with a public bound, where one is given.
        users: From `recon_cli.capabilities.frontier.release.user_errors`, where users are named.
    """

    errors: pl.DataFrame
    one: pl.DataFrame
    levels: pl.DataFrame
    budget: float | None
    exact: ExactTables | None = None
    bounded: BoundedTables | None = None
    users: pl.DataFrame | None = None


def compose_frontier(
    release: Release, weights: Mapping[str, float], law: NoiseLaw, found: Frontiers
) -> ReportDocument:
    """Compose the page.

    Args:
        weights: Weights of tables, if not 1.
    """
    people = words_of(release).people
    neighbours = (
        "data sets that differ in the values of one record"
        if law.is_replaced
        else "data sets of which one has a record more"
    )
    return ReportDocument(
        title=f"What noise would cost the users of {release.title}",
        subject=f"{law.noise.capitalize()} noise; neighbours are {neighbours}",
        headline=Headline(
            _sentences(found, people),
            (
                "Errors are before post-processing. Rounding to consistent whole numbers from 0 "
                "costs no privacy, but raises small counts on average; an exact invariant voids "
                "the statement that ε makes.",
            ),
        ),
        facts=(),
        terms=(
            Term("ε", "the privacy loss of the whole release, all tables and levels together"),
            Term("strategy", "what is measured with noise; tables follow by least squares"),
            Term("rmse", f"root mean squared error of a published count, in {people}"),
            Term(
                "optimum",
                "the split of ε that makes the weighted sum of mean squared errors least, each "
                "table by its best strategy",
            ),
        ),
        sections=(
            _tables_section(weights, found.errors, people),
            *_users_section(found.users),
            *_levels_section(found.levels),
            _one_section(found.one, people),
            *_bounded_section(found.bounded),
            *_exact_section(found.exact, words_of(release).person),
        ),
    )


def _sentences(found: Frontiers, people: str) -> tuple[str, ...]:
    errors = found.errors
    middle = errors["epsilon"].unique().sort()[errors["epsilon"].n_unique() // 2]
    best = errors.filter(pl.col("is_best"), pl.col("epsilon") == middle)
    worst = best.filter(pl.col("split") == OPTIMUM).sort("rmse")
    first, last = worst.row(0, named=True), worst.row(-1, named=True)
    priced = f"At the price given, the best privacy loss is **ε = {found.budget or 0:.3g}**."
    return (
        *(() if found.budget is None else (priced,)),
        f"With ε = **{middle:g}** for everything, split as the weights want it, a count of "
        f"{first['table']} ({first['level']}) is off by **{first['rmse']:,.0f}** {people} in the "
        f"root mean square, one of {last['table']} ({last['level']}) by "
        f"**{last['rmse']:,.0f}**.",
        f"An attacker who knows all other records is right about one fair bit with probability "
        f"at most e^ε/(1+e^ε), {100 / (1 + math.exp(-middle)):.0f}%.",
    )


def _levels_section(levels: pl.DataFrame) -> tuple[ReportSection, ...]:
    """Report one count of each geounit after least squares over levels; needs branching."""
    depths = levels["depth"].n_unique()
    if depths < 2:
        return ()
    rows = []
    for part in levels.partition_by("budget", "epsilon", maintain_order=True):
        first = part.row(0, named=True)
        cells = ["–" if rmse is None else f"{rmse:,.3g}" for rmse in part["rmse"]]
        rows.append([first["budget"], f"{first['epsilon']:g}", *cells])
    header = ["budget", "ε", "the whole", *(f"level {depth}" for depth in range(1, depths))]
    sheet = result_table("Root mean squared error of one count by level", header, rows, 1)
    text = (
        "One count of each geounit, Laplace noise, least squares over the balanced tree: all ε at "
        "the finest level, even over all, or even over all but the finest."
    )
    return (ReportSection("levels", "Levels", (text,), sheets=(sheet,)),)


def _users_section(users: pl.DataFrame | None) -> tuple[ReportSection, ...]:
    """Report the errors of each user; empty if none are named."""
    if users is None:
        return ()
    rows = [
        (user, f"{epsilon:g}", f"{rmse:,.3g}", f"{100 * share:.1f}")
        for user, epsilon, rmse, share in users.iter_rows()
    ]
    sheet = result_table(
        "Root mean squared error of a count by user, optimum split",
        ["user", "ε", "rmse", "part of what accuracy is worth to all, %"],
        rows,
        1,
    )
    return (ReportSection("users", "Users", (), sheets=(sheet,)),)


def _bounded_section(bounded: BoundedTables | None) -> tuple[ReportSection, ...]:
    """Report a bounded count; empty if no bound is given."""
    if bounded is None:
        return ()
    mechanisms = ("uniform", "geometric", "honest", "fair")
    right = [
        (
            f"{row['epsilon']:g}",
            *(f"{100 * row[name]:.2f}" for name in mechanisms),
            "yes" if row["is_honest"] else "no",
        )
        for row in bounded.right.iter_rows(named=True)
    ]
    text = (
        f"A count of at most {bounded.most}, which all know; neighbours differ by one. Geometric "
        "noise taken to the nearest of these counts is right most often, if all are equally "
        "likely, but may publish another count more often than the true one: it is not honest "
        "then. A fair mechanism is right equally often of every count. Both are the best ones.",
    )
    wide = bounded.tested.with_columns(
        pl.format("{}–{}", "low", "high").alias("interval"),
        pl.col("epsilon").map_elements(lambda e: f"ε = {e:g}", pl.String),
    ).pivot("epsilon", index="published", values="interval")
    sheets = (
        result_table(
            "How often the count is right, %",
            ["ε", *mechanisms, "geometric is honest"],
            right,
            1,
        ),
        result_table(
            "What a published count leaves by two one-sided tests, 95%; geometric",
            wide.columns,
            [tuple(map(str, row)) for row in wide.iter_rows()],
            1,
        ),
    )
    return (ReportSection("bounded-count", "A small count", text, sheets=sheets),)


def _exact_section(exact: ExactTables | None, record: str) -> tuple[ReportSection, ...]:
    """Report the cost of exact counts; empty if none are named."""
    if exact is None:
        return ()
    bits = [
        (level.replace("_", " "), f"{counts:,}", f"{sd:.3g}", f"{found:.1f}")
        for level, counts, sd, found in exact.bits.iter_rows()
    ]
    believed = [
        (name, f"{noise:.2f}", f"{invariant:.2f}")
        for name, noise, invariant in exact.posterior.iter_rows()
    ]
    text = (
        f"Exact: {exact.what}. Bits are what the counts of one geounit add to its own noisy "
        "ones, about; what is measured above and below it leaves less open.",
        f"The adversary knows all other records, and all of one {record} but the value of a "
        "column, of which he holds two equally likely; what he believes of the true one, expected, "
        "at most, of values that all queries tell apart.",
    )
    level_header = ("level", "counts", "error of one, rmse", "bits of a geounit")
    header = ("column", "with noise alone, %", "with the exact counts, %")
    return (
        ReportSection(
            "invariant",
            "What exact counts cost",
            text,
            sheets=(
                result_table("Bits", level_header, bits),
                result_table("What is believed", header, believed),
            ),
        ),
    )


def _tables_section(
    weights: Mapping[str, float], errors: pl.DataFrame, people: str
) -> ReportSection:
    level = errors["level"][0]
    names = [name for name in STRATEGIES if name in set(errors["strategy"])]
    mean = (
        errors.filter(pl.col("level") == level, pl.col("split") == EVEN)
        .group_by("strategy", "epsilon")
        .agg((pl.col("rmse") ** 2).mean().sqrt())
        .sort("epsilon")
    )
    panel = CurvePanel(
        f"All tables of a {level}, by strategy",
        Scale("ε of the whole release", is_log=True),
        Scale(f"root mean squared error, {people}", is_log=True),
        lines({name: mean.filter(strategy=name).select("epsilon", "rmse") for name in names}),
    )
    figure = Figure(
        name="strategies",
        title="Error against privacy loss",
        caption="The budget is split evenly over tables and levels.",
        alt="Root mean squared error of a count against ε, falling, a line for each strategy.",
        chart=Chart((panel,), 1),
        sheets=(_sheet(errors, EVEN),),
    )
    said = ", ".join(f"{name} {weight:g}" for name, weight in weights.items()) or "all 1"
    return ReportSection(
        "tables",
        "Tables",
        (f"Weights: {said}.",),
        (figure,),
        (_sheet(errors, OPTIMUM),),
    )


def _sheet(errors: pl.DataFrame, split: str) -> ResultTable:
    chosen = errors.filter(pl.col("split") == split, pl.col("is_best"))
    epsilons = chosen["epsilon"].unique().sort().to_list()
    rows = []
    for (level, table, strategy, share), part in chosen.group_by(
        "level", "table", "strategy", "share", maintain_order=True
    ):
        values = dict(part.select("epsilon", "rmse").iter_rows())
        cells = [f"{values[epsilon]:,.3g}" for epsilon in epsilons]
        rows.append(
            [str(level), str(table), str(strategy), f"{100 * float(str(share)):.1f}", *cells]
        )
    header = ["level", "table", "best strategy", "share, %", *(f"ε = {e:g}" for e in epsilons)]
    return result_table(f"Root mean squared error, {split} split", header, rows, 3)


def _one_section(one: pl.DataFrame, people: str) -> ReportSection:
    x = Scale("ε", is_log=True)
    by_mechanism = {name: one.select("epsilon", key) for key, name in _MECHANISMS.items()}
    attacker = {_ATTACKER: one.select("epsilon", pl.col("any_attacker") * 100)}
    panels = (
        CurvePanel("Error of the count", x, Scale(people, is_log=True), lines(by_mechanism)),
        CurvePanel("Guessing one fair bit", x, Scale("% right", 50, 100), lines(attacker)),
    )
    sheet = result_table(
        "One count",
        ["ε", *_MECHANISMS.values(), "any attacker, %"],
        [
            [
                f"{row['epsilon']:g}",
                *(f"{row[key]:.4g}" for key in _MECHANISMS),
                f"{100 * row['any_attacker']:.2f}",
            ]
            for row in one.iter_rows(named=True)
        ],
        0,
    )
    figure = Figure(
        name="one-count",
        title="One count",
        caption="The error of randomized response is what it adds to that of sampling.",
        alt="Root mean squared error of one count by mechanism, and what an attacker guesses.",
        chart=Chart(panels, 2),
        sheets=(sheet,),
    )
    return ReportSection("one-count", "One count", (), (figure,))
