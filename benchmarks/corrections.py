"""Corrected releases: what the mean of several gives away, if all cells are drawn anew or few.

    python -m benchmarks.corrections

Each release corrects one more record. The attacker has all releases and takes for every cell the
mean of what was published, rounded; for random rounding, the multiple of the base next to it is no
better. A cell is exact if that is the true count of the last release.
"""

from __future__ import annotations

import argparse
import sys
from typing import Final

import numpy as np
import polars as pl

from recon_cli.capabilities.protect.counts import protect_counts
from recon_cli.chance import KeyedChance
from recon_cli.markdown import markdown_table
from recon_cli.schema import Release, load_release
from recon_cli.statement import Law, Protection, Statement
from recon_cli.statement.cell_key import CellKey
from recon_cli.statement.rounding import Rounded

#: How chance is drawn: another key each time; by what records say; by an identifier.
WAYS: Final = ("all anew", "by records", "by identifier")
LAWS: Final[dict[str, Law]] = {
    "cellkey, at most 2, variance 1": CellKey(max=2, variance=1.0),
    "round, base 3": Rounded(base=3, how="random"),
}


def patients(release: Release, people: int, seed: int) -> pl.DataFrame:
    """Random records, numbered."""
    rng = np.random.default_rng(seed)
    units = [f"D{district:02}{clinic:03}" for district in (1, 2) for clinic in range(1, 7)]
    columns = {release.geoid_column: rng.choice(units, people).tolist()}
    for each in release.features:
        some = rng.integers(len(each.values), size=people)
        columns[each.name] = [each.values[value] for value in some]
    return pl.DataFrame(columns, strict=False).with_row_index("number")


def corrected(release: Release, records: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    """The records with another value of one feature of one of them."""
    feature = release.features[int(rng.integers(len(release.features)))]
    place = int(rng.integers(len(records)))
    other = feature.values[int(rng.integers(len(feature.values)))]
    values = records[feature.name].to_list()
    values[place] = other
    return records.with_columns(pl.Series(feature.name, values, dtype=records.schema[feature.name]))


def exact_shares(law: Law, way: str, releases: int, people: int, seed: int) -> list[float]:
    """Percent of the cells above zero that are known after each release."""
    release = load_release("clinic_visits")
    rng = np.random.default_rng(seed)
    records = patients(release, people, seed)
    published, shares = [], []
    for number in range(releases):
        records = corrected(release, records, rng) if number else records
        key = KeyedChance.for_study(seed).named(str(number) if way == "all anew" else "kept")
        counts = protect_counts(
            release, records, Protection((Statement(law),)), chance=key,
            identifier="number" if way == "by identifier" else None,
        )  # fmt: skip
        published.append(counts.select("geoid", "table", "cell", "count"))
        means = pl.concat(published).group_by("geoid", "table", "cell").agg(pl.col("count").sum())
        known = counts.join(means, on=["geoid", "table", "cell"], suffix="_sum")
        guess = (known["count_sum"] / (number + 1)).round()
        shares.append(100 * float((guess == known["true"]).mean()))  # type: ignore[arg-type]
    return shares


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    options.add_argument("--releases", type=int, default=9)
    options.add_argument("--people", type=int, default=2000)
    options.add_argument("--seeds", type=int, default=5)
    given = options.parse_args()
    rows = []
    for name, law in LAWS.items():
        for way in WAYS:
            found = [
                exact_shares(law, way, given.releases, given.people, seed)
                for seed in range(given.seeds)
            ]
            first, last = np.mean(found, axis=0)[[0, -1]]
            rows.append([name, way, f"{first:.0f}", f"{last:.0f}"])
    header = ["law", "drawn", "exact cells of one release, %", f"of {given.releases}, %"]
    sys.stdout.write(markdown_table(header, rows, text_columns=2))


if __name__ == "__main__":
    main()
