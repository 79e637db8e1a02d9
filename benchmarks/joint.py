"""People and households in one program: ``python -m benchmarks.joint FOLDER``.

A synthetic county of 10,000 people is published at block level as persons with relationships, as
households, and as people by their households. FOLDER gets the runs. Which tables of people prove
how many records by themselves is asked of all blocks, what the releases prove together of blocks
with up to ten and up to thirty households and without group quarters; of all if that is asked for
(long). Every record that is called certain is looked up in the truth.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from recon_cli.markdown import markdown_table

SYNTH = "release: sf1_2010\nwork: synth\nseed: 7\nsynth: {people: 10000}\n"
PART = """\
release: {release}
work: {name}
seed: 7
tabulate: {{records: {name}.parquet, to: {name}.tables.parquet, tables: {tables}, levels: [block]}}
ingest: {{source: tidy, paths: [{name}.tables.parquet]}}
"""
RELEASES = {
    "persons": "sf1_2010_persons_in_households",
    "households": "sf1_2010_households",
    "members": "sf1_2010_household_members",
}
LETTERS = "ABCDEFGHI"
#: The block tables of the study, and what is added to them.
STUDY = [f"P{n}" for n in (1, 6, 7, 8, 9, 10, 11, 12, 14)] + [f"P12{each}" for each in LETTERS]
P29 = ["P29", *(f"P29{each}" for each in LETTERS)]
AGES = ["P16", "P30", "P31", "P32", "P33", "P34", "P36", "P42", "P43"]
AGES += [f"P{n}{each}" for n in (31, 34) for each in LETTERS]
HEADS = ["P18", "P22", *(f"P18{each}" for each in LETTERS)]
SETS = {
    "the study's block tables": STUDY,
    "+ P29, P29A-I": [*STUDY, *P29],
    "+ P16, P30-P34, P31A-I, P34A-I, P36, P42, P43": [*STUDY, *P29, *AGES],
    "+ P18, P18A-I, P22": [*STUDY, *P29, *AGES, *HEADS],
}
FAMILIES = ("married_couple", "other_family_of_man", "other_family_of_woman")
#: Blocks of the second table have this many occupied units at most, and this many people.
MOST = {"small": (10, 28), "medium": (30, 90)}


def read(folder: Path, name: str) -> pl.DataFrame:
    """A folder of a run."""
    return pl.read_parquet(folder / name / "**/*.parquet", hive_partitioning=False)


def recon(folder: Path, *words: str) -> float:
    """Run a command; its CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "recon_cli", *words, "-q"]
    subprocess.run(command, cwd=folder, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def members(persons: pl.DataFrame, households: pl.DataFrame) -> pl.DataFrame:
    """People in households by what is known of these."""
    is_family = pl.col("household_type").is_in(FAMILIES)
    is_related = ~pl.col("relationship").is_in(["partner", "nonrelative"])
    standing = (
        pl.when(is_family & is_related)
        .then(pl.lit("family_member"))
        .when(is_family)
        .then(pl.lit("nonrelative_in_family"))
        .otherwise(pl.lit("in_nonfamily"))
    )
    homes = ["household_type", "tenure", "householder_origin", "householder_race"]
    return persons.join(households.select("household", *homes), on="household").select(
        "geoid_block",
        *homes[2:],
        standing=standing,
        adult=pl.when(pl.col("age") < 18).then(pl.lit("minor")).otherwise(pl.lit("adult")),
        tenure=pl.col("tenure").replace({"no_rent": "rented"}),
    )


def some_blocks(persons: pl.DataFrame, households: pl.DataFrame, size: str) -> pl.DataFrame:
    """Blocks of up to `MOST`, without group quarters."""
    units, people = MOST[size]
    lived_in = households.filter(vacancy="occupied")
    return (
        persons.group_by("geoid_block")
        .agg(people=pl.len(), outside=pl.col("household").null_count())
        .join(lived_in.group_by("geoid_block").len("homes"), on="geoid_block")
        .filter(pl.col("homes") <= units, pl.col("people") <= people, outside=0)
        .select("geoid_block")
    )


def prepare(folder: Path, blocks: pl.DataFrame | None) -> dict[str, pl.DataFrame]:
    """The records of all three releases in some blocks, ingested each by a run; the records."""
    synth = folder.parent / "synth"
    persons, households = read(synth, "persons"), read(synth, "households")
    every = {
        "persons": persons,
        "households": households,
        "members": members(persons, households),
    }
    folder.mkdir(exist_ok=True)
    for name, release in RELEASES.items():
        if blocks is not None:
            every[name] = every[name].join(blocks, on="geoid_block", how="semi")
        every[name].write_parquet(folder / f"{name}.parquet")
        tables = "block" if name == "persons" else "null"
        text = PART.format(release=release, name=name, tables=tables)
        (folder / f"{name}.yaml").write_text(text)
        recon(folder, "run", "-c", f"{name}.yaml", "--until", "ingest")
    return every


def false_claims(certain: pl.DataFrame, truth: pl.DataFrame) -> int:
    """Certain records beyond those that the truth has."""
    shared = [name for name in certain.columns if name in truth.columns]
    there = truth.cast({name: certain[name].dtype for name in shared}).group_by(shared).len()
    both = certain.group_by(shared).len("certain").join(there, on=shared, how="left")
    beyond = both["certain"].cast(pl.Int64) - both["len"].fill_null(0).cast(pl.Int64)
    return int(beyond.clip(0).sum())


def by_tables(folder: Path) -> list[list[str]]:
    """What each set of tables of people proves by itself in all blocks."""
    rows = []
    for name, tables in SETS.items():
        choice = f"reconstruct.tables=[{', '.join(tables)}]"
        words = ["run", "-c", "persons.yaml", "--set", "reconstruct={}", "--set", choice]
        seconds = recon(folder, *words, "--set", "solvar={}", "--from", "reconstruct", "--force")
        units = read(folder / "persons", "solvar")
        candidates = read(folder / "persons", "blocks")["candidates"]
        still = units.filter(solvar_upper_pct=0).height
        by_size = [
            _share(units.filter(pl.col("population").is_between(*ends)))
            for ends in ((1, 9), (10, 49), (250, 499))
        ]
        rows.append(
            [
                name,
                f"{candidates.quantile(0.5):,.0f}, {max(candidates):,}",
                f"{100 * still / units.height:.1f}",
                f"{_share(units)} ({_share(units, 'certain_upper')})",
                ", ".join(by_size),
                f"{seconds:.0f}",
            ]
        )
    return rows


def _share(units: pl.DataFrame, column: str = "certain_records") -> str:
    """Certain people in percent."""
    return f"{100 * sum(units[column]) / sum(units['population']):.1f}"


def together(folder: Path, truth: dict[str, pl.DataFrame]) -> list[list[str]]:
    """What releases prove together, with and without people by their households."""
    rows = []
    sets = {"persons, households": "sf1_2010", "and members": "sf1_2010_with_members"}
    for name, links in sets.items():
        words = ["joint", "-c", "persons.yaml", "--set", "joint.partner=households.yaml"]
        words += ["--set", f"joint.links={links}", "--force"]
        if links != "sf1_2010":
            words += ["--set", "joint.further=[members.yaml]"]
        seconds = recon(folder, *words)
        people = read(folder / "persons", "joint")
        homes = read(folder / "persons", "joint_partner").filter(vacancy="occupied")
        false = false_claims(people, truth["persons"]) + false_claims(homes, truth["households"])
        units = read(folder / "persons", "joint_units")
        lived_in = truth["households"].filter(vacancy="occupied").height
        rows.append(
            [
                name,
                f"{units.height}, {(units['status'] == 'proven').sum()}",
                *(
                    f"{count:,} of {every:,} ({100 * count / every:.1f}%)"
                    for certain, every in (
                        (people, truth["persons"].height),
                        (homes, lived_in),
                    )
                    for count in (certain.filter(proof="alone").height, certain.height)
                ),
                f"{false}",
                f"{seconds:.0f}",
            ]
        )
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", choices=("tables", *MOST, "all"), help="one of the tables")
    options = parser.parse_args(arguments)
    folder: Path = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "synth.yaml").write_text(SYNTH)
    recon(folder, "data", "synth", "-c", "synth.yaml")
    if options.only in (None, "tables"):
        prepare(folder / "all", None)
        header = ["tables", "candidates of a block: median, most", "no variability, % of blocks"]
        header += ["certain, % (at most)", "blocks of 1–9, 10–49, 250–499", "CPU s"]
        print(markdown_table(header, by_tables(folder / "all"), 1))  # noqa: T201
    header = ["releases", "blocks, proven", "people alone", "together", "households alone"]
    header += ["together", "false", "CPU s"]
    for name in (*MOST, "all"):
        if options.only == name or (options.only is None and name in MOST):
            blocks, synth = None, folder / "synth"
            if name in MOST:
                blocks = some_blocks(read(synth, "persons"), read(synth, "households"), name)
            truth = prepare(folder / name, blocks)
            print(markdown_table(header, together(folder / name, truth), 1))  # noqa: T201


if __name__ == "__main__":
    main()
