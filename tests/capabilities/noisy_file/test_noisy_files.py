"""Noisy measurement files in the published layout, made up, are read as what they measure."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
import yaml

from recon_cli.capabilities.measurements.strategy_file import load_strategy
from recon_cli.capabilities.noisy_file.noisy_files import read_product
from recon_cli.errors import SourceError
from recon_cli.schema import load_release
from tests.support.command_line import recon

PL = load_release("pl_2020")
#: Axes of the histogram, in the files' order: how many values each has.
SHAPE = (8, 2, 2, 63)
QUERIES = {
    "total_dpq": (),
    "hhgq_dpq": (0,),
    "votingage_dpq": (1,),
    "hispanic * cenrace_dpq": (2, 3),
    "votingage * hispanic_dpq": (1, 2),
    "detailed_dpq": (0, 1, 2, 3),
}
COUNTIES = {"050100011": "50001", "050100031": "50003"}
VARIANCE = {"County": 1.5, "Tract": 2.5, "Block_Group": 3.0, "Block": 4.0}


def product(folder: Path, seed: int = 1) -> tuple[Path, dict[str, np.ndarray]]:
    """Write a product of two counties, and return it with the true histograms by geocode."""
    rng = np.random.default_rng(seed)
    truth: dict[str, np.ndarray] = {}
    levels: dict[str, list[str]] = {level: [] for level in VARIANCE}
    for county, fips in COUNTIES.items():
        levels["County"].append(county)
        for tract in ("01", "02"):
            levels["Tract"].append(county + tract)
            for group in ("1", "2")[: int(tract) % 2 + 1]:
                levels["Block_Group"].append(county + tract + group)
                for number in range(2):
                    geoid = f"{fips}0{tract}000{group}{group}00{number}"
                    code = county + tract + group + geoid
                    levels["Block"].append(code)
                    truth[code] = rng.poisson(0.01, SHAPE)
                    truth[code][0, 1, 0, 0] += 5
    for level in ("Block_Group", "Tract", "County"):
        for code in levels[level]:
            inside = [truth[block] for block in levels["Block"] if block.startswith(code)]
            truth[code] = np.sum(inside, axis=0)
    root = folder / "US_Person_PL_PROD"
    for level, variance in VARIANCE.items():
        rows = []
        for code in levels[level]:
            for name, axes in QUERIES.items():
                others = tuple(axis for axis in range(4) if axis not in axes)
                exact = truth[code].sum(axis=others).ravel()
                noise = np.rint(rng.normal(0, variance**0.5, exact.size)).astype(int)
                rows.append((code, name, (exact + noise).tolist(), variance))
        frame = pl.DataFrame(
            rows,
            schema={"geocode": pl.String, "query_name": pl.String,
                    "value": pl.List(pl.Int64), "variance": pl.Float32},
            orient="row",
        )  # fmt: skip
        to = root / f"{level}.parquet" / "DPQuery" / "State=50"
        to.mkdir(parents=True)
        frame.write_parquet(to / "part-0.parquet")
    (root / "County.parquet" / "Constraint").mkdir()
    return root, truth


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, np.ndarray]]:
    home = tmp_path_factory.mktemp("noisy")
    root, truth = product(home)
    said = recon("data", "noisy", root, "--to", home / "noisy", width=200).stdout
    assert "left out" in said
    assert "Constraint/" in said
    return home, truth


def test_every_count_is_of_the_cell_that_it_was(made: tuple[Path, dict[str, np.ndarray]]) -> None:
    home, _ = made
    release = load_release(str(home / "noisy" / "release.yaml"))
    counts = pl.read_parquet(home / "noisy" / "**" / "*.parquet", hive_partitioning=False)
    raw = pl.read_parquet(home / "US_Person_PL_PROD" / "Block.parquet" / "**" / "*.parquet")
    block = raw["geocode"][0]
    values = raw.filter(geocode=block, query_name="detailed_dpq")["value"][0]
    found = dict(counts.filter(geoid=block, table="detailed").select("cell", "count").iter_rows())
    features = [release.feature_index[n] for n in ("group_quarters", "age", "hispanic", "race")]
    whole = np.array(values).reshape(SHAPE)
    for cell in release.table_by_name["detailed"].cells[:400:7]:
        masks = [cell.masks[at] for at in features]
        quarters, hispanic, race = (masks[at].bit_length() - 1 for at in (0, 2, 3))
        adult = int(masks[1] & 1 == 0)
        assert found[cell.number] == whole[quarters, adult, hispanic, race]
    assert (
        counts.filter(geoid=block, table="total")["count"].item()
        == (raw.filter(geocode=block, query_name="total_dpq")["value"][0][0])
    )
    assert counts.filter(table="hispanic_race")["cell"].max() == 126


def test_laws_are_the_published_variances(made: tuple[Path, dict[str, np.ndarray]]) -> None:
    laws = yaml.safe_load((made[0] / "noisy" / "protection.yaml").read_text())["statements"]
    found = {(law["levels"][0], law["law"]["gaussian"]["variance"]) for law in laws}
    assert found == {("county", 1.5), ("tract", 2.5), ("block_group", 3.0), ("block", 4.0)}
    assert len(laws) == len(QUERIES) * 4


def test_what_was_published_is_estimated_and_attacked(
    made: tuple[Path, dict[str, np.ndarray]],
) -> None:
    home, truth = made
    config = home / "run.yaml"
    config.write_text(
        "release: noisy/release.yaml\nwork: work\nseed: 1\n"
        "ingest: {source: tidy, paths: [noisy], names: noisy/geoids.txt}\nestimate:\n"
        "reconstruct:\n"
    )
    recon("run", "-q", "-c", config, "--workers", "1")
    estimates = pl.read_parquet(home / "work" / "estimates" / "**" / "*.parquet")
    totals = estimates.filter(table="total", level="county")
    assert totals.height == 2
    for row in totals.iter_rows(named=True):
        assert abs(row["estimate"] - truth[row["geoid"]].sum()) < 6
        assert row["sd"] < 1.5**0.5
    people = pl.read_parquet(home / "work" / "microdata" / "**" / "*.parquet")
    everybody = sum(truth[code].sum() for code in COUNTIES)
    assert abs(people.height - everybody) < 0.2 * everybody
    names = pl.read_csv(home / "noisy" / "geoids.txt", infer_schema=False)
    assert all(geoid.endswith(name[11:]) and name[:5] in COUNTIES.values()
               for geoid, name in names.iter_rows())  # fmt: skip


def _changed(root: Path, level: str, **columns: pl.Expr) -> None:
    (path,) = (root / f"{level}.parquet").rglob("*.parquet")
    frame = pl.read_parquet(path)
    frame.with_columns(**columns).write_parquet(path)


first = pl.int_range(pl.len()) == 0


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"variance": pl.when(first).then(9.0).otherwise("variance")}, "variances from 4.0 to 9"),
        ({"query_name": pl.lit("sex_dpq")}, r"no query of pl94_2020 \(.*\) among sex_dpq"),
        ({"query_name": pl.lit("hispanic_dpq")}, "hispanic of pl94_2020 has 2"),
        ({"geocode": pl.lit("9") + pl.col("geocode").str.slice(1)}, "is no geocode of Block_Group"),
        ({"geocode": pl.when(first).then(pl.lit("0501")).otherwise("geocode")}, "of one length"),
    ],
)
def test_another_layout_is_refused(tmp_path: Path, columns: dict[str, pl.Expr], said: str) -> None:
    root, _ = product(tmp_path)
    _changed(root, "Block", **columns)
    with pytest.raises(SourceError, match=said):
        read_product(root, PL)


def test_queries_of_the_detailed_product_are_turned_and_others_named(tmp_path: Path) -> None:
    """In the files sex comes before age and ethnicity, in the strategy after them."""
    county, block = "050100011", "0501000110115000101000011000"
    queries = {
        "hispanic * sex_dpq": [1, 2, 3, 4],  # men, then women, each by ethnicity
        "age_18_64_116 * sex_dpq": [10, 20, 30, 40, 50, 60],
        "popSehsdTargetsRelship_dpq": list(range(19)),
        "detailed_dpq": [0] * 40_000,
    }
    for level, code in (("County", county), ("Block", block)):
        rows = [(code, name, values, 2.0) for name, values in queries.items()]
        folder = tmp_path / "US_DHCP_PROD" / f"{level}.parquet" / "DPQuery"
        folder.mkdir(parents=True)
        schema = ["geocode", "query_name", "value", "variance"]
        pl.DataFrame(rows, schema=schema, orient="row").write_parquet(folder / "part.parquet")
    words = ("--strategy", "dhc_2020", "--release", "dhc_2020", "--without", "relationship")
    said = recon(
        "data", "noisy", tmp_path / "US_DHCP_PROD", "--to", tmp_path / "noisy", *words, width=200
    ).stdout
    assert "detailed_dpq, popSehsdTargetsRelship_dpq" in said
    release = load_release(str(tmp_path / "noisy" / "release.yaml"))
    counts = pl.read_parquet(tmp_path / "noisy" / "**" / "*.parquet", hive_partitioning=False)
    found = {
        (table, cell): count
        for table, cell, count in counts.filter(geoid=block)
        .select("table", "cell", "count")
        .iter_rows()
    }
    sex, age = release.feature_index["sex"], release.feature_index["age"]
    origin = release.feature_index["hispanic"]
    for cell in release.table_by_name["hispanic_sex"].cells:
        man, hispanic = cell.masks[sex] == 1, cell.masks[origin] == 2
        assert found["hispanic_sex", cell.number] == (1 if man else 3) + hispanic
    for cell in release.table_by_name["age_sex"].cells:
        at = [cell.masks[age] >> lower & 1 for lower in (0, 18, 65)].index(1)
        assert found["age_sex", cell.number] == 10 * (1 + at) + (30 if cell.masks[sex] == 2 else 0)


def test_no_such_folder(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"no noisy measurements \(one of Block\.parquet/DPQuery"):
        read_product(tmp_path, PL)


def test_queries_are_the_strategy_s() -> None:
    known = load_strategy("pl94_2020", PL)
    assert [c.name for c in known.queries["detailed"].columns] == [
        *("group_quarters", "voting_age", "hispanic", "race"),
    ]
