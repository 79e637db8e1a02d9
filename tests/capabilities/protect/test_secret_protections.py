"""What is given away of a protection: no key, no seed, no digest of records, no total."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml

from recon_cli.capabilities.measurements.draws import measurement_noise
from recon_cli.capabilities.measurements.strategy import Measurement, Query
from recon_cli.capabilities.measurements.strategy_file import load_strategy
from recon_cli.capabilities.protect import chance_key
from recon_cli.chance import KeyedChance
from recon_cli.pipeline.stages import STAGES
from recon_cli.schema import Release, load_release, parse_release
from recon_cli.statement import load_protection
from recon_cli.statement.noise import Gaussian
from recon_cli.store import PartitionEntry, Piece, Staging, files
from recon_cli.store.study import NOT_FOR_PUBLICATION
from tests.capabilities.noise.test_protect_noise import STRATEGY as NOISE
from tests.capabilities.topdown.test_topdown import FINE
from tests.capabilities.topdown.test_topdown import STRATEGY as TOPDOWN
from tests.support.command_line import recon
from tests.support.populations import random_records, random_units

CLINIC = load_release("clinic_visits")
#: Protection → its public folders.
PROTECTIONS = {
    "round": ("rounded",),
    "cellkey": ("perturbed",),
    "suppress": ("suppressed",),
    "noise": ("noisy",),
    "topdown": ("mdf",),
    "randomize": ("randomized", "randomized_counts"),
    "swap": ("hdf", "hdf_households"),
}
TOWN = "{people: 900, people_per_county: 300, people_per_tract: 150}"
#: Whose key is kept for later tables of the same records.
KEPT = ("round", "cellkey")
BY_CHANCE = [name for name in PROTECTIONS if name != "suppress"]
#: Keys of a public manifest.
TOLD = {
    "stage", "folder", "folders", "key", "tool", "format", "release", "partition_level",
    "partitions", "extras", "outside", "rows", "notes", "publishable", "seal",
}  # fmt: skip


@pytest.fixture
def home(tmp_path: Path) -> Path:
    units = [*random_units(CLINIC, 5, 3), *random_units(CLINIC, 6, 3)]  # in two districts
    records = random_records(CLINIC, 5, 90, units)
    records.write_csv(tmp_path / "patients.csv")
    (tmp_path / "all.csv").write_text("\n".join(["geoid_clinic", *sorted({*units, "001999"}), ""]))
    (tmp_path / "noise.yaml").write_text(NOISE)
    (tmp_path / "fine.yaml").write_text(TOPDOWN.format(name="fine", rho="2", queries=FINE))
    lines = {
        "round": "",
        "cellkey": ", max: 2, variance: 1.08",
        "suppress": "",
        "noise": ", strategy: noise.yaml, geounits: all.csv",
        "topdown": ", strategies: [fine.yaml], geounits: all.csv",
        "randomize": ", responses: {insurance: {epsilon: 1}}",
    }
    (tmp_path / "run.yaml").write_text(
        "release: clinic_visits\nwork: work\nseed: 424242\nworkers: 1\n"
        + "".join(f"{name}: {{records: patients.csv{more}}}\n" for name, more in lines.items())
    )
    (tmp_path / "swap.yaml").write_text(
        "release: sf1_2010\nwork: work\nseed: 424242\nworkers: 1\n"
        f"synth: {TOWN}\nswap: {{setting: hi, population: people}}\n"
    )
    return tmp_path


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A work folder with persons and households, in several counties."""
    home = tmp_path_factory.mktemp("town")
    (home / "town.yaml").write_text(f"release: sf1_2010\nwork: work\nsynth: {TOWN}\n")
    recon("data", "synth", "-c", home / "town.yaml")
    return home / "work"


@pytest.fixture
def people(home: Path, town: Path) -> None:
    (home / "people").symlink_to(town)


def protect(home: Path, name: str, *given: object, work: str = "work", code: int = 0) -> Any:
    config = home / ("swap.yaml" if name == "swap" else "run.yaml")
    return recon("protect", name, "-c", config, "--work", home / work, *given, code=code)


def data(home: Path, name: str, work: str = "work") -> list[bytes]:
    return [
        path.read_bytes()
        for folder in PROTECTIONS[name]
        for path in sorted((home / work / folder).rglob("*.parquet"))
    ]


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The keys that are drawn, in order."""
    keys: list[bytes] = []

    def new_key() -> bytes:
        keys.append(hashlib.sha256(f"key {len(keys)}".encode()).digest())
        return keys[-1]

    monkeypatch.setattr(chance_key, "new_key", new_key)
    return keys


def digests(value: Any) -> list[str]:
    """All digests in some JSON."""
    if isinstance(value, dict):
        return [each for inner in value.values() for each in digests(inner)]
    if isinstance(value, list):
        return [each for inner in value for each in digests(inner)]
    return [value] if isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) else []


def secrets_of(whole: Path, drawn: list[bytes]) -> list[str]:
    """What nobody may learn: keys, and what a whole manifest knows of the inputs and settings."""
    said = json.loads(whole.read_text())
    known = [said["key"], said["config_hash"], *digests(said["inputs"])]
    assert len(known) > 2  # something of the inputs
    known += [row["key"] for row in said["partitions"]]
    return [key.hex() for key in drawn] + [each[:12] for each in known] + ["424242"]


def require_silent(folder: Path, secret: list[str], drawn: list[bytes]) -> None:
    """Pass if no file of a folder holds any of it, and its manifest only what may be told."""
    said = json.loads((folder / "_manifest.json").read_text())
    assert said.keys() <= TOLD
    assert {key for row in said["partitions"] for key in row} <= {
        "partition", "rows", "digest", "files"
    }  # fmt: skip
    for path in folder.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert not any(key in content for key in drawn)
            assert not [text for text in secret if text.encode() in content], path


@pytest.mark.usefixtures("people")
@pytest.mark.parametrize("name", PROTECTIONS)
def test_nothing_secret_stands_in_what_is_given_away(
    home: Path, drawn: list[bytes], name: str
) -> None:
    protect(home, name)
    work, private = home / "work", home / "work" / "private" / name
    secret = secrets_of(private / f"manifests/{PROTECTIONS[name][0]}.json", drawn)
    secret.append(hashlib.sha256((home / "patients.csv").read_bytes()).hexdigest())
    for folder in PROTECTIONS[name]:
        require_silent(work / folder, secret, drawn)
        assert not (work / folder / NOT_FOR_PUBLICATION).exists()
    assert (work / "private").stat().st_mode & 0o777 == 0o700
    kept = set(work.rglob("key*.json"))
    assert kept == ({private / "key.json"} if name in KEPT else set())
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in kept)
    assert "up to date" in protect(home, name).stdout


def test_nothing_of_the_records_stands_in_tabulated_and_report(
    home: Path, drawn: list[bytes]
) -> None:
    records, config = home / "patients.csv", home / "run.yaml"
    protect(home, "round")
    recon("data", "tabulate", records, "-c", config, "--to", home / "counts.csv")
    given = f"ingest={{source: tidy, paths: [{home / 'work/rounded'}]}}"
    for stage in ("ingest", "reconstruct", "report"):
        recon(stage, "-c", config, "--set", given)
    private = home / "work/private"
    secret = secrets_of(private / "round/manifests/rounded.json", drawn)
    secret += secrets_of(private / "tabulate/manifests/tabulated.json", drawn)
    secret.append(hashlib.sha256(records.read_bytes()).hexdigest())
    for folder in ("rounded", "tabulated", "report"):
        require_silent(home / "work" / folder, [each for each in secret if each != "424242"], drawn)
    require_silent(
        home / "work/report",
        secrets_of(private / "report/manifests/report.json", drawn)[:-1],
        drawn,
    )
    again = recon("data", "tabulate", records, "-c", config, "--to", home / "counts.csv")
    assert "up to date" in again.stdout
    assert "up to date" in recon("report", "-c", config, "--set", given).stdout


@pytest.mark.usefixtures("people")
@pytest.mark.parametrize("name", BY_CHANCE)
def test_two_secret_runs_differ_and_the_seed_of_the_run_is_none_of_theirs(
    home: Path, name: str
) -> None:
    protect(home, name)
    protect(home, name, work="again")
    assert data(home, name) != data(home, name, "again")


@pytest.mark.usefixtures("people")
@pytest.mark.parametrize("name", BY_CHANCE)
def test_what_is_for_study_repeats_itself_and_says_so(home: Path, name: str) -> None:
    given = ("--set", f"{name}.study_seed=1")
    printed = protect(home, name, *given).stdout
    assert printed.splitlines()[-1] == "  not for publication: chance follows from a study_seed"
    protect(home, name, *given, "--set", "seed=3", work="again")
    assert data(home, name) == data(home, name, "again")
    for folder in PROTECTIONS[name]:
        assert "study_seed" in (home / "work" / folder / NOT_FOR_PUBLICATION).read_text()
        said = json.loads((home / "work" / folder / "_manifest.json").read_text())
        assert said["publishable"] is False
        law = home / "work" / folder / "protection.yaml"
        assert not law.exists() or yaml.safe_load(law.read_text())["study"] is True
    assert (name in ("round", "cellkey", "noise")) == law.exists()


@pytest.mark.usefixtures("people")
@pytest.mark.parametrize("name", BY_CHANCE)
def test_a_killed_run_repeats_itself_with_its_key(
    home: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """For any number of workers: it is begun by one, and by each kind of stage ended by two."""
    keys = iter([b"a" * 32, b"a" * 32, b"b" * 32])
    monkeypatch.setattr(chance_key, "new_key", lambda: next(keys))
    protect(home, name)
    write, written = Staging.write, list[str]()

    def killed(staging: Staging, piece: Piece, *given: Any, **named: Any) -> PartitionEntry:
        if written:
            raise KeyboardInterrupt
        written.append(piece.partition)
        return write(staging, piece, *given, **named)

    monkeypatch.setattr(Staging, "write", killed)
    protect(home, name, work="again", code=130)
    assert len(written) == 1
    monkeypatch.setattr(Staging, "write", write)
    workers = "2" if name in ("round", "noise", "swap") else "1"
    protect(home, name, "--workers", workers, work="again")
    assert data(home, name) == data(home, name, "again")
    kept = list((home / "again").rglob("key.json"))
    assert kept == ([home / f"again/private/{name}/key.json"] if name in KEPT else [])


def test_other_inputs_of_noise_get_another_key(home: Path, drawn: list[bytes]) -> None:
    """One key on corrected records would publish the exact difference."""
    protect(home, "noise")
    with (home / "patients.csv").open("a") as file:
        file.write((home / "patients.csv").read_text().splitlines()[-1] + "\n")
    protect(home, "noise")
    assert len(drawn) == 2


@pytest.mark.parametrize(
    ("name", "identifier"), [("round", None), ("cellkey", None), ("cellkey", "number")]
)
def test_corrected_records_redraw_their_own_cells_alone(
    home: Path, drawn: list[bytes], name: str, identifier: str | None
) -> None:
    """Cells that were all drawn anew would give themselves away in a few corrected releases."""
    patients = home / "patients.csv"
    records = pl.read_csv(patients, infer_schema=False).with_row_index("number")
    records.write_csv(patients)
    given = () if identifier is None else ("--set", f"{name}.identifier={identifier}")
    facts = " ".join(protect(home, name, *given).stdout.split())
    assert "a corrected release draws" in facts
    before = protected_cells(home, name)
    column = next(f for f in CLINIC.features if not f.ordered and not f.options)
    other = next(str(v) for v in column.values if str(v) != records[0, column.name])
    fixed = records.with_columns(
        pl.when(pl.col(CLINIC.geoid_column) == records[0, CLINIC.geoid_column])
        .then(pl.lit(other)).otherwise(column.name)
        .alias(column.name)
    )  # fmt: skip
    fixed.write_csv(patients)
    protect(home, name, *given)
    assert len(drawn) == 1
    after = protected_cells(home, name)
    unit = records[0, CLINIC.geoid_column]
    changed = {cell for cell in before.keys() | after.keys() if before.get(cell) != after.get(cell)}
    assert changed  # by this seed
    assert all(unit.startswith(geoid) for geoid, _, _ in changed)
    if identifier is not None:  # what the records stay in is published as before
        tables = CLINIC.table_by_name
        assert all(
            tables[table].cells[cell - 1].masks[CLINIC.feature_index[column.name]]
            != (1 << len(column.values)) - 1
            for _, table, cell in changed
        )


def protected_cells(home: Path, name: str) -> dict[tuple[str, str, int], int]:
    files = sorted((home / "work" / PROTECTIONS[name][0]).rglob("*.parquet"))
    rows = pl.concat([pl.read_parquet(file, hive_partitioning=False) for file in files])
    return {(g, t, c): n for g, t, c, n in rows.select("geoid", "table", "cell", "count").rows()
            if n}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("noise", ["seed=1"], "noise.seed: is now study_seed, and what it makes is not for publ"),
        ("noise", ["geounits=null"], "noise.geounits: missing: without it the folder tells which "
         "clinics are inhabited (or say units: exact)"),
        ("topdown", ["geounits=null"], "topdown.geounits: missing"),
        ("noise", ["units=exact"], "geounits and units exclude each other"),
        ("noise", ["study_seed=1", "source=opendp"], "exclude each other"),
        ("round", ["study_seed=1", "to=counts.csv"], "round.to: counts.csv: counts made with"),
    ],
)  # fmt: skip
def test_what_would_tell_too_much_is_refused(
    home: Path, name: str, settings: list[str], message: str
) -> None:
    given = [word for each in settings for word in ("--set", f"{name}.{each}")]
    assert message in " ".join(protect(home, name, *given, code=2).stderr.split())


def test_units_that_are_published_exactly_are_declared(home: Path) -> None:
    given = ("--set", "noise.geounits=null", "--set", "noise.units=exact")
    protect(home, "noise", *given)
    said = json.loads((home / "work/noisy/_manifest.json").read_text())
    assert said["notes"]["invariants"] == ["which units have records"]
    protect(home, "noise", work="listed")
    said = json.loads((home / "listed/noisy/_manifest.json").read_text())
    assert "invariants" not in said["notes"]


# --- taking noise off again -------------------------------------------------------------------


def denoised(folder: Path, seeds: Iterable[int]) -> float:
    """The greatest share of true counts that anybody gets who has the folder and tries seeds.

    Strategy, level, query and units stand in the folder; the words of the packaged draws follow.
    """
    release: Release = parse_release((folder / "release.yaml").read_text(), source="release.yaml")
    protection = load_protection(folder / "protection.yaml", release)
    counts = pl.read_parquet(folder / "**/*.parquet", hive_partitioning=False)
    part = counts.filter(pl.col("geoid").str.len_chars() == 6, table="by_age").sort("geoid", "cell")
    geoids = part["geoid"].unique(maintain_order=True)
    shown = part["count"].to_numpy().reshape(len(geoids), -1)
    law = protection.laws[protection.number("by_age", "clinic")]
    assert isinstance(law, Gaussian)
    query: Query = load_strategy(str(folder.parents[1] / "noise.yaml"), CLINIC).queries["by_age"]
    measurement = Measurement(query, Fraction(1), law)
    truth = pl.read_csv(folder.parents[1] / "patients.csv", infer_schema=False)
    people = dict(truth.group_by("geoid_clinic").len().iter_rows())
    totals = np.array([people.get(geoid, 0) for geoid in geoids])
    best = 0.0
    for seed in seeds:
        chance = KeyedChance.for_study(seed).named("protect noise", "clinic", "clinic")
        noise = measurement_noise(chance, measurement, geoids, np.arange(query.size))
        best = max(best, float(((shown - noise).sum(axis=1) == totals).mean()))
    return best


def test_noise_comes_off_where_a_seed_is_guessed_and_nowhere_else(home: Path) -> None:
    protect(home, "noise", "--set", "noise.study_seed=3", work="study")
    assert denoised(home / "study" / "noisy", range(5)) == 1.0
    protect(home, "noise")
    # With the run's own seed among the guesses; that one gives all seven totals by chance has a
    # probability of about 1e-5.
    assert denoised(home / "work" / "noisy", [*range(100), 424242]) < 1.0


def test_every_protection_has_a_public_folder() -> None:
    named = {stage.short_name for stage in STAGES if stage.public}
    protecting = {stage.short_name for stage in STAGES if stage.name.startswith("protect ")}
    assert named == protecting | {"tabulate", "report"}


#: A process that ends at once where a file would take its place.
_KILLED = """\
import os
from pathlib import Path
replace = Path.replace
Path.replace = lambda own, to: os._exit(9) if to.name == {name!r} else replace(own, to)
from recon_cli.cli import main
main({words!r})
"""


def test_what_a_killed_run_left_beside_a_named_file_is_removed(home: Path) -> None:
    """Until then it is for its owner alone."""
    config = home / "run.yaml"
    given = f"ingest={{source: tidy, paths: [{home / 'work/rounded'}]}}"
    protect(home, "round")
    recon("ingest", "-c", config, "--set", given)
    alone = ("data", "tabulate", home / "patients.csv", "--release", "clinic_visits")
    commands: dict[str, tuple[object, ...]] = {
        "rounded.csv": ("protect", "round", "-c", config, "--set", "round.to={to}"),
        "counts.csv": ("data", "tabulate", home / "patients.csv", "-c", config, "--to", "{to}"),
        "alone.csv": (*alone, "--to", "{to}"),
        "page.html": ("report", "-c", config, "--set", given, "--to", "{to}"),
    }
    for name, command in commands.items():
        words = [str(word).replace("{to}", str(home / name)) for word in command]
        code = _KILLED.format(name=name, words=words)
        killed = subprocess.run(
            [sys.executable, "-c", code], umask=0, capture_output=True, check=False
        )
        assert killed.returncode == 9, killed.stderr
        left = list(home.glob(f"{files.UNFINISHED}*"))
        assert [each.stat().st_mode & 0o777 for each in left] == [0o600]
        assert not (home / name).exists()
        recon(*words)
        assert (home / name).stat().st_mode & 0o777 == 0o600
        assert not list(home.glob(f"{files.UNFINISHED}*"))
