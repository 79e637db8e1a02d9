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
- **Unique** people (Table 7) are data-defined ones who share block, sex and agebin with nobody,
  in percent of all people. How alike in age a block's householders are, `ages.alike`, is one
  number, 0.5 for blocks of all sizes. It was fitted to these seven shares and to the 44 percent
  of all people who are unique with single years of age: by least squares, each in units of its
  bound, on nations of other seeds (4, 5, 6; `python -m benchmarks.alike`). Alone, blocks of 1 to
  9 would choose 0.05, those of 10 to 249 0.4 to 0.45, larger ones 0.55 to 0.6 and the 44 percent
  0.8. So blocks of 1 to 9 have somewhat too few unique people, and with single years the nation
  has somewhat too many. Nothing else was fitted anew.
- Nine real tracts, to which nothing was fitted, speak for less likeness rather than for more. Of
  100 people in their blocks of 1 to 9, 10 to 49 and 50 to 99 people 92, 64 and 32 share block,
  sex and agebin with nobody, data-defined or not; here it is 87, 54 and 29. The ages of two
  adults of a block correlate by 0.27, 0.09 and 0.14, here by 0.35, 0.19 and 0.17. But these
  tracts were published because each of their blocks has one solution, so they are not like all
  others.
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
