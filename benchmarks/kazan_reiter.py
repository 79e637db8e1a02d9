"""The page of Kazan & Reiter: ``python -m benchmarks.kazan_reiter --page FILE``.

Its tables and figures are those of ``recon plan risk kazan-reiter``.
"""

from __future__ import annotations

import argparse
from math import sqrt
from pathlib import Path

from recon_cli.capabilities.risk.kazan_reiter import FIGURES, TABLES, line_chart
from recon_cli.markdown import markdown_table
from recon_cli.page.charts import Scale
from recon_cli.page.drawing import svg_file

HEADER = """# Risk beside the study

Tables and figures of Kazan and Reiter, each by a command; the equations are in [risk](risk.md).

```console
$ recon plan risk kazan-reiter --table 4
$ recon plan risk kazan-reiter --figure 10
```

The first prints a table and writes it as CSV; the second writes a drawing and its points; without a
number all are made. `python -m benchmarks.kazan_reiter --page docs/kazan_reiter.md` makes this page
of the same. All 59 printed cells of Tables 4 and 5 agree with ours to every decimal, as an audit
with the paper at hand found; of these the tests check rows 1 and 2 of Table 4 and 1 to 3 of Table
5. Table 3 is of a district's records of 1940, whose three counts are not in our notes, and Table 6
lists settings.

## Printed, and exact

The study simulates what is computed here without drawing. *By chance* is a standard deviation of a
share of 10,000 draws, where our notes say that there were that many.

| where | printed | exact | by chance |
| --- | ---: | ---: | ---: |
{drawn}
"""
COUNTS = """
Noisy counts 2 (block), 1 (block group) and −1 (the 27 siblings together), prior 1/2, nobody else in
the cell. *As published* is the limit of the published sampler, *exact* the posterior under a flat
prior on the siblings' count. Printed, of 10,000 draws: 57.4% with one level, 57.0% with two. That
it decreases is chance: the sampler's limit with two levels is 57.77%.
"""
SAMPLER = """
The same counts. Printed for 4 to 7, of 10,000 draws: 4.6, 0.7, 0.08 and 0.01%. The
limit at 4 is lower; what is printed is nearer to the law if the target is in (4.56, 0.79, 0.08 and
0.01%), and we cannot tell which of the two was meant.
"""
FIGURE_NOTES = """*As published* is the limit of the published sampler, *exact* the posterior under
a flat prior on the siblings' count. The sampler ignores that a block's count is at most the one
above. It is right more often where the target is alone in the block group, as in Figures 4 to 6,
because a flat prior expects others there.
"""
WRONG = """Figures 10 and 11 are of adversaries who are wrong about the level above (supplement
S4). Our notes say which beliefs the study tries (any number, a bound, 1, 27) and not what lies
along its axes, so the axes are ours. Who is sure of 27 where at most the target is there decides
for *in* too often: {known_in:.2f}% right if the target is in, {known_out:.2f}% if not; who knows
that it is 1 with the target in, {true_in:.2f}%. A prior with a bound errs the other way from 3 on:
it expects others in the block group. `recon plan risk release` asks such adversaries, too
(`risk.upper.prior` of `known:27`).
"""
TITLES = {
    "2": "budgets",
    "4": "one noisy block count",
    "5": "expected over the noise\n\nThe target is in.",
    "7": f"the target\n{COUNTS.rstrip()}",
    "8": f"the count above\n{SAMPLER.rstrip()}",
}
#: Columns of words, from the left.
WORDS = {"2": 1, "5": 1, "7": 1}


def drawn() -> str:
    """What the study printed of 10,000 draws, beside the exact number."""
    turned = FIGURES["4"].points()
    right, wrong = (
        float(turned.filter(series=f"turned {how}")["y"].sum()) for how in ("right", "wrong")
    )
    five = FIGURES["5"].points().filter(x=1)
    correct = dict(five.select("series", "y").iter_rows())
    target = {row[0]: 100 * float(row[1]) for row in TABLES["7"]().rows()}
    one, two = target["one level"], target["two levels, as published"]
    rows = [
        ("Table 7, one level, %", "57.4", f"{one:.2f}", f"{sqrt(one * (100 - one)) / 100:.2f}"),
        ("Table 7, two levels, %", "57.0", f"{two:.2f}", f"{sqrt(two * (100 - two)) / 100:.2f}"),
        ("Figure 4, turned right, %", "2.48", f"{right:.2f}", ""),
        ("Figure 4, turned wrong, %", "1.83", f"{wrong:.2f}", ""),
        ("Figure 4, right less wrong, points", "0.65", f"{right - wrong:.2f}", ""),
        (
            "right decisions, our notes do not say of whom, %",
            "59.05",
            f"block alone {correct['block alone']:.2f}, level above {correct['as published']:.2f}",
            "",
        ),
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def page() -> str:
    """The page."""
    parts = [HEADER.format(drawn=drawn())]
    for number, make in TABLES.items():
        table = make()
        cells = markdown_table(table.columns, table.rows(), WORDS.get(number, 0))
        parts.append(f"## Table {number}: {TITLES[number]}\n\n{cells}")
    parts.append(f"## Figures\n\n{FIGURE_NOTES}\n{wrong_beliefs()}")
    parts += [
        f"![Figure {number}](images/{_name(number)})\n\nFigure {number}: {figure.caption}\n"
        for number, figure in FIGURES.items()
    ]
    return "\n".join(parts)


def wrong_beliefs() -> str:
    """What Figures 10 and 11 show."""
    right = {
        (number, x): y
        for number in ("10", "11")
        for name, x, y in FIGURES[number].points().select("series", "x", "y").rows()
        if name == "this number"
    }
    ends = {"known_in": right["10", 27], "known_out": right["11", 27], "true_in": right["10", 1]}
    return WRONG.format(**ends)


def _name(number: str) -> str:
    return f"risk_figure_{number}.svg"


def main() -> None:
    """Write the page, and the figures into the folder ``images`` beside it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", type=Path, required=True)
    path: Path = parser.parse_args().page
    path.write_text(page())
    for number, figure in FIGURES.items():
        x, y = Scale(figure.x, is_log=figure.is_log), Scale(figure.unit)
        drawn = svg_file(line_chart(figure.points(), x, y))
        (path.parent / "images" / _name(number)).write_text(drawn)


if __name__ == "__main__":
    main()
