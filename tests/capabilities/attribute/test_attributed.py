"""What is said of known people holds of all of them in every solution, enumerated."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import yaml
from hypothesis import given

from benchmarks.soundness.releases import NAMES, TinyRelease, make_release
from benchmarks.soundness.words import Possible
from recon_cli.config import load_config
from recon_cli.errors import ConfigError, ContradictionError, SolverError, SourceError
from recon_cli.pipeline.order import stages_of
from recon_cli.pipeline.run import Run
from recon_cli.pipeline.run_stages import run_stage
from tests.support.enumeration import all_records, labeller
from tests.support.properties import SEEDS, examples


def write_people(tiny: TinyRelease, folder: Path) -> pl.DataFrame:
    """Everybody who can live anywhere, with some columns known, and a run that asks about them."""
    for name, data in tiny.files.items():
        (folder / name).write_bytes(data)
    release, place = tiny.release, tiny.release.geoid_column
    label = labeller(release, release.microdata)
    domain = dict.fromkeys((u, label(values)) for u, values in all_records(release, tiny.published))
    whole = pl.DataFrame(
        {"name": f"p{number}", place: geoid, **dict(zip(release.microdata, labels, strict=True))}
        for number, (geoid, labels) in enumerate(domain)
    )
    blanks = [
        whole.with_columns(
            pl.lit(None, whole.schema[name]).alias(name), name=pl.col("name") + f" without {name}"
        )
        for name in release.microdata
    ]
    people = pl.concat([whole, *blanks]).cast(pl.String)
    people.write_csv(folder / "people.csv")
    run = yaml.safe_load(tiny.files["run.yaml"])
    run |= {"reconstruct": {}, "solvar": {"mode": "exact"}}
    run["attribute"] = {"attackers": {"ALL": {"path": "people.csv", "may_leave_out": 1}}}
    (folder / "run.yaml").write_text(yaml.safe_dump(run))
    return people


def check_people(tiny: TinyRelease) -> int:
    """How many values are said of somebody, each true in all that is possible."""
    possible = Possible.of(tiny)
    if possible is None or not possible.worlds:
        return 0
    release = tiny.release
    label = labeller(release, release.microdata)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        people = write_people(tiny, folder)
        config = load_config(folder / "run.yaml")
        run = Run(config, config.load_release())
        try:
            for stage in stages_of(config):
                run_stage(stage, run)
        except (ConfigError, SourceError, ContradictionError, SolverError):
            return 0
        work = folder / "work"
        rows = pl.read_parquet(work / "private" / "attribute" / "attributed" / "attributed.parquet")
        cells = pl.read_parquet(work / "intervals" / "**" / "*.parquet", hive_partitioning=False)
    known, place = {row["name"]: row for row in people.iter_rows(named=True)}, cells.columns[0]
    for row in rows.iter_rows(named=True):
        person = known[row["id"]]
        here = cells.filter(pl.col(place) == person[place])
        seen = [n for n in here.columns if n in release.microdata and not here[n].null_count()]
        for world in possible.worlds:
            records = [
                (dict(zip(release.microdata, map(text, label(values)), strict=True)), n)
                for (unit, values), n in world
                if unit == person[place]
            ]
            alike = (each for each, _ in records if is_like(person, each, release.microdata))
            assert all(each[row["column"]] == row["value"] for each in alike), row
            assert sum(n for each, n in records if is_like(person, each, seen)) >= row["least"]
    return rows.height


def is_like(person: dict[str, str], record: dict[str, str], columns: Sequence[str]) -> bool:
    """Whether a record has what is known of a person on some columns."""
    return all(person[name] in {None, record[name]} for name in columns)


def text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def test_what_is_said_of_known_people_is_true_in_every_solution() -> None:
    said = 0
    for number in range(len(NAMES)):
        tiny = make_release(13, number)
        said += 0 if tiny is None else check_people(tiny)
    assert said > 30


@examples(3)
@given(seed=SEEDS)
def test_what_is_said_of_known_people_is_true_of_any_release(seed: int) -> None:
    tiny = make_release(seed, seed % len(NAMES))
    if tiny is not None:
        check_people(tiny)
