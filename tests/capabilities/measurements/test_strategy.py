from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from recon_cli.capabilities.measurements.draws import (
    _thresholds,
    cells_of,
    draw_noise,
    measurement_noise,
    opendp_measurement,
    opendp_noise,
)
from recon_cli.capabilities.measurements.strategy import table_sensitivity
from recon_cli.capabilities.measurements.strategy_file import load_strategy
from recon_cli.capabilities.tabulate.tabulation import tabulate
from recon_cli.chance import KeyedChance
from recon_cli.errors import ConfigError
from recon_cli.schema import load_release
from recon_cli.statement.noise import Gaussian, Geometric
from tests.support.populations import random_records, random_units

CLINIC = load_release("clinic_visits")
SF1 = load_release("sf1_2010")
CHANCE = KeyedChance.for_study(5)
TITLE = "strategy: small\nlevels: {district: {queries: {all: 1/2}}}\nqueries: {all: []}\n"


def test_the_packaged_budgets_are_the_published_ones() -> None:
    pl94 = load_strategy("pl94_2020", SF1, ("group_quarters",))
    assert pl94.budget() == Fraction(542, 339) ** 2
    assert f"{pl94.epsilon():.2f}" == "17.90"
    dhc = load_strategy("dhc_2020", SF1, ("group_quarters", "relationship"))
    assert dhc.budget() == Fraction(49622, 10000)
    assert f"{dhc.epsilon():.2f}" == "26.34"
    sigma = {
        (level, each.query.name): round(math.sqrt(each.variance), 2)
        for strategy in (pl94, dhc)
        for level in strategy.levels
        for each in strategy.at(level)
    }
    assert sigma["block", "total"] == 89.24
    assert sigma["block_group", "hispanic_race"] == 2.23
    assert sigma["state", "age40_detailed"] == 3.16
    assert sigma["block", "age38_sex"] == 30.15
    detailed = {each.query.name: each.query for each in dhc.at("block")}["detailed"]
    assert detailed.size == 2 * 111 * 2 * 63


def test_levels_of_the_redistricting_data_have_their_published_shares() -> None:
    pl94 = load_strategy("pl94_2020", SF1, ("group_quarters",))
    shares = {level: pl94.budget([level]) / pl94.budget() * 4099 for level in pl94.levels}
    assert shares == {
        "nation": 104, "state": 1440, "county": 447, "tract": 687, "block_group": 1256,
        "block": 165,
    }  # fmt: skip


def further(place: tuple[int, ...]) -> Iterator[int]:
    return CHANCE.further(*place)


@pytest.mark.parametrize(
    "law", [Gaussian(variance=Fraction("10.09")), Geometric(epsilon=Fraction("0.4"))]
)
def test_inversion_has_the_frequencies_of_the_density(law: Gaussian | Geometric) -> None:
    bits = CHANCE.words(200_000)
    drawn = draw_noise(law, bits, further)
    values = np.arange(-12, 13)
    weights = np.exp(-law.cost(np.array(200), 200 - np.arange(-150, 151)))
    p = weights[150 - 12 : 150 + 13] / weights.sum()
    seen = np.array([(drawn == value).sum() for value in values])
    chi = float(((seen - p * len(bits)) ** 2 / (p * len(bits))).sum())
    assert chi < 25 + 4 * math.sqrt(50)
    variance = float(weights @ np.arange(-150, 151) ** 2 / weights.sum())
    assert abs(drawn.var() / variance - 1) < 0.02


def test_bits_close_to_a_threshold_are_decided_by_more_bits() -> None:
    law = Gaussian(variance=Fraction(2))
    words = _thresholds(law, 64).words()
    drawn = draw_noise(law, words, further)
    low = _thresholds(law, 64).low
    assert np.isin(drawn - low - np.arange(len(words)), (0, 1)).sum() > 20
    more = _thresholds(law, 128)
    shift = low - more.low
    inner = [i for i, word in enumerate(words) if 2**10 < int(word) < 2**64 - 2**10]
    for i in inner:
        assert abs(more.below[i + shift] - (int(words[i]) << 64)) <= 1 << 66
    assert draw_noise(law, np.array([0, 2**64 - 1], dtype=np.uint64), further).tolist() != [0, 0]


def test_the_noise_of_a_geounit_depends_on_its_names_only() -> None:
    strategy = load_strategy("pl94_2020", SF1, ("group_quarters",))
    each = strategy.at("block")[-1]
    geoids = [f"01001000000{n:04d}" for n in range(6)]
    cells = cells_of(each.query)
    whole = measurement_noise(CHANCE, each, geoids, cells)
    some = measurement_noise(CHANCE, each, geoids[4:2:-1], cells)
    assert some.tolist() == whole[[4, 3]].tolist()
    assert (measurement_noise(CHANCE.named("tract"), each, geoids, cells) != whole).mean() > 0.7


def test_no_word_serves_two_cells() -> None:
    """A run that asks for other cells, as one resumed may, gets words of its own."""
    strategy = load_strategy("pl94_2020", SF1, ("group_quarters",))
    each, geoids = strategy.at("block")[-1], ["010010000000001"]
    cells = np.arange(200)
    one = measurement_noise(CHANCE, each, geoids, cells)[0]
    fewer = measurement_noise(CHANCE, each, geoids, cells[1:])[0]
    for other in (fewer, np.roll(fewer, 1)):
        assert (one[1:] == other).mean() < 0.3


@pytest.mark.parametrize("name", ["pl94_2020", "dhc_2020"])
def test_budgets_are_those_that_opendp_finds(name: str) -> None:
    pytest.importorskip("opendp")
    strategy = load_strategy(name, SF1, ("group_quarters", "relationship")[: 1 + (name[0] == "d")])
    found = sum(
        opendp_measurement(each.law).map(math.sqrt(2))
        for at in strategy.levels.values()
        for each in at
    )
    assert found == pytest.approx(float(strategy.budget()), rel=1e-9)


def test_geometric_budgets_are_those_that_opendp_finds() -> None:
    pytest.importorskip("opendp")
    assert opendp_measurement(Geometric(epsilon=Fraction("0.25"))).map(2) == pytest.approx(0.5)


def test_opendp_noise_has_the_variance() -> None:
    pytest.importorskip("opendp")
    drawn = opendp_noise(Gaussian(variance=Fraction(4)), (40, 50))
    assert drawn.shape == (40, 50)
    assert 3 < drawn.var() < 5


def test_sensitivity_of_a_table_bounds_every_change() -> None:
    records = random_records(CLINIC, 3, 60, random_units(CLINIC, 3, 1))
    alone = [tabulate(CLINIC, records[i : i + 1]) for i in range(len(records))]
    for table in CLINIC.tables:
        here = CLINIC.geography.level_names(pl.col("geoid")) == CLINIC.finest_level(table).name
        cells = np.zeros((len(records), len(table.cells)), dtype=np.int64)
        for row, counts in zip(cells, alone, strict=True):
            of_table = counts.filter(here, table=table.name)
            row[of_table["cell"].to_numpy() - 1] = of_table["count"].to_numpy()
        for replaced, changes in ((True, cells[:, None] - cells), (False, cells)):
            bound = table_sensitivity(table, CLINIC.features, replaced=replaced)
            assert abs(changes).sum(axis=-1).max() <= bound.absolute
            assert (changes**2).sum(axis=-1).max() <= bound.squared


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TITLE.replace("1/2", "0"), "levels.district.queries.all: a number above 0"),
        (TITLE.replace("1/2", "-1"), "a number, or products"),
        (TITLE + "rho: 0\n", "rho: a number above 0"),
        (TITLE + "epsilon: 1\n", "epsilon: a gaussian mechanism has rho"),
        (TITLE + "delta: 2\n", "delta: a number above 0 and below 1"),
        (TITLE.replace("{all: 1/2}", "{some: 1}"), "levels.district.queries.some: no such query"),
        (TITLE.replace("[]", "[colour]"), "no column 'colour'"),
        (TITLE.replace("[]", "[age, ageband]"), "two columns are of one feature"),
        (TITLE.replace("[]", "P9"), "no table 'P9'"),
        (TITLE.replace("[]", "[any_condition]"), "queries.all"),
        (TITLE + "colour: 1\n", "colour"),
        (TITLE + "passes: [{queries: [some]}]\n", r"passes\[0\].queries: no 'some'"),
        (
            TITLE + "passes: [{queries: [all], levels: [ward]}]\n",
            r"passes\[0\].levels: no 'ward' \(levels: ",
        ),
    ],
)
def test_a_wrong_strategy_is_named(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "s.yaml").write_text(text)
    with pytest.raises(ConfigError, match=message):
        load_strategy(str(tmp_path / "s.yaml"), CLINIC)


def test_a_missing_level_lists_those_there_are() -> None:
    strategy = load_strategy("dhc_2020", SF1, ("group_quarters", "relationship"))
    with pytest.raises(ConfigError, match=r"no level 'place'.*tract_group"):
        strategy.at("place")


def test_production_fits_totals_and_single_years_apart() -> None:
    without = ("group_quarters", "relationship")
    first, second = (load_strategy(name, SF1, without) for name in ("pl94_2020", "dhc_2020"))
    assert [len(first.passes(level)) for level in ("nation", "tract", "block")] == [1, 2, 1]
    assert [each.query.name for each in first.passes("tract")[0]] == ["total"]
    assert [each.query.name for each in second.passes("block")[1]] == ["detailed"]


def test_what_the_release_lacks_must_be_said() -> None:
    with pytest.raises(ConfigError, match=r"no column 'group_quarters'.*without: \[group_quar"):
        load_strategy("pl94_2020", SF1)
    with pytest.raises(ConfigError, match="without: release 'sf1_2010' has the feature 'sex'"):
        load_strategy("pl94_2020", SF1, ("sex",))
