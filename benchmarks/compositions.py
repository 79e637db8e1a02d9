"""Who lives with whom: ``python -m benchmarks.compositions FOLDER``.

The synthetic county of `benchmarks.joint`, its blocks with up to 8, 10 and 30 households and nobody
in group quarters: which households are certain with every member. Each of them is looked up in the
truth. FOLDER gets the runs.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from benchmarks.joint import SYNTH, prepare, read, recon
from recon_cli.markdown import markdown_table

#: The most households of a block.
SIZES = (8, 10, 30)
#: Compositions of each block that are listed, and its budget in deterministic seconds.
LISTED, BUDGET = 4_000, 2
SETS = {"persons, households": "sf1_2010", "and members": "sf1_2010_with_members"}
HOME = ["vacancy", "tenure_class", "household_size", "household_type", "householder_origin"]
HOME += ["householder_age", "householder_race", "minors", "oldest", "own_children"]
HOME += ["related_children", "nonrelatives"]
PERSON = ["home", "relation", "sex", "agebin", "race", "hispanic"]
Household = tuple[object, ...]


def some_blocks(folder: Path, most: int) -> pl.DataFrame:
    """Blocks of up to this many households, and without group quarters."""
    persons, households = read(folder / "synth", "persons"), read(folder / "synth", "households")
    homes = households.filter(vacancy="occupied").group_by("geoid_block").len("homes")
    return (
        persons.group_by("geoid_block")
        .agg(outside=pl.col("household").null_count())
        .join(homes, on="geoid_block")
        .filter(pl.col("homes") <= most, outside=0)
        .select("geoid_block")
    )


def true_households(folder: Path, truth: dict[str, pl.DataFrame]) -> Counter[Household]:
    """Every household of the truth with its members, as the runs' columns tell them."""
    recoded = {name: recode(folder, name, truth[name]) for name in ("persons", "households")}
    members: dict[object, list[Household]] = {}
    for household, *values in recoded["persons"].select("household", *PERSON).iter_rows():
        members.setdefault(household, []).append(tuple(values))
    homes = recoded["households"].filter(vacancy="occupied")
    return Counter(
        (place, tuple(values), tuple(sorted(members[household])))
        for place, household, *values in homes.select("geoid_block", "household", *HOME).iter_rows()
    )


def recode(folder: Path, name: str, records: pl.DataFrame) -> pl.DataFrame:
    """The records with the columns that a release's histogram has."""
    from recon_cli.config import load_config

    release = load_config(folder / f"{name}.yaml").load_release()
    columns = []
    for column in release.histogram:
        groups = release.column_groups(column)
        feature = release.features[release.feature_index[groups.feature]]
        if column in records.columns and groups.feature == column:
            continue
        labels = {
            value: label
            for label, mask in zip(groups.labels, groups.masks, strict=True)
            for at, value in enumerate(feature.values)
            if mask >> at & 1
        }
        columns.append(
            pl.col(groups.feature)
            .replace_strict(list(labels), list(labels.values()), return_dtype=groups.dtype)
            .alias(column)
        )
    return records.with_columns(columns)


def claimed_households(folder: Path) -> Counter[Household]:
    """The households that a run calls certain with every member."""
    members: dict[Household, list[Household]] = {}
    rows = read(folder / "persons", "joint_members")
    for place, number, times, *values in rows.select(
        "geoid_block", "composition", "members", *PERSON
    ).iter_rows():
        members.setdefault((place, number), []).extend([tuple(values)] * times)
    found: Counter[Household] = Counter()
    rows = read(folder / "persons", "joint_compositions")
    for place, number, times, *values in rows.select(
        "geoid_block", "composition", "households", *HOME
    ).iter_rows():
        found[place, tuple(values), tuple(sorted(members[place, number]))] += times
    return found


def measure(folder: Path, most: int) -> list[list[str]]:
    """A row for each set of links."""
    inner = folder / f"most{most}"
    truth = prepare(inner, some_blocks(folder, most))
    households = true_households(inner, truth)
    rows = []
    for name, links in SETS.items():
        words = ["joint", "-c", "persons.yaml", "--force"]
        settings = ["partner=households.yaml", f"links={links}", f"unit_seconds={BUDGET}"]
        settings.append(f"compositions={LISTED}")
        if links != SETS["persons, households"]:
            settings.append("further=[members.yaml]")
        seconds = recon(inner, *words, *(w for s in settings for w in ("--set", f"joint.{s}")))
        units, claimed = read(inner / "persons", "joint_units"), claimed_households(inner)
        several = read(inner / "persons", "joint_compositions").filter(
            pl.col("household_size").cast(pl.Int64) > 1
        )["households"]
        certain, every = claimed.total(), households.total()
        statuses = Counter(units["division"])
        rows.append(
            [
                f"{most}, {name}",
                f"{units.height}",
                f"{statuses['proven']}, {statuses['bounded']}, {statuses['undecided']}",
                f"{units['is_division_unique'].sum()}",
                f"{certain:,} of {every:,} ({100 * certain / every:.1f}%)",
                f"{several.sum():,}",
                f"{(claimed - households).total()}",
                f"{units['compositions'].quantile(0.5):,.0f}, {max(units['compositions']):,}",
                f"{seconds:.0f}",
            ]
        )
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", type=int, choices=SIZES, help="one size of blocks")
    options = parser.parse_args(arguments)
    folder: Path = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "synth.yaml").write_text(SYNTH)
    recon(folder, "data", "synth", "-c", "synth.yaml")
    sizes = SIZES if options.only is None else (options.only,)
    rows = [row for most in sizes for row in measure(folder, most)]
    header = ["households of a block, releases", "blocks", "proven, bounded, undecided"]
    header += ["one division", "households certain with every member", "of several people"]
    header += ["false", "listed: median, most", "CPU s"]
    print(markdown_table(header, rows, 1))  # noqa: T201


if __name__ == "__main__":
    main()
