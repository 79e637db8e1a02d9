"""Measure how sheets whose cells somebody labelled are read: roles, totals, seconds a sheet.

``python -m benchmarks.labelled FILE.jl.gz`` takes a JSON line per sheet: ``table_array``, the texts
of its cells, and ``annotations``, the label of each: header, attributes, data, derived, notes,
metadata.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recon_cli.capabilities.init.proposal.proposal import Proposal, propose
from recon_cli.capabilities.init.proposal.relation import Axis
from recon_cli.errors import SourceError
from recon_cli.sources.read.numbers import ENGLISH
from recon_cli.sources.read.roles import Role
from recon_cli.sources.tabular.sheet import Sheet, sheet_of_rows

#: Labels of cells with numbers that a table is about.
_NUMBERS: Final = ("data", "derived")
#: Roles of the same.
_USED: Final = (Role.COUNT, Role.SHARE, Role.STATISTIC, Role.MARKER, Role.LEFT_OUT)


def labelled_sheets(path: Path) -> Iterator[tuple[Sheet, NDArray[np.object_]]]:
    """Yield sheets, and the label of each cell, empty where nothing stands."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            own = json.loads(line)
            rows = [[str(cell) for cell in row] for row in own["table_array"]]
            if not any(map(any, rows)):
                continue
            labels = np.array(
                [[label or "" for label in row] for row in own["annotations"]], dtype=object
            )
            labels = np.where(np.array(rows, dtype=object) == "", "", labels)
            yield sheet_of_rows(f"{own['file_name']} {own['table_id']}", rows), labels


def _totals(reading: Proposal) -> NDArray[np.bool_]:
    """Return the cells that a sum of the reading has as its total."""
    found = np.zeros(reading.grid.shape, dtype=bool)
    for table in reading.tables:
        body, counts = table.region.body, table.region.numeric
        for each in table.relations.found:
            if each.is_sum and each.support.is_strong:
                at = (
                    np.ix_(body, np.array([each.line]))
                    if each.axis is Axis.COLUMNS
                    else (each.line, counts)
                )
                found[at] = True
    return found


def measure(path: Path) -> dict[str, float]:
    """Return counts of cells by label and role, and the slowest sheet."""
    found: Counter[str] = Counter()
    slowest = 0.0
    for sheet, labels in labelled_sheets(path):
        start = time.perf_counter()
        try:
            reading = propose(sheet)
        except SourceError:
            found["refused"] += 1
            continue
        slowest = max(slowest, time.perf_counter() - start)
        found["sheets"] += 1
        rows, width = reading.grid.rows - 1, reading.grid.shape[1]
        own = labels[rows][:, :width]
        used = np.isin(reading.roles, _USED) & (own != "")
        numeric = np.vectorize(lambda text: ENGLISH.number(text) is not None)(reading.grid.texts)
        is_number = np.isin(own, _NUMBERS)
        found["data found"] += int((is_number & used).sum())
        found["data"] += int((is_number & (numeric | used)).sum())
        found["used"] += int(used.sum())
        found["words in use"] += int((np.isin(own, ("notes", "metadata")) & used & numeric).sum())
        totals = _totals(reading) & (own != "")
        found["totals"] += int(totals.sum())
        found["totals right"] += int((totals & (own == "derived")).sum())
        found["derived"] += int((own == "derived").sum())
    return {**found, "slowest": slowest}


def _report(found: dict[str, float]) -> str:
    precision = found["data found"] / max(found["used"], 1)
    f1 = 2 * found["data found"] / max(found["used"] + found["data"], 1)
    recall = found["data found"] / max(found["data"], 1)
    return "\n".join(
        (
            f"sheets                              {found['sheets']:,.0f}",
            f"without cells, refused              {found.get('refused', 0):,.0f}",
            f"numbers of the table: precision     {100 * precision:.2f}%",
            f"                      recall        {100 * recall:.2f}%",
            f"                      F1            {f1:.4f}",
            f"numbers in notes and titles in use  {found['words in use']:,.0f}",
            f"totals of sums                      {found['totals']:,.0f}",
            f"  of them labelled derived          {found['totals right']:,.0f}",
            f"cells labelled derived              {found['derived']:,.0f}",
            f"slowest sheet                       {found['slowest']:.2f} s",
        )
    )


def main() -> int:
    """Print what was measured; fail if a note is read as a number in use."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.labelled", description=__doc__)
    parser.add_argument("path", type=Path)
    found = measure(parser.parse_args().path)
    sys.stdout.write(f"{_report(found)}\n")
    return int(found["words in use"] > 0)


if __name__ == "__main__":
    sys.exit(main())
