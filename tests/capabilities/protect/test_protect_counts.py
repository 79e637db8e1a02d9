"""`recon protect round` and `cellkey`: from records to counts that `recon ingest` reads."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
import yaml

import recon_cli
from recon_cli.capabilities.tabulate.tabulation import tabulate
from recon_cli.errors import ConfigError
from recon_cli.schema import load_release
from tests.support.command_line import recon
from tests.support.populations import random_records, random_units

CLINIC = load_release("clinic_visits")


@pytest.fixture
def config(tmp_path: Path) -> Path:
    records = random_records(CLINIC, 5, 80, random_units(CLINIC, 5, 4))
    records.write_csv(tmp_path / "patients.csv")
    section = "{study_seed: 3, records: patients.csv"
    (tmp_path / "run.yaml").write_text(
        "release: clinic_visits\nwork: work\nseed: 3\n"
        f"round: {section}, base: 3}}\n"
        f"cellkey: {section}, max: 2, variance: 1.08, never: [1]}}\n"
    )
    return tmp_path / "run.yaml"


@pytest.mark.parametrize(
    ("command", "folder", "law"),
    [
        ("round", "rounded", {"rounded": {"base": 3}}),
        ("cellkey", "perturbed", {"cellkey": {"max": 2, "variance": 1.08, "never": [1]}}),
    ],
)
def test_protected_counts_are_a_publication(
    config: Path, command: str, folder: str, law: dict[str, object]
) -> None:
    work = config.parent / "work"
    assert f"{next(iter(law))} (" in recon("protect", command, "-c", config).stdout
    declared = yaml.safe_load((work / folder / "protection.yaml").read_text())
    assert declared == {"release": "clinic_visits", "study": True, "statements": [{"law": law}]}
    counts = pl.read_parquet(work / folder / "**/*.parquet", hive_partitioning=False)
    assert counts.columns == ["geoid", "table", "cell", "count"]
    errors = pl.read_parquet(work / f"private/{command}/accuracy/accuracy.parquet")
    assert (errors["mae"] > 0).all()
    assert (errors["mae"] <= 2).all()
    recon("ingest", "-c", config, "--set", f"ingest.paths=[{work / folder}]", "--set",
          "ingest.source=tidy")  # fmt: skip
    tables = pl.read_parquet(work / "tables/**/*.parquet", hive_partitioning=False)
    assert {"low", "high", "law"} <= set(tables.columns)
    assert (tables["low"] < tables["high"]).any()
    assert "up to date" in recon("protect", command, "-c", config).stdout


@pytest.mark.parametrize(("command", "folder"), [("round", "rounded"), ("cellkey", "perturbed")])
def test_a_list_of_all_units_goes_with_the_counts(
    config: Path, command: str, folder: str, tmp_path: Path
) -> None:
    """Without one, units stand for any that the counts may hide; with one, there are no others."""
    records, listed = tmp_path / "patients.csv", tmp_path / "units.csv"
    name = CLINIC.geoid_column
    inhabited = pl.read_csv(records, infer_schema=False)[name].unique().sort()
    empty = inhabited[0][:-1] + "Z"
    ingest = ("--set", f"ingest.paths=[{config.parent / 'work' / folder}]",
              "--set", "ingest.source=tidy")  # fmt: skip
    recon("protect", command, "-c", config)
    assert "that the files do not list" in recon("ingest", "-c", config, *ingest).stdout

    pl.DataFrame({name: [*inhabited, empty]}).write_csv(listed)
    beside = ("--set", f"{command}.geounits={listed}")
    recon("protect", command, "-c", config, *beside)
    assert "do not list" not in recon("ingest", "-c", config, *ingest).stdout
    units = pl.read_parquet(tmp_path / "work/geounits/**/*.parquet", hive_partitioning=False)
    of_unit = units.filter(level=CLINIC.geography.unit.name)["geoid"].sort().to_list()
    assert of_unit == sorted([*inhabited, empty])

    pl.DataFrame({name: inhabited[1:]}).write_csv(listed)
    refused = recon("protect", command, "-c", config, *beside, code=4)
    assert f"{command}.geounits: 1 with records are not listed" in refused.stderr


def test_no_row_shows_that_somebody_is_in_a_unit_of_zeros(tmp_path: Path) -> None:
    """One patient, whose counts are all rounded to 0: as in a clinic where nobody was."""
    many = pl.concat([recon_cli.example_patients()] * 15)
    alone = many.head(1).with_columns(geoid_clinic=pl.lit("D01002"))
    pl.concat([many, alone]).write_csv(tmp_path / "patients.csv")
    clinics = pl.Series("geoid", ["D01001", "D01002", "D01003"])
    pl.DataFrame([clinics, clinics.alias("geoid_clinic")]).write_csv(tmp_path / "all.csv")
    config = tmp_path / "round.yaml"
    config.write_text(
        "release: clinic_visits\nwork: work\n"
        "round: {records: patients.csv, base: 20, how: nearest}\n"
    )

    def shown(*given: str) -> set[str]:
        recon("protect", "round", "-c", config, "--force", *given)
        files = tmp_path / "work/rounded/**/*.parquet"
        return set(pl.read_parquet(files, hive_partitioning=False)["geoid"])

    assert shown() == {"D01", "D01001"}
    assert shown("--set", f"round.geounits={tmp_path / 'all.csv'}") == {"D01", "D01001"}
    recon(
        "data", "tabulate", "-c", config, tmp_path / "patients.csv", "--to", tmp_path / "exact.csv"
    )
    true = tmp_path / "exact.yaml"
    true.write_text(
        "release: clinic_visits\nwork: exact\n"
        "ingest: {source: tidy, paths: [exact.csv], geounits: all.csv}\n"
        "round: {counts: exact, base: 20, how: nearest}\n"
    )
    recon("ingest", "-c", true)
    recon("protect", "round", "-c", true)
    listed = pl.read_parquet(tmp_path / "exact/rounded/**/*.parquet", hive_partitioning=False)
    units = {"D01", "D01001", "D01002", "D01003"}
    assert set(listed["geoid"]) == units, "counts that were ingested list their geounits"


@pytest.mark.parametrize("command", ["round", "cellkey", "suppress"])
def test_the_counts_as_one_file_are_the_same_publication(config: Path, command: str) -> None:
    """What an office publishes: one CSV file, and the law that it says beside it."""
    with config.open("a") as file:
        file.write("suppress: {records: patients.csv}\n")
    home, to = config.parent, config.parent / "published" / "counts.study.csv"
    recon("protect", command, "-c", config)
    again = recon("protect", command, "-c", config, "--to", to)
    assert "up to date" in again.stdout  # where to is no setting of the stage
    written = pl.read_csv(to, infer_schema=False)
    assert written.columns == ["geoid", "table", "cell", "count"]
    assert ("*" in written["count"].to_list()) == (command == "suppress")
    folder = {"round": "rounded", "cellkey": "perturbed", "suppress": "suppressed"}[command]
    ingested = {}
    for name, paths in (("folder", home / "work" / folder), ("file", to)):
        law = home / "work" / folder / "protection.yaml"
        settings = (f"ingest.paths=[{paths}]", "ingest.source=tidy", f"ingest.protection={law}")
        given = [word for each in settings for word in ("--set", each)]
        recon("ingest", "-c", config, "--work", home / name, *given)
        tables = pl.read_parquet(home / name / "tables/**/*.parquet", hive_partitioning=False)
        ingested[name] = tables.sort("geoid", "table", "cell")
    assert ingested["file"].equals(ingested["folder"])


def test_cell_keys_of_counts_repeat_with_their_key_and_no_other(
    config: Path, tmp_path: Path
) -> None:
    """Nothing is set but where the counts are; the key is secret and kept for these counts."""
    exact, work = tmp_path / "exact", tmp_path / "of counts"
    rows = tabulate(CLINIC, random_records(CLINIC, 5, 80, random_units(CLINIC, 5, 4)))
    rows.write_csv(tmp_path / "counts.csv")
    bare = ("-c", tmp_path / "bare.yaml", "--set", f"cellkey.counts={exact}", "--work", work)
    (tmp_path / "bare.yaml").write_text(
        "release: clinic_visits\ningest: {source: tidy, paths: [counts.csv]}\n"
    )

    def perturbed(*words: str) -> list[bytes]:
        recon("ingest", "-c", tmp_path / "bare.yaml", "--work", exact, "-q")
        said = " ".join(recon("protect", "cellkey", *bare, *words).stdout.split())
        assert "cellkey (max 2, variance 1.0)" in said
        assert "each cell is drawn by itself: people who are counted in several" in said
        return [path.read_bytes() for path in sorted((work / "perturbed").rglob("*.parquet"))]

    first = perturbed()
    assert perturbed("--force", "--workers", "2") == first
    key = work / "private" / "cellkey" / "key.json"
    kept = key.read_bytes()
    rows.reverse().write_csv(tmp_path / "counts.csv")
    assert perturbed("--force") == first
    doubled = rows.with_columns(pl.col("count") * 2)
    doubled.write_csv(tmp_path / "counts.csv")
    perturbed()
    assert key.read_bytes() == kept  # a count that changed is drawn by other words


@pytest.mark.parametrize(
    ("command", "setting", "message"),
    [
        ("cellkey", "cellkey.identifier=sex", "an identifier tells records apart"),
        ("cellkey", "cellkey.tables=[PATIENTS]", "tables are those of records"),
        ("round", "round.tables=[PATIENTS]", "tables are those of records"),
    ],
)
def test_what_counts_do_not_have_is_refused(command: str, setting: str, message: str) -> None:
    given = ("--set", "release=clinic_visits", "--set", f"{command}.counts=exact", "--set", setting)
    assert message in recon("protect", command, *given, code=ConfigError.exit_code).stderr


def test_a_p_table_from_a_file_travels_with_the_counts(config: Path) -> None:
    table = config.parent / "p.csv"
    table.write_text("i;j;p\n0;0;1\n1;0;0.5\n1;2;0.5\n2;1;0.5\n2;3;0.5\n")
    text = yaml.safe_load(config.read_text())
    text["cellkey"] = {"records": "patients.csv", "ptable": "p.csv"}
    config.write_text(yaml.safe_dump(text))
    recon("protect", "cellkey", "-c", config)
    folder = config.parent / "work" / "perturbed"
    assert (folder / "ptable.txt").read_text() == table.read_text()
    declared = yaml.safe_load((folder / "protection.yaml").read_text())
    recon("ingest", "-c", config, "--set", f"ingest.paths=[{folder}]", "--set",
          "ingest.source=tidy")  # fmt: skip
    assert declared["statements"] == [{"law": {"cellkey": {"table": "ptable.txt"}}}]


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("cellkey.variance=9", "p-table: no offsets for count 1 have mean 0 and variance 9"),
        ("cellkey.ptable=none.csv", "ptable is in place of max, variance and never"),
        ("cellkey.counts=exact", "records and counts exclude each other"),
        ("cellkey.records=none.csv", "no such file or folder: none.csv"),
        ("cellkey.records=none.csv", "with --set cellkey.counts=FOLDER"),
    ],
)
def test_what_cannot_be_is_refused(config: Path, setting: str, message: str) -> None:
    result = recon("protect", "cellkey", "-c", config, "--set", setting, code=ConfigError.exit_code)
    assert message in result.stderr
