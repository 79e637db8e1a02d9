"""`recon compare`: several protections of one small truth, resumed, and with a page."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from contextlib import chdir
from pathlib import Path

import polars as pl
import pytest
import yaml

from tests.support.browser import chromium, needs_browser
from tests.support.command_line import recon
from tests.support.layouts import SCHEMA

#: Of combinations of columns: published as tables of a release of its own.
STRATEGY = (
    "strategy: small\nrho: 4\nqueries: {total: [], by_age: [sex, age]}\n"
    "levels: {tract: {queries: {total: 1/4}}, block: {queries: {by_age: 3/4}}}\n"
)
#: Of the release's own table.
TABLE = "strategy: table\nrho: 4\nqueries: {q: P99}\nlevels: {block: {queries: {q: 1}}}\n"
#: Walked from above.
WALK = (
    "strategy: walk\nrho: 1\nqueries: {total: [], detailed: [sex, age]}\nrounding: [total]\n"
    "levels: {tract: {queries: {total: 1/8, detailed: 1/8}},\n"
    "  block: {queries: {total: 1/8, detailed: 5/8}}}\n"
)
ATTACK = "attack: {exact: [sex], binned: [sex], gains: [age]}\n"
PROTECTIONS = {
    "none": None,
    "tracts": {"coarser": {"levels": ["tract"]}},
    "rounded": {"round": {"base": 3}},
    "keys": {"cellkey": {"max": 2, "variance": 1.0}},
}
MORE = {
    "suppressed": {"suppress": {"below": 3}},
    "noise": {"noise": {"strategy": "small.yaml"}},
    "noisy-table": {"noise": {"strategy": "table.yaml"}},
}


def furnish(folder: Path) -> None:
    """Write a truth of thirty people, a release and strategies."""
    draw = random.Random(4)  # noqa: S311 - cases of a test
    place = [f"34021000{tract}00{block}" for tract in (1, 2) for block in (1001, 1002)]
    rows = [
        (draw.choice(place), draw.choice(["male", "female"]), draw.choice(["0-14", "15-64", "65+"]))
        for _ in range(30)
    ]
    frame = pl.DataFrame(rows, schema=["geoid_block", "sex", "age"], orient="row")
    frame.with_columns(pik=pl.int_range(pl.len()).cast(pl.String)).write_parquet(
        folder / "truth.parquet"
    )
    (folder / "sexage.yaml").write_text(SCHEMA + ATTACK)
    (folder / "small.yaml").write_text(STRATEGY)
    (folder / "table.yaml").write_text(TABLE)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    furnish(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The config of a comparison that nobody disturbed, in a folder of its own."""
    home = tmp_path_factory.mktemp("whole")
    furnish(home)
    path = config(home, "w", protections=PROTECTIONS)
    with chdir(home):
        recon("compare", "-c", path, "--workers", "1", "-q")
    return path


def config(home: Path, work: str, **compare: object) -> Path:
    """A config that compares; its path."""
    section = {"truth": "truth.parquet", "claims": {}, "threshold": 0, **compare}
    content = {"release": "sexage.yaml", "work": work, "seed": 2, "compare": section}
    path = home / f"{work}.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return path


def content(work: Path) -> dict[str, bytes]:
    """Every file of the comparison, but for the times in its manifest."""
    return {
        path.name: path.read_bytes()
        for path in (work / "comparison").iterdir()
        if path.name != "_manifest.json"
    }


def test_each_protection_is_published_attacked_and_compared(home: Path) -> None:
    path = config(home, "all", protections={**PROTECTIONS, **MORE})
    said = " ".join(recon("compare", "-c", path, "--workers", "1").stdout.split())
    assert "on the frontier of error and risk" in said
    table = pl.read_parquet(home / "all" / "comparison" / "comparison.parquet")
    assert table["name"].to_list() == [*PROTECTIONS, *MORE]
    rows = {row["name"]: row for row in table.iter_rows(named=True)}
    assert rows["none"]["unit_error"] == rows["none"]["total_error"] == 0
    assert rows["tracts"]["unpublished"] == 100
    assert rows["tracts"]["region_error"] == 0
    assert min(rows["rounded"]["unit_error"], rows["keys"]["unit_error"]) > 0
    assert all(row["people"] > 0 and row["agreement"] is not None for row in rows.values())
    assert rows["none"]["certain"] == 100  # one table of all there is
    assert rows["none"]["certain"] > rows["rounded"]["certain"]
    assert 0 < rows["suppressed"]["unpublished"] < 100
    # shares are of the 30 people, however few the counts bound
    assert all(row["certain"] <= 100 * row["people"] / 30 + 1e-9 for row in rows.values())
    for name in ("noise", "noisy-table"):  # proves nothing
        assert rows[name]["certain"] == rows[name]["disclosed"] == 0
        assert rows[name]["unit_error"] > 0
    assert rows["noise"]["unpublished"] == 0  # users have the tables of the fitted records
    assert len({row["guessed"] for row in rows.values()}) == 1
    assert "compare: up to date" in recon("compare", "-c", path).stdout


def test_every_cell_of_the_truth_counts_though_all_are_zero(home: Path) -> None:
    truth = pl.read_parquet("truth.parquet")
    truth.with_columns(sex=pl.lit("male"), age=pl.lit("0-14")).write_parquet("truth.parquet")
    path = config(home, "zeros", protections={"none": None, **MORE})
    recon("compare", "-c", path, "--workers", "1", "-q")
    errors = pl.read_parquet(home / "zeros" / "comparison" / "errors.parquet")
    whole = errors.filter(pl.col("level") == "block", table="All", size="All")
    assert whole["cells"].to_list() == [4 * 12] * 4


def test_an_emptied_block_is_published_as_zeros(home: Path) -> None:
    truth = pl.read_parquet("truth.parquet")
    blocks = pl.Series([f"3402100000110{i:02}" for i in range(30)])
    truth.with_columns(geoid_block=blocks).write_parquet("truth.parquet")
    (home / "walk.yaml").write_text(WALK)
    more = blocks.append(pl.Series(["340210000012000"])).alias("geoid_block")
    more.to_frame().write_csv("blocks.csv")
    walk = {"strategies": ["walk.yaml"], "levels": ["tract", "block"]}
    protections = {
        "none": None,
        "topdown": {"topdown": walk},
        "anywhere": {"topdown": {**walk, "geounits": "blocks.csv"}},
        "noise": MORE["noise"],
    }
    path = config(home, "emptied", protections=protections)
    recon("compare", "-c", path, "--workers", "1", "-q")
    table = pl.read_parquet(home / "emptied" / "comparison" / "comparison.parquet")
    page = (home / "emptied" / "comparison" / "comparison.html").read_text(encoding="utf-8")
    for name in ("topdown", "noise"):
        assert f"The ε of <strong>{name}</strong> is between files that agree in" in page
    assert "The ε of <strong>none" not in page
    for name in ("topdown", "noise"):
        made = home / "emptied" / "compare" / name / "microdata"
        records = pl.concat(pl.read_parquet(file) for file in made.rglob("*.parquet"))
        assert records["geoid_block"].n_unique() < 30
    assert table["unpublished"].to_list() == [0] * 4


def test_a_killed_comparison_is_resumed_with_the_same_content(home: Path, whole: Path) -> None:
    """Its page stands with the first protection, and fills."""
    killed = config(home, "killed", protections=PROTECTIONS)
    command = [sys.executable, "-m", "recon_cli", "compare", "-c", killed, "-q"]
    process = subprocess.Popen([*map(str, command), "--workers", "1"])
    page = home / "killed" / "comparison" / "comparison.html"
    deadline = time.monotonic() + 120
    while not page.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    process.kill()
    process.wait()
    assert "<strong>keys</strong>: not done yet" in page.read_text()
    made = list((home / "killed" / "compare").glob("*/claims/_manifest.json"))
    assert made
    before = [manifest.stat().st_mtime_ns for manifest in made]
    recon("compare", "-c", killed, "--workers", "1", "-q")
    assert [manifest.stat().st_mtime_ns for manifest in made] == before
    assert "not done yet" not in page.read_text()
    assert content(home / "killed") == content(whole.parent / "w")


def test_a_protection_that_fails_is_named_and_the_others_are_kept(home: Path) -> None:
    wrong: dict[str, object] = {"swapped": {"swap": {}}, "none": None}
    path = config(home, "wrong", protections=wrong)
    error = recon("compare", "-c", path, "--workers", "1", code=5).stderr
    assert "1 of 2 protections failed, the others are done and kept" in error
    assert "swapped: " in error
    assert (home / "wrong" / "compare" / "none" / "claims" / "_manifest.json").is_file()
    compared = pl.read_csv(home / "wrong" / "comparison" / "comparison.csv")
    assert compared["name"].to_list() == ["none"]
    page = (home / "wrong" / "comparison" / "comparison.html").read_text()
    assert "1 of 2 protections are compared here" in page
    assert "<strong>swapped</strong>: failed: " in page


@pytest.mark.parametrize(
    ("compare", "message"),
    [
        ({"protections": {"a/b": None}}, "compare.protections.a/b: a name is letters"),
        ({"protections": {"a": {"round": {}, "cellkey": {}}}}, "one protection each"),
        ({"protections": {"a": [{"round": {}}, {"topdown": {}}]}}, "a list is a sequence: what"),
        ({"protections": {"a": [{"round": {}}, {"cellkey": {}}]}}, "a list is a sequence: what"),
        ({"protections": {"a": ["round"]}}, "a list is a sequence: what"),
        (
            {"protections": {"a": [{"coarser": {"levels": ["tract"]}}, {"round": {}}]}},
            "protections.a: round says itself which levels it publishes",
        ),
        (
            {"protections": {"a": [{"coarser": {}}, MORE["noise"]]}},
            "protections.a: noise says itself which tables it publishes",
        ),
        ({"protections": {"a": {"round": {"records": "x.csv"}}}}, "a.round.records: every"),
        ({"protections": {"a": {"noise": {"strategy": "b"}}}}, "no strategy 'b'"),
        ({"protections": {"a": {"coarser": {"levels": ["town"]}}}}, "no level 'town'"),
        ({"protections": {"a": None}, "weights": {"P1": 2}}, "weights: no table 'P1'"),
        ({"protections": {"a": None}, "truth": "gone.parquet"}, "compare.truth: missing"),
        ({"protections": {"a": None}, "id": "pikk"}, "compare.id: the truth has no column 'pikk'"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    home: Path, compare: dict[str, object], message: str
) -> None:
    path = config(home, "refused", **compare)
    assert message in recon("compare", "-c", path, code=2).stderr


def test_a_grid_of_swaps_is_a_protection_for_each_combination(tmp_path: Path) -> None:
    content = {
        "release": "sf1_2010",
        "work": str(tmp_path / "grid"),
        "seed": 1,
        "synth": {"people": 400},
        "compare": {
            "protections": {"none": None},
            "swaps": {
                "rate": [0.1, 0.5],
                "size_noise": {"same": [0, 1, 0]},
                "pseudo_tract": {"near": [1, 0, 0], "far": [0, 0, 1]},
            },
            "tables": ["P1", "P9", "P12"],
            "threshold": 0,
        },
    }
    path = tmp_path / "grid.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    recon("run", "-c", path, "--workers", "1", "-q")
    home = tmp_path / "grid" / "comparison"
    table = pl.read_parquet(home / "comparison.parquet")
    grid = [f"swap-{rate}-same-{tract}" for rate in (0.1, 0.5) for tract in ("near", "far")]
    assert table["name"].to_list() == ["none", *grid]
    assert "rate 0.5, size_noise 0.0 1.0 0.0" in table["settings"][3]
    assert table["total_error"].to_list() == [0] * 5  # partners of equal size
    assert table["unit_error"][1] < table["unit_error"][3]
    scores = pl.read_parquet(home / "scores.parquet").filter(block_size="All")
    agree = dict(scores.select("protection", "agree_binned").iter_rows())
    assert agree["none"] > max(agree[name] for name in grid)
    assert scores["all"].null_count() == 0


def test_status_tells_what_is_to_be_made_and_changes_nothing(
    home: Path, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = config(home, "status", protections={"none": None})
    assert "not run" in recon("status", "-c", path).stdout
    assert not (home / "status").exists()
    monkeypatch.chdir(whole.parent)
    assert "done" in recon("status", "-c", whole).stdout


@needs_browser
def test_the_page_fits_a_phone_and_fetches_nothing(whole: Path) -> None:
    page = whole.parent / "w" / "comparison" / "comparison.html"
    with chromium() as browser:
        opened = browser.new_page(viewport={"width": 390, "height": 844})
        asked: list[str] = []
        opened.on("request", lambda request: asked.append(request.url))
        opened.goto(page.as_uri())
        root = "document.documentElement"
        assert opened.evaluate(f"{root}.scrollWidth <= {root}.clientWidth")
        assert opened.locator("svg.chart").count() == 2
        assert asked == [page.as_uri()]


def test_a_number_is_swept_with_draws_that_share_their_bits(home: Path) -> None:
    noise = {"noise": {"strategy": "small.yaml"}}
    path = config(
        home,
        "swept",
        protections={"none": None, "n": noise},
        sweep={"over": "noise.scale", "values": ["1/100", 1, 100000], "draws": 2},
    )
    recon("compare", "-c", path, "--workers", "1")
    rows = pl.read_parquet(home / "swept/comparison/sweep.parquet")
    assert rows["value"].unique(maintain_order=True).to_list() == ["1/100", "1", "100000"]
    assert set(rows["draws"]) == {2}
    spent = dict(rows.select("value", "epsilon").unique().rows())
    assert spent["1/100"] < spent["1"] < spent["100000"]
    cells = rows.filter(measure="cells", level="block").sort("epsilon")
    assert cells["mean"].is_sorted()
    assert cells["mean"][-1] == 1  # so large a budget publishes the truth
    assert (cells["low"] <= cells["mean"]).all()
    seeds = [
        yaml.safe_load((home / f"swept/compare/n-{value}-{draw}/noisy/_manifest.json").read_text())
        for value in ("1_100", "1")
        for draw in (0, 1)
    ]
    assert len({json.dumps(each["notes"]["budget"]) for each in seeds}) == 2
    believed = rows.filter(measure="posterior").sort("epsilon")
    assert believed["mean"].is_sorted()
    assert believed["mean"].is_between(50, 100).all()
    boxes = pl.read_parquet(home / "swept/comparison/distributions.parquet").filter(size="All")
    assert set(boxes["value"]) == {"", "1/100", "1", "100000"}
    wide = {value: high - low for value, low, high in boxes.filter(level="block")
            .select("value", "q05", "q95").rows()}  # fmt: skip
    assert wide["1/100"] > wide["1"] >= wide["100000"] == wide[""] == 0
    steps = pl.read_parquet(home / "swept/comparison/differences.parquet")
    assert steps.select(steps.columns[:4]).unique(maintain_order=True).rows() == [
        ("n", "1", "n", "1/100"),
        ("n", "100000", "n", "1"),
    ]
    step = steps.filter(measure="cells", level="block", value="1")["mean"].item()
    assert step == pytest.approx(cells["mean"][1] - cells["mean"][0])
    units = pl.read_parquet(home / "swept/comparison/unit_errors.parquet")
    every = units.group_by("value", "level").agg(pl.col("geounits").sum())
    assert every.filter(level="block")["geounits"].n_unique() == 1
    assert units.filter(value="100000")["deviation"].abs().max() == 0
    summary = pl.read_parquet(home / "swept/comparison/comparison.parquet")
    assert summary["name"].to_list() == ["none", "n 1/100", "n 1", "n 100000"]
    page = (home / "swept/comparison/comparison.html").read_text()
    assert "Usefulness and risk over noise.scale" in page
    assert "From value to value" in page
    assert "errors of people, block by block" in page


def test_protections_in_sequence(home: Path) -> None:
    (home / "walk.yaml").write_text(WALK)
    walk = {"strategies": ["walk.yaml"], "levels": ["tract", "block"]}
    above = {**walk, "levels": ["tract"]}
    path = config(
        home,
        "sequence",
        protections={
            "topdown": {"topdown": walk},
            "then-rounded": [{"topdown": walk}, {"round": {"base": 5}}],
            "no-blocks": [{"topdown": above}, {"coarser": {"levels": ["tract"]}}],
            "exact": {"topdown": {**walk, "invariant": {"query": "total", "levels": "all"}}},
            "bottom-up": {"topdown": {**walk, "levels": ["block"]}},
        },
        sweep={"over": "topdown.scale", "values": ["1/16", 10000]},
    )
    recon("compare", "-c", path, "--workers", "1", "-q")
    made = home / "sequence/compare"
    for value in ("1_16", "10000"):
        first, second = (
            pl.read_parquet(made / f"{name}-{value}-0/mdf/**/*.parquet", hive_partitioning=False)
            for name in ("topdown", "then-rounded")
        )
        assert first.equals(second)  # the same first step
    rounded = pl.read_parquet(made / "then-rounded-10000-0/tables/**/*.parquet")
    assert (rounded["count"] % 5 == 0).all()
    rows = pl.read_parquet(home / "sequence/comparison/sweep.parquet")
    spent = {(name, value): e for name, value, e in rows.select(*rows.columns[:3]).rows()}
    assert spent["topdown", "1/16"] == spent["then-rounded", "1/16"]
    assert spent["topdown", "1/16"] > max(spent["no-blocks", "1/16"], spent["bottom-up", "1/16"])
    error = rows.filter(measure="people", value="1/16")
    blocks = dict(error.filter(level="block").select("protection", "mean").rows())
    assert blocks["exact"] == 1
    assert blocks["no-blocks"] == 0.5  # nobody has a number
    whole = rows.filter(measure="cells", value="10000", level="tract")
    exact = dict(whole.select("protection", "mean").rows())
    assert exact["no-blocks"] == exact["topdown"] == exact["bottom-up"] == 1
    assert "disclosed" not in set(rows["measure"])  # of rounded records nothing is proven of people
    settings = pl.read_parquet(home / "sequence/comparison/comparison.parquet")["settings"]
    assert any("; round: " in each and "base 5" in each for each in settings)


def test_records_are_swapped_before_they_are_measured(tmp_path: Path) -> None:
    (tmp_path / "totals.yaml").write_text(
        "strategy: totals\nrho: 1\nqueries: {total: [], race: [race]}\n"
        "levels: {block: {queries: {total: 1/2, race: 1/2}}}\n"
    )
    content = {
        "release": "sf1_2010",
        "work": str(tmp_path / "work"),
        "seed": 1,
        "synth": {"people": 300},
        "compare": {
            "protections": {
                "swapped": {"swap": {"setting": "hi"}},
                "belt": [
                    {"swap": {"setting": "hi"}},
                    {"noise": {"strategy": str(tmp_path / "totals.yaml"), "scale": 100000}},
                ],
            },
            "tables": ["P1", "P8"],
            "threshold": 0,
            "all_below": {"age": 18},
        },
    }
    path = tmp_path / "belt.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    recon("run", "-c", path, "--workers", "1", "-q")
    made = tmp_path / "work" / "compare"
    swapped, belt = (
        pl.read_parquet(made / name / "hdf/**/*.parquet", hive_partitioning=False)
        for name in ("swapped", "belt")
    )
    assert swapped.equals(belt)
    by_race = belt.group_by("geoid_block", "race").len().select("geoid_block", "len")
    noisy = pl.read_parquet(made / "belt/noisy/**/*.parquet", hive_partitioning=False)
    of_race = noisy.filter(pl.col("count") > 0, table="race").select("geoid", "count")
    assert sorted(of_race.rows()) == sorted(by_race.rows())  # so large a budget publishes the HDF
    table = pl.read_parquet(tmp_path / "work/comparison/comparison.parquet")
    assert table["epsilon"][0] is None
    assert table["posterior"].to_list() == [None, pytest.approx(100)]
    truth, found = (
        pl.read_parquet(folder / "**/*.parquet", hive_partitioning=False)
        for folder in (tmp_path / "work/persons", made / "belt/microdata")
    )
    young = {  # by brute force
        block
        for (block,), rows in found.group_by("geoid_block")
        if all(age is not None and age < 18 for age in rows["age"])
        and any(age >= 18 for age in truth.filter(geoid_block=block)["age"])
    }
    assert table["all_below"][1] == len(young)


def test_the_order_of_the_studys_table_11_is_kept_in_a_sweep(tmp_path: Path) -> None:
    content = {
        "release": "sf1_2010",
        "work": str(tmp_path / "work"),
        "seed": 1,
        "synth": {"people": 300},
        "compare": {
            "protections": {
                "none": None,
                "rHDF": {"swap": {"setting": "targeted"}},
                "rSWAPHi": {"swap": {"setting": "hi"}},
                "rMDF": {"topdown": {"without": ["group_quarters", "relationship"]}},
            },
            "sweep": {"over": "topdown.scale", "values": [1]},
            "tables": ["P1", "P9", *(f"P12{race}" for race in "ABCDEFGHI")],
            "threshold": 0,
        },
    }
    path = tmp_path / "order.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    recon("run", "-c", path, "--workers", "1", "-q")
    table = pl.read_parquet(tmp_path / "work/comparison/comparison.parquet")
    order = table.sort("agreement")["name"].to_list()
    assert order == ["rMDF 1", "rSWAPHi", "rHDF", "none"]


def test_a_sweep_of_what_is_no_privacy_loss_has_its_own_axis(home: Path) -> None:
    path = config(
        home,
        "rounding",
        protections={"r": {"round": {}}},
        sweep={"over": "round.base", "values": [3, 5]},
    )
    recon("compare", "-c", path, "--workers", "1")
    rows = pl.read_parquet(home / "rounding/comparison/sweep.parquet")
    assert rows["epsilon"].null_count() == len(rows)
    assert rows["low"].null_count() == len(rows)  # one draw has no interval
    assert "disclosed" in set(rows["measure"])
    error = rows.filter(measure="error")["mean"]
    assert error[0] < error[1]


@pytest.mark.parametrize(
    ("over", "values", "said"),
    [
        ("round.how", [3], "round.how: no number there (numbers: base)"),
        ("round.base", [0], "sweep.values: 0: not for round.base"),
        ("topdown.scale", [1], "no protection is made by 'topdown' (there are: round)"),
        ("round.base.more", [1], "no number there"),
    ],
)
def test_what_cannot_be_swept_is_refused(
    home: Path, over: str, values: list[int], said: str
) -> None:
    path = config(
        home,
        "refused",
        protections={"r": {"round": {"base": 3}}},
        sweep={"over": over, "values": values},
    )
    refused = recon("compare", "-c", path, code=2)
    assert said in " ".join(refused.stderr.split())
