"""`recon link` and `recon score` as a user runs them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from recon_cli.capabilities.link.files import unique_on
from recon_cli.capabilities.score.stage import read_rates
from recon_cli.capabilities.score.tables import published
from recon_cli.config import load_config
from recon_cli.pipeline.run import Run
from recon_cli.schema import load_release
from recon_cli.store import partitions, read_partition
from tests.support.attacks import aged, people, swapped
from tests.support.command_line import recon
from tests.support.paths import DATA, needs_shared
from tests.support.populations import random_records
from tests.support.stages import ingest, link, reconstruct, score


def write(folder: Path, config: dict[str, Any]) -> Path:
    path = folder / "recon.yaml"
    path.write_text(yaml.safe_dump({"release": "sf1_2010", "work": "work", "seed": 3, **config}))
    return path


def town(folder: Path, count: int = 400) -> dict[str, Any]:
    """A CEF in one file, an HDF in parts of two counties, a commercial file, a reconstruction."""
    truth = people(count, 7)
    other = truth.with_columns(
        geoid_block=pl.lit("01003") + pl.col("geoid_block").str.slice(5),
        pik=pl.lit("q") + pl.col("pik"),
    )
    truth = pl.concat([truth, other]).with_columns(data_defined=pl.int_range(pl.len()) % 9 != 0)
    hdf = swapped(truth, 7).drop("data_defined")
    truth.write_parquet(folder / "cef.parquet")
    for county in ("01001", "01003"):
        home = folder / "hdf" / f"county={county}"
        home.mkdir(parents=True)
        hdf.filter(pl.col("geoid_block").str.starts_with(county)).write_parquet(home / "a.parquet")
    aged(hdf, 7).write_parquet(folder / "rebuilt.parquet")
    commercial = truth.select("pik", "geoid_block", "sex", "age").sample(fraction=0.6, seed=1)
    away = commercial[:5].with_columns(geoid_block=pl.lit("990010201001000"))
    pl.concat([commercial, away]).write_csv(folder / "commercial.csv")
    return {
        "link": {
            "cef": "cef.parquet",
            "hdf": "hdf",
            "sources": {"rHDF_bt": "rebuilt.parquet"},
            "attackers": {"COMRCL": "commercial.csv", "CEF_atkr": "cef"},
        },
        "score": {"compare": "wp31995", "bootstrap": 20},
    }


def read(work: Path, name: str) -> pl.DataFrame:
    return pl.concat([read_partition(work / name, p) for p in partitions(work / name)])


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A town that was linked, and what that printed."""
    folder = tmp_path_factory.mktemp("linked")
    said = recon("link", "-c", write(folder, town(folder)), "--workers", "1").output
    return folder, said


def test_from_files_to_tables(linked: tuple[Path, str], tmp_path: Path) -> None:
    folder, said = linked
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    config = tmp_path / "recon.yaml"
    assert "COMRCL: elsewhere" in said
    links = read(tmp_path / "work", "links")
    assert links.columns == [
        "attacker", "source", "pik", "geoid_block", "sex", "age", "agebin", "race", "hispanic",
        "pass", "confirmed",
    ]  # fmt: skip
    once = links.select("attacker", "source", "geoid_block", "pik")
    assert not once.is_duplicated().any()
    assert set(links["pass"]) == {"exact", "binned"}
    assert set(links["source"]) == {"CEF", "HDF", "rHDF_bt", "MDG", "PRG"}
    manifest = json.loads((tmp_path / "work/links/_manifest.json").read_text())
    assert manifest["notes"]["outside_partitions"]["COMRCL"] == 5
    assert manifest["statuses"]["CEF: not data-defined"] > 0
    truth = pl.read_parquet(tmp_path / "cef.parquet").filter("data_defined")
    right = links.join(
        truth, on=["pik", "geoid_block", "sex", "race", "hispanic"], how="left", suffix="_true"
    )
    agebin = load_release("sf1_2010").recode_by_name["agebin"].labels
    lower = pl.col("age_true").map_elements(
        lambda age: max(int(e) for e in agebin if int(e) <= age), return_dtype=pl.Int16
    )
    same = right.select((lower == pl.col("agebin")).fill_null(value=False)).to_series()
    assert same.equals(links["confirmed"], check_names=False)

    result = recon("score", "-c", config, "--page", tmp_path / "page.md")
    assert "Table 9." in result.output
    assert "unknown: no solvar/" in result.output.replace("\n", " ").replace("  ", " ")
    home = tmp_path / "work" / "score"
    manifest = json.loads((home / "_manifest.json").read_text())
    assert manifest["notes"]["intervals"] == "bootstrap", "of one draw"
    rates = pl.read_parquet(home / "rates.parquet")
    table = pl.read_csv(home / "table13_nonmodal.csv")
    assert table.height == rates.filter(table="table13_nonmodal").height
    assert (home / "table13_nonmodal.md").read_text().startswith("## Table 13.")
    page = (tmp_path / "page.md").read_text()
    assert "## Table 12." in (tmp_path / "page.tables.markdown").read_text()
    assert "## Where the two differ most" in page
    again = recon("score", "-c", config)
    assert "up to date" in again.output


def test_workers_resume_and_rows(linked: tuple[Path, str], tmp_path: Path) -> None:
    config = linked[0] / "recon.yaml"
    shutil.copytree(linked[0] / "work", tmp_path / "a")
    recon("link", "-c", config, "--work", tmp_path / "b", "--workers", "2", "-q")
    for folder in ("links", "tallies", "targets", "agreement", "truth"):
        assert read(tmp_path / "a", folder).equals(read(tmp_path / "b", folder))
    assert "up to date" in recon("link", "-c", config, "--work", tmp_path / "a").output
    recon("link", "-c", config, "--work", tmp_path / "a", "--set", "link.rows=false")
    assert read(tmp_path / "a", "links").is_empty()
    assert read(tmp_path / "a", "tallies").equals(read(tmp_path / "b", "tallies"))


def test_draws(tmp_path: Path) -> None:
    config = write(tmp_path, town(tmp_path, 200))
    recon("link", "-c", config, "--draws", "3", "-q")
    tallies = read(tmp_path / "work", "tallies")
    mine = tallies.filter(source="PRG", attacker="CEF_atkr")
    sums = mine.group_by("draw").agg(pl.col("putative", "confirmed").sum())
    assert sums["putative"].n_unique() == 1
    assert sums["confirmed"].n_unique() > 1
    recon("score", "-c", config, "-q")
    rates = pl.read_parquet(tmp_path / "work/score/rates.parquet")
    row = rates.filter(
        table="table12_all",
        source="PRG",
        against="CEF_atkr",
        block_size="All",
        rate="precision",
    )
    assert row["count"].item() == pytest.approx(sums["confirmed"].mean())
    assert row["low"].item() < row["pct"].item() < row["high"].item()


def test_guessers_from_published_tables(tmp_path: Path) -> None:
    config = town(tmp_path, 200)
    pl.read_parquet(tmp_path / "hdf/*/*.parquet").write_parquet(tmp_path / "all.parquet")
    config["link"]["guessers"] = {
        "MDG": {"guess": "modal", "of": "tables", "tables": ["P8", "P9", "P12", "P14"]},
        "PRG": {"guess": "proportional", "of": "tables"},
        "MDG_hdf": {"guess": "modal", "of": "HDF"},
    }
    config["link"]["guessers"]["PRG"]["tables"] = ["P8", "P9", "P12", "P14"]
    config["ingest"] = {"source": "tidy", "paths": ["tables.parquet"]}
    path = write(tmp_path, config)
    tables = tmp_path / "tables.parquet"
    recon("data", "tabulate", tmp_path / "all.parquet", "-c", path, "--to", tables)
    recon("ingest", "-c", path)
    recon("link", "-c", path)
    links = read(tmp_path / "work", "links")
    # the same modes, from counts and from records
    modes = [
        links.filter(source=name).select("geoid_block", "race", "hispanic").unique().sort(pl.all())
        for name in ("MDG", "MDG_hdf")
    ]
    assert modes[0].equals(modes[1])
    assert set(links.filter(source="PRG")["pass"]) == {"binned"}


def test_a_release_that_is_not_a_census(tmp_path: Path) -> None:
    release = load_release("clinic_visits")
    patients = random_records(release, 3, 300).with_row_index("patient")
    patients.write_parquet(tmp_path / "patients.parquet")
    config = {
        "release": "clinic_visits",
        "link": {"cef": "patients.parquet", "id": "patient"},
    }
    path = write(tmp_path, config)
    recon("link", "-c", path)
    links = read(tmp_path / "work", "links")
    assert {"patient", "geoid_clinic", "gender", "ageband", "insurance"} < set(links.columns)
    recon("score", "-c", path)
    recon("link", "-c", path, "--set", "link.gains=[smoker]", "--set", "link.binned=[gender]")
    assert "smoker" in read(tmp_path / "work", "links").columns


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        ({"cef": "nowhere.parquet"}, 2, "CEF: no such file or folder"),
        ({"cef": None}, 2, "link.cef: missing: the file with the truth"),
        ({"sources": {"HDF": "cef.parquet"}}, 2, "link.sources.HDF: that name is reserved"),
        ({"attackers": {"X": "notes.doc"}}, 2, "a .parquet, .csv, .txt or .xlsx file, or a folder"),
        ({"attackers": {"X": "empty.csv"}}, 4, "empty.csv: no column 'pik' (columns: geoid_block"),
        (
            {"attackers": {"X": "odd.csv"}},
            4,
            "no column 'geoid_block' (2 other columns; is its",
        ),
        ({"exact": ["sex", "height"]}, 2, "has no feature or recode 'height'"),
        ({"exact": ["sex", "agebin"]}, 2, "attack.exact: 'agebin' is a recode"),
        ({"gains": ["race", "sex"]}, 2, "attack.gains: sex is linked on"),
        ({"binned": ["sex", "races"]}, 2, "attack.binned: race is not among the features"),
        ({"data_defined": "known"}, 2, "link.data_defined: CEF has no column 'known'"),
        (
            {"guessers": {"G": {"guess": "modal", "of": "rHDF"}}},
            2,
            "link.guessers.G: no source 'rHDF' (known: CEF, HDF, rHDF_bt, tables)",
        ),
        (
            {"guessers": {"G": {"guess": "modal", "of": "tables", "leave_one_out": True}}},
            2,
            "link.guessers.G: published tables hold no records to leave out",
        ),
        ({"guessers": {"G": {"guess": "modal", "of": "tables"}}}, 5, "run `recon ingest` first"),
        ({"seeds": 3}, 2, "link.seeds: unknown key"),
    ],
)
def test_mistakes_are_named(
    tmp_path: Path, change: dict[str, Any], code: int, message: str
) -> None:
    config = town(tmp_path, 40)
    config["link"].update(change)
    (tmp_path / "notes.doc").write_text("not a table")
    (tmp_path / "empty.csv").write_text("geoid_block,sex,age\n")
    (tmp_path / "odd.csv").write_text("a,b\n1,2\n")
    result = recon("link", "-c", write(tmp_path, config), code=code)
    assert message in result.output, result.output
    assert not (tmp_path / "work" / "links").exists()


def test_empty_attacker_file_and_a_score_without_links(tmp_path: Path) -> None:
    config = town(tmp_path, 40)
    (tmp_path / "empty.csv").write_text("pik,geoid_block,sex,age\n")
    config["link"]["attackers"] = {"X": "empty.csv"}
    path = write(tmp_path, config)
    result = recon("score", "-c", path, code=5)
    assert "run `recon link` first" in result.output
    recon("link", "-c", path)
    recon("score", "-c", path)
    rates = pl.read_parquet(tmp_path / "work/score/rates.parquet")
    assert set(rates["table"]) == {"table07_uniques", "table08_agreement", "guessers"}
    wrong = recon("score", "-c", path, "--table", "table99", code=2)
    assert "no table 'table99'" in wrong.output
    wrong = recon("score", "-c", path, "--set", "score.alternatives=[rSWAP]", code=2)
    assert "score.alternatives: no source 'rSWAP' was linked" in wrong.output


def real_records() -> pl.DataFrame:
    found = pl.read_parquet(DATA / "published_records.parquet")
    race = sum(
        pl.col(name).cast(pl.Int16) * (1 << i)
        for i, name in enumerate(("white", "black", "aian", "asian", "nhopi", "sor"))
    )
    return found.select(
        "geoid_block",
        "sex",
        "age",
        race.alias("race"),  # type: ignore[union-attr]
        pl.col("hispanic") == 1,
        pl.col("^unique_.*$"),
    )


@needs_shared
def test_real_records(tmp_path: Path) -> None:
    records = real_records()
    records.select("geoid_block", "sex", "age", "race", "hispanic").write_parquet(
        tmp_path / "published.parquet"
    )
    config = {
        "ingest": {
            "source": "sf1-legacy",
            "paths": [str(path) for path in sorted((DATA / "sf1").glob("*.zip"))],
        },
        "link": {"cef": "published.parquet", "hdf": "published.parquet"},
        "score": {"bootstrap": 0},
    }
    loaded = load_config(write(tmp_path, config))
    run = Run(loaded, loaded.load_release())
    ingest(run)
    reconstruct(run)
    link(run)
    score(run)
    rates = read_rates(run).filter(table="table08_agreement", rate="agree_binned")
    assert set(rates["source"]) == {"HDF", "rHDF_bt"}
    assert rates.filter(block_size="All")["of"].unique().to_list() == [20_969]
    assert (rates["pct"] == 100).all()

    truth = read(tmp_path / "work", "truth")
    flag = pl.col("unique_block_sex_agebin")
    expected = records.group_by("geoid_block").agg(flag.sum().cast(pl.Int32)).sort("geoid_block")
    assert truth["unique_people"].to_list() == expected["unique_block_sex_agebin"].to_list()


@needs_shared
def test_uniqueness_flags_of_every_real_record() -> None:
    from recon_cli.capabilities.link.key_encoding import KeyEncoder

    records, release = real_records(), load_release("sf1_2010")
    assert release.attack is not None
    encoder = KeyEncoder(release, release.attack, records["geoid_block"].unique().sort())
    encoded = encoder.encode(records, name="published").records
    assert encoded.height == records.height == 20_969
    assert unique_on(encoded, "binned").equals(
        records["unique_block_sex_agebin"], check_names=False
    )
    both = encoded.select(pl.struct("binned", "gain").alias("both"))
    assert unique_on(both, "both").equals(
        records["unique_block_sex_agebin_race_ethnicity"], check_names=False
    )


def test_published_values_are_shipped() -> None:
    assert published("wp31995").height > 1000


def test_the_limits_of_agreement_are_of_the_records_that_solvar_measured(tmp_path: Path) -> None:
    path = tmp_path / "recon.yaml"
    path.write_text(
        "release: sf1_2010\nwork: work\nseed: 1\nsynth: {people: 400}\nswap: {study_seed: 1}\n"
        "tabulate: {records: work/hdf, to: tables.study.parquet}\n"
        "ingest: {source: tidy, paths: [tables.study.parquet]}\nreconstruct:\n"
        "link: {sources: {rHDF_bt: microdata, copy: work/hdf}}\n"
        "score: {bootstrap: 0, threshold: 0, alternatives: [copy]}\n"
    )
    recon("run", "-c", path)
    rates = pl.read_parquet(tmp_path / "work/score/rates.parquet")
    assert rates["least"].null_count() == rates.height
    assert rates.filter(table="table07_uniques", block_size="All")["of"].item() == 400
    recon("solvar", "-c", path)
    recon("score", "-c", path)
    rates = pl.read_parquet(tmp_path / "work/score/rates.parquet")
    limited = rates.drop_nulls("least")
    assert set(limited["source"]) == {"rHDF_bt"}
    assert set(limited["rate"]) == {"agree_binned"}
    assert (limited["least"] <= limited["pct"]).all()
    assert (limited["pct"] <= limited["most"]).all()
    shown = recon("score", "-c", path, "--table", "table08_agreement", width=120).output
    assert "feasible" in shown


def test_passes_of_ones_own(linked: tuple[Path, str], tmp_path: Path) -> None:
    """The study's two by name make its links; others are counted by pass, in whole places."""
    config = town(tmp_path)
    exact = {"name": "exact", "same": ["block", "sex", "age"]}
    binned = {"name": "binned", "same": ["block", "sex", "agebin"]}
    config["link"]["passes"] = [exact, binned]
    recon("link", "-c", write(tmp_path, config), "--work", tmp_path / "named", "-q")
    usual, named = linked[0] / "work", tmp_path / "named"
    assert read(named, "links").equals(read(usual, "links"))
    for folder in ("targets", "agreement", "truth"):
        assert read(named, folder).equals(read(usual, folder))
    near = {"name": "near", "same": ["block", "sex"], "within": {"age": 1}}
    nearby = {"name": "nearby", "same": ["block_group", "sex", "age"]}
    config["link"]["passes"] = [exact, nearby, near, binned]
    path = write(tmp_path, config)
    recon("link", "-c", path, "-q")
    tallies, links = (read(tmp_path / "work", name) for name in ("tallies", "links"))
    assert tallies["putative"].sum() == links.height
    assert set(tallies["pass"]) == {"exact", "near", "binned", "nearby"}
    assert links["same_block"].sum() == tallies["same_unit"].sum()
    recon("score", "-c", path, "-q")


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"same": ["sex", "age"]}, "one level of geounits is expected (block, "),
        ({"same": ["block", "tract", "sex"]}, "found block and tract"),
        (
            {"same": ["block"], "within": {"age": 1, "sex": 2}},
            "link.passes.p.within: age and sex: one feature may differ",
        ),
        ({"same": ["block", "race"]}, "link.passes.p: 'race' is of no feature of link.exact"),
    ],
)
def test_refused_passes(tmp_path: Path, section: dict[str, Any], message: str) -> None:
    config = town(tmp_path, 50)
    config["link"]["passes"] = [{"name": "p", **section}]
    output = recon("link", "-c", write(tmp_path, config), code=2).output
    assert message in " ".join(output.split())


def test_rates_by_pass_and_weights(tmp_path: Path) -> None:
    config = town(tmp_path)
    config["link"]["weights"] = {
        "at_least": 4,
        "compare": {
            "place": [
                {"same": "block", "m": 0.9, "u": 0.02},
                {"same": "block_group", "m": 0.08, "u": 0.05},
            ],
            "sex": {"same": "sex", "m": 0.99, "u": 0.5},
            "age": [
                {"same": "age", "m": 0.6, "u": 0.013},
                {"within": {"age": 1}, "m": 0.24, "u": 0.026},
            ],
        },
    }
    path = write(tmp_path, config)
    recon("link", "-c", path, "-q")
    recon("score", "-c", path, "-q")
    links = read(tmp_path / "work", "links")
    rates = pl.read_parquet(tmp_path / "work/score/passes.parquet").filter(panel="all")
    shown = rates.filter(rate="precision", source="rHDF_bt", against="CEF_atkr")
    assert shown["pass"].to_list()[:2] == ["age block sex", "age±1 block sex"]
    assert shown["pass"].to_list()[-1] == "All"
    mine = links.filter(source="rHDF_bt", attacker="CEF_atkr")
    for name, confirmed, putative in shown.select("pass", "count", "of").iter_rows():
        here = mine if name == "All" else mine.filter(pl.col("pass") == name)
        assert (here["confirmed"].sum(), here.height) == (confirmed, putative)
    modal = rates.filter(rate="modal", source="HDF")
    guessed = links.filter(source="MDG").group_by("attacker").agg(pl.col("confirmed").sum())
    for attacker, confirmed in guessed.iter_rows():
        row = modal.filter(pl.col("pass") == "All", against=attacker)
        assert row["count"].item() == confirmed
    recon("report", "-c", path, "-q")
    assert (
        "Putative and confirmed links by pass" in (tmp_path / "work/report/report.md").read_text()
    )
    output = recon("link", "-c", path, "--set", "link.weights=em", code=2).output
    assert "m and u are not estimated" in " ".join(output.split())
    config["link"]["passes"] = [{"name": "p", "same": ["block"]}]
    output = recon("link", "-c", write(tmp_path, config), code=2).output
    assert "link.weights: with link.passes" in " ".join(output.split())
