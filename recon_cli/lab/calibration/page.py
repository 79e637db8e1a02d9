"""The calibration page: Markdown, one table a measure."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from recon_cli.markdown import markdown_table
from recon_cli.version import __version__

_HEAD = """\
# The synthetic population beside the real one

`recon data synth` generates a population; this page compares it with what was published of the real
one: the 2010 Census and the 2010 study (NBER WP 31995). It is generated. Do not edit it; run

    recon lab calibrate -c configs/nation.yaml

Nations of {people:,} people, seeds {seeds}, version {version}. {verdict}

How to read it: *found* is one column a seed; *off* is the largest difference of a seed from the
published value; *bound* is how large it may be, where the project asked for one.

- **Zero-solvar blocks** are measured as the study did, on the tables tabulated from the HDF, with
  the relaxed system (a block's tables as equalities, its tract's tables as bounds, Eq. 4.9). A
  block counts when bounds propagation alone leaves every histogram cell one value, so the shares
  are proven from below.
- **Nonmodal** is measured among all people. The study's shares are among data-defined people.
- **Unique** people (Table 7) are data-defined ones who share block, sex and agebin with nobody, in
  percent of all people. In blocks below 100 people there are too few, since `ages.alike`, how alike
  in age a block's householders are, was fitted as if the published shares (81.7, 50.3, 26.9)
  counted everybody who is unique: counted so, seed 1 has 80.0, 50.2 and 27.1. Were they no more
  alike than any others, data-defined uniques would be 81.4, 52.4 and 28.5
  (`python -m benchmarks.alike FOLDER`). In nine real tracts, whose blocks have one solution each,
  92, 64 and 32 of 100 people share these with nobody, data-defined or not.
- **COMRCL** is compared in its blocks that the CEF has people in. Its share outside of them is
  an assumption: no table that we have says it.
- Classes of large blocks hold few blocks: in a nation of a million people some 32 of a thousand
  people or more, so that one of them is 3 per cent.
"""


def calibration_page(judged: pl.DataFrame, people: int, seeds: Sequence[int]) -> str:
    """The page.

    Args:
        judged: From `recon_cli.lab.calibration.measures.judge`.
        people: In each nation.
        seeds: Of the nations.
    """
    asked = judged.filter(pl.col("ok").is_not_null())
    good = int(asked["ok"].sum())
    verdict = f"{good} of {len(asked)} values that have a bound are within it for every seed."
    named = ", ".join(map(str, seeds))
    head = _HEAD.format(people=people, seeds=named, version=__version__, verdict=verdict)
    parts = [head]
    for (title,), rows in judged.partition_by("measure", as_dict=True, maintain_order=True).items():
        parts.append(f"\n## {title}\n\n{_table(rows, seeds)}")
    return "".join(parts)


def _table(rows: pl.DataFrame, seeds: Sequence[int]) -> str:
    bounded = rows["bound"].is_not_null().any()
    names = ["", "published", *(f"seed {seed}" for seed in seeds), "off"]
    names += ["bound", "within"] if bounded else []
    body = []
    for row in rows.iter_rows(named=True):
        cells = [row["size"], _number(row["published"]), *map(_number, row["found"])]
        cells.append(_number(row["off"]))
        if bounded:
            cells += [_number(row["bound"]), {None: "", True: "yes", False: "**no**"}[row["ok"]]]
        body.append(cells)
    return markdown_table(names, body, text_columns=1)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
