"""The claims of the 2010 reconstruction study beside ours: ``python -m benchmarks.wp31995``.

``--page docs/wp31995.md`` makes that page: claims of NBER Working Paper 31995 with what they rest
on and what shows them here, figures that follow from its printed tables, and misprints. Ours are
read from docs/scores.md, its tables and the measurements that git keeps.
"""

from __future__ import annotations

import argparse
import re
from functools import cache
from importlib import resources
from pathlib import Path

import polars as pl

from benchmarks.engines.tables import read_result
from benchmarks.machine import ROOT
from recon_cli.markdown import markdown_table
from recon_cli.schema import Release, Table, load_release

HEADER = """# The 2010 study beside ours

Claims of NBER Working Paper 31995, each with where it stands, what it rests on and what shows it
here. *Ours* is measured on synthetic people, 300,000 of them where nothing else is said
([scores](scores.md)): where the study's people are confidential nothing else can be had. This
page is made by `python -m benchmarks.wp31995 --page docs/wp31995.md`; its printed numbers are
those of the study's tables, which the package has (`recon_cli/capabilities/score/wp31995`) and
`recon score --compare wp31995` prints beside one's own. Every numbered table and figure:
[here](tables_and_figures.md).
"""

PROVEN = """## Who proves what

The study measures solution variability unit by unit with a commercial solver in floating point,
and reports zeros; nobody else can check them without solving again. Here a zero is said with a
proof in whole numbers that [one file](proofs.md) checks. Both are about all solutions of the
published tables: neither says that these are the confidential records, because the published file
is swapped (96.3% of HDF and CEF agree).
"""

#: Inhabited blocks and tracts, and all of them, in 2010.
BLOCKS, TRACTS = (6_207_027, 11_078_297), (72_531, 73_057)

Row = tuple[str, ...]


@cache
def printed(name: str) -> pl.DataFrame:
    """One of the study's tables."""
    folder = resources.files("recon_cli.capabilities.score") / "wp31995"
    return pl.read_csv((folder / f"{name}.csv").read_bytes())


def ours(title: str, column: str, *words: str) -> str:
    """A cell of docs/scores.tables.markdown: a rate in percent.

    Args:
        title: How the heading of the table begins, and after a colon what it is against.
        column: Of its header, without ``%``.
        words: What the row begins with.
    """
    text = (ROOT / "docs" / "scores.tables.markdown").read_text(encoding="utf-8")
    head, _, against = title.partition(": ")
    part = re.search(
        rf"^## {re.escape(head)}\b[^\n]*: {re.escape(against)}$(.*?)(?=^## |\Z)",
        text,
        re.MULTILINE | re.DOTALL,
    )
    if part is None:
        raise SystemExit(f"docs/scores.tables.markdown has no {title}")
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in part[1].splitlines()]
    header, _, *rows = [line for line in lines if line]
    named = (list(words), [*words[:-1], f"{words[-1]}-{against}"])
    (found,) = (row for row in rows if row[: len(words)] in named)
    return found[header.index(f"{column} %")].partition(" (")[0]


def modes() -> tuple[str, str]:
    """Whose mode the modal guess of a block is, in percent: ours and the study's."""
    text = (ROOT / "docs" / "scores.md").read_text(encoding="utf-8")
    found = re.search(
        r"own mode of ([\d.]+)% .*? for ([\d.]+)%, .*? for ([\d.]+)% \(.*?: (.*?)\)", text
    )
    if found is None:
        raise SystemExit("docs/scores.md does not say whose mode the modal guess is")
    return ", ".join(found.groups()[:3]), found[4]


def rate(table: str, source: str, column: str, size: str = "All") -> str:
    """A printed rate of everybody or of one size of blocks."""
    rows = printed(table).filter(pl.col("block_size") == size)
    key = "comparison" if "comparison" in rows.columns else "source"
    return f"{rows.filter(pl.col(key) == source)[column][0]}"


def claims() -> list[Row]:
    """Where, claim, what it rests on, printed, ours."""
    nation = next(case for case in read_result()["cases"].values() if case["kind"] == "nation")
    engine = {
        way: f"{100 * found['exact'] / found['records']:.1f}"
        for way, found in nation["rHDF_bt"].items()
        if found["solved"]
    }
    by_engine = ", ".join(f"{share}% by {way}" for way, share in engine.items())
    zero_units, zero_people = (
        ours("Table 7. Zero-solvar blocks: CEF", of, "All", "CEF") for of in ("units", "people")
    )
    agreement, everybody, hard = "Table 8", "Table 12", "Table 10"
    return [
        (
            "Table 6",
            "People in the 70% of blocks of least variability",
            "solutions of a solver, block by block",
            "97,238 thousand",
            "the claim is about blocks: those of zero variability, next row; of ours, too, the "
            "70% end above zero ([Table 6](scores.md#table-6-variability-by-percentile-of-blocks))",
        ),
        (
            "Table 7",
            "Blocks, and people in them, that have one solution",
            "the same",
            zero_words(),
            f"{zero_units}% of blocks, {zero_people}% of people, proven",
        ),
        (
            "Table 7",
            "Alone in the block on sex and age group, blocks of 1 to 9 and 50 to 99",
            "confidential CEF",
            "81.7%; 26.9%",
            "; ".join(
                f"{ours('Table 7: CEF', 'unique', size, 'CEF')}%" for size in ("1-9", "50-99")
            ),
        ),
        (
            agreement,
            "rHDF_bt agrees with HDF in age groups; the same of rHDF_b",
            "confidential HDF",
            f"{rate('table08_agreement', 'rHDF_bt-HDF', 'agree_binned_pct')}%; "
            f"{rate('table08_agreement', 'rHDF_b-HDF', 'agree_binned_pct')}%",
            f"{ours('Table 8: HDF', 'binned', 'All', 'rHDF_bt')}%; "
            f"{ours('Table 8: HDF', 'binned', 'All', 'rHDF_b')}%",
        ),
        (
            agreement,
            "rHDF_bt agrees with HDF on exact ages",
            "confidential HDF, and the choice of the solver among many solutions",
            f"{rate('table08_agreement', 'rHDF_bt-HDF', 'agree_exact_pct')}%",
            f"{by_engine}, of 100,000 people ([by each engine](scores.md#by-each-engine))",
        ),
        (
            everybody,
            "Precision of rHDF_bt, COMRCL; of the CEF's own file",
            "commercial files, confidential CEF",
            f"{rate('table12_all', 'rHDF_bt', 'comrcl_precision_pct')}%; "
            f"{rate('table12_all', 'rHDF_bt', 'cef_precision_pct')}%",
            f"{ours('Table 12: COMRCL', 'precision', 'All', 'rHDF_bt')}%; "
            f"{ours('Table 12: CEF_atkr', 'precision', 'All', 'rHDF_bt')}%",
        ),
        (
            hard,
            "Nonmodal uniques in zero-solvar blocks: precision of rHDF_bt and of PRG, CEF_atkr",
            "the same",
            "95.2%; 20.2%",
            "; ".join(
                f"{ours('Table 10: CEF_atkr', 'precision', 'nonmodal unique', 'All', source)}%"
                for source in ("rHDF_bt", "PRG")
            ),
        ),
        (
            "Table 13",
            "Nonmodal people: precision of rHDF_bt and of PRG, CEF_atkr",
            "the same",
            f"{rate('table13_nonmodal', 'rHDF_bt', 'cef_precision_pct')}%; "
            f"{rate('table13_nonmodal', 'PRG', 'cef_precision_pct')}%",
            "; ".join(
                f"{ours('Table 13: CEF_atkr', 'precision', 'All', source)}%"
                for source in ("rHDF_bt", "PRG")
            ),
        ),
        (
            "Table 11",
            "In age groups with the CEF agree rMDF_bt, rSWAPHi_bt, rSWAPLo_bt",
            "demonstration data; experimental swaps",
            "; ".join(
                f"{rate('table11_agreement_alternatives', f'{name}-CEF', 'agree_binned_pct')}%"
                for name in ("rMDF_bt", "rSWAPHi_bt", "rSWAPLo_bt")
            ),
            "; ".join(
                f"{ours('Table 11: CEF', 'binned', 'All', name)}%"
                for name in ("rMDF_bt", "rSWAPHi_bt", "rSWAPLo_bt")
            ),
        ),
        (
            "footnote 25",
            "The modal guess of a block is its own mode, its block group's, the nation's; percent",
            "confidential HDF",
            *reversed(modes()),
        ),
        (
            "Tables 18, 19",
            "The rules of 1980 would withhold up to 83.8% of blocks' tables by race of voting age",
            "confidential CEF",
            "83.8%",
            "83.4% ([results](results.md))",
        ),
        (
            "–",
            "Too costly for most: vCPU-hours of reconstruction, variability, linking",
            "README of the public archive (uscensusbureau/recon_replication): nodes of 96 vCPUs, "
            "days",
            ", ".join(
                f"{96 * 24 * nodes * days:,}" for nodes, days in ((30, 3), (25, 14), (1, 14))
            ),
            "0.6, 2.2, 1.3 core-hours, projected ([performance](performance.md))",
        ),
    ]


def zero_words() -> str:
    """Blocks and people of Table 7's columns of zero variability."""
    table = printed("table07_uniques_by_block_size")
    blocks, people = (
        table[f"zero_solvar_{name}"].sum() for name in ("blocks", "population_thousands")
    )
    share = 100 * int(blocks) / int(table["blocks"].sum())
    return f"{blocks:,} blocks ({share:.2f}%), {people:,} thousand people"


def derived() -> list[Row]:
    """Where, what, printed, derived."""
    ventiles, zero = printed("table06_solvar_percentiles"), printed("table07_uniques_by_block_size")
    at = {row["block_percentile"]: row for row in ventiles.iter_rows(named=True)}
    inside = at[70]["population_thousands"]
    fewer = at[70]["cumulative_population_thousands"] - at[65]["cumulative_population_thousands"]
    # 0.1 was rounded: it is at least 0.05.
    least = 0.05 * at[70]["cumulative_population_thousands"] / inside
    mean = _mean_of_ventile(at, 75)
    release = load_release("sf1_2010")
    block, tract = (leaf_cells(release, level) for level in ("block", "tract"))
    return [
        (
            "Table 6",
            "people in blocks of no variability, thousand",
            f'{at[70]["cumulative_population_thousands"]:,} ("97 million")',
            f"{zero['zero_solvar_population_thousands'].sum():,}, by Table 7",
        ),
        (
            "Table 6",
            "mean variability of the ventile from 65 to 70%",
            "0.0",
            f"at least {least:.2f}%: its {inside:,} thousand people make the 0.1% of the row",
        ),
        (
            "Table 6",
            "blocks of no variability",
            "70%",
            f"{zero_words().partition('(')[2].partition(')')[0]}, by Table 7",
        ),
        (
            "Table 6",
            "people whom 32 tables have fewer than 34, thousand",
            "14.3 million",
            f"{fewer:,}: the same ventile, of the 34 tables' own column",
        ),
        (
            "Table 6",
            "variability in the row of 75%",
            f"{at[75]['solvar_pct']}",
            f"the ventile's mean is {mean[0]:.1f} to {mean[1]:.1f}%: the row has its lower edge, "
            f"and the upper one is in the next, {at[80]['solvar_pct']}",
        ),
        *(
            (
                "statistics",
                what,
                f"{printed_}",
                f"{cells:,} × {geounits:,} = {cells * geounits:,} leaf cells",
            )
            for what, printed_, cells, geounits in (
                ("of all blocks", "8.6 billion", block, BLOCKS[1]),
                ("of all tracts", "241 million", tract, TRACTS[1]),
            )
        ),
        (
            "statistics",
            "of blocks and tracts with people",
            "5.0 billion",
            f"{block:,} × {BLOCKS[0]:,} + {tract:,} × {TRACTS[0]:,} = "
            f"{block * BLOCKS[0] + tract * TRACTS[0]:,}",
        ),
        (
            "statistics",
            "independent, of a block's",
            "all",
            f"678 of {block} ([capacity](capacity.md))",
        ),
    ]


def leaf_cells(release: Release, level: str) -> int:
    """Cells of the tables whose finest level this is that hold no other cell of their table."""
    return sum(
        _leaves(table) for table in release.tables if release.finest_level(table).name == level
    )


def _leaves(table: Table) -> int:
    """Distinct cells without a smaller one inside."""
    masks = {(cell.masks, cell.tally) for cell in table.cells}

    def holds(outer: tuple[int, ...], inner: tuple[int, ...]) -> bool:
        return inner != outer and all(a & b == a for a, b in zip(inner, outer, strict=True))

    return sum(not any(holds(outer, inner) for inner, _ in masks) for outer, _ in masks)


def _mean_of_ventile(at: dict[int, dict[str, float]], percentile: int) -> tuple[float, float]:
    """Least and greatest mean variability of a ventile that the rounded cumulative ones allow."""
    here, before = at[percentile], at[percentile - 5]

    def sums(row: dict[str, float], half: float) -> float:
        return (row["cumulative_solvar_pct"] + half) * row["cumulative_population_thousands"]

    people = here["population_thousands"]
    return (
        (sums(here, -0.05) - sums(before, 0.05)) / people,
        (sums(here, 0.05) - sums(before, -0.05)) / people,
    )


def misprints() -> list[Row]:
    """Where, printed, should be, shown by."""
    below = rate("table13_nonmodal", "rHDF_b", "cef_precision_pct", "50-99")
    folder = resources.files("recon_cli.capabilities.census1980") / "wp31995"
    panels = [
        pl.read_csv((folder / name).read_bytes()).filter(pl.col("panel").str.contains("Table P3"))
        for name in ("table18.csv", "table19.csv")
    ]
    same = panels[0]["affected"].to_list() == panels[1]["affected"].to_list()
    if not same:
        raise SystemExit("Table 18, Panel C, and Table 19, Panel A, differ")
    return [
        (
            "97 million people in blocks with one solution",
            "88.6 million",
            "Table 7; the 97 are Table 6's cumulative people up to 70%, of which 69.41% have zero",
        ),
        (
            "32 tables give 65% of blocks, 34 give 70%",
            "not a comparison",
            "the difference in people is one ventile of the column of 34 tables. On synthetic "
            "people both give the same blocks ([32 and "
            "34](contributions.md#the-study-s-34-tables-and-32)). An inference from the print: "
            "the study's own column for 32 tables is not printed",
        ),
        (
            "Table 6: variability of each percentile",
            "of the lower edge of its ventile",
            "the means above",
        ),
        (
            "footnote 34: above 50%",
            f"{below}% of rHDF_b in blocks of 50 to 99",
            "Table 13, CEF_atkr",
        ),
        (
            "Table 18, Panel C: cells of P3",
            "its numbers are Table 19's, Panel A: whole tables",
            "both columns are equal in every row",
        ),
        ("8.6 billion independent statistics", "8.6 billion leaf cells", "their rank, above"),
    ]


def page() -> str:
    """The page."""
    parts = [
        HEADER,
        "## Claims\n",
        markdown_table(["where", "claim", "rests on", "printed", "ours"], claims(), 5),
        PROVEN,
        "## Figures that follow from the print\n",
        markdown_table(["where", "what", "printed", "derived"], derived(), 4),
        "Leaf cells are those without a smaller one in their table: 773 of a block's 844, 3,296 "
        "of the 3,344 that tracts publish besides.\n",
        "## Misprints, and readings that the print does not bear\n",
        markdown_table(["printed", "should be", "shown by"], misprints(), 3),
    ]
    return "\n".join(parts)


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", type=Path, required=True)
    parser.parse_args().page.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
