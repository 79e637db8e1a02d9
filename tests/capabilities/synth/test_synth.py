"""A synthetic population: its geography, margins and households."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from recon_cli.capabilities.attacker.stage import age_bins
from recon_cli.capabilities.calibrate.measures import load_study
from recon_cli.capabilities.synth.county import HOUSEHOLDS, PERSONS, generate_county
from recon_cli.capabilities.synth.geography import (
    FIRST_COUNTY,
    LAST_COUNTY,
    block_sizes,
    class_of,
    county_geoids,
    plan_nation,
)
from recon_cli.capabilities.synth.households import RELATIONSHIPS, RELATIVES, cumulative_sums
from recon_cli.capabilities.synth.origins import vary
from recon_cli.capabilities.synth.parameters import load_nation
from recon_cli.capabilities.synth.units import FEATURES, HOLDER_AGES
from recon_cli.capabilities.tabulate.tabulation import count_violations, tabulate
from recon_cli.errors import ConfigError
from recon_cli.page.sizes import Sizes
from recon_cli.schema import load_release
from recon_cli.schema.states import STATES
from recon_cli.seeding import generator
from tests.support import nations
from tests.support.command_line import recon

NATION = load_nation()
STUDY = load_study()


def config(tmp_path: Path, synth: str = "{people: 9000, people_per_county: 3000}") -> Path:
    path = tmp_path / "nation.yaml"
    path.write_text(
        f"release: sf1_2010\nwork: out\nseed: 5\nsynth: {synth}\nswap: {{study_seed: 5}}\n"
    )
    return path


# --- block sizes and geography --------------------------------------------------------------


@pytest.mark.parametrize("people", [1, 2, 49, 700, 10_000, 1_000_000])
def test_block_sizes_sum_to_the_people(people: int) -> None:
    sizes = block_sizes(NATION.geography, people, generator(1, "test"))
    assert sizes.sum() == people
    assert sizes.min() > 0
    assert (np.diff(sizes) <= 0).all()


def test_block_sizes_have_the_published_distribution() -> None:
    sizes = block_sizes(NATION.geography, 3_000_000, generator(1, "test"))
    kind = class_of(NATION.geography, sizes)
    published = STUDY.classes["blocks"] / STUDY.classes["blocks"].sum()
    assert np.abs(np.bincount(kind) / len(sizes) - published.to_numpy()).max() < 0.0005
    people = np.bincount(kind, sizes) / sizes.sum()
    wanted = STUDY.classes["people"] / STUDY.classes["people"].sum()
    assert np.abs(people - wanted.to_numpy()).max() < 0.003


def test_published_sizes_of_the_parameters_are_those_of_the_study() -> None:
    geography = NATION.geography
    assert list(geography.blocks) == STUDY.classes["blocks"].to_list()
    assert list(geography.people) == STUDY.classes["people"].to_list()
    assert geography.lower == STUDY.lower
    assert list(geography.upper[:-1]) == [low - 1 for low in STUDY.lower[1:]]


def test_geoids_nest_and_are_nobodys() -> None:
    geoids = nations.whole().places["geoid_block"]
    assert geoids.is_unique().all()
    for geoid in geoids.to_list():
        assert re.fullmatch(r"\d{15}", geoid)
        assert geoid[:2] in STATES
        assert FIRST_COUNTY <= int(geoid[2:5]) <= LAST_COUNTY
        assert 1 <= int(geoid[11]) <= 9
    assert county_geoids(408, 8)[-1][:2] == "56"


def test_counties_stay_within_the_made_up_codes() -> None:
    geoids = county_geoids(51 * 100, 8)
    assert len(set(geoids)) == len(geoids)
    assert max(int(geoid[2:]) for geoid in geoids) <= LAST_COUNTY


def test_uninhabited_blocks_and_tracts_of_the_usual_size() -> None:
    places = nations.whole().places
    empty = (places["population"] == 0).mean()
    assert empty == pytest.approx(NATION.geography.uninhabited, abs=0.001)
    tract = places.group_by(pl.col("geoid_block").str.head(11)).agg(pl.col("population").sum())
    mean = tract["population"].mean()
    assert mean == pytest.approx(NATION.geography.people_per_tract, rel=0.15)


def test_every_block_has_its_population() -> None:
    made = nations.whole()
    assert len(made.persons) == nations.PEOPLE
    found = made.persons.group_by("geoid_block").agg(found=pl.len())
    both = made.places.join(found, on="geoid_block", how="left").fill_null(0)
    assert (both["found"] == both["population"]).all()
    units = made.households.group_by("geoid_block").agg(found=pl.len())
    both = made.places.join(units, on="geoid_block", how="left").fill_null(0)
    assert (both["found"] == both["units"]).all()


# --- determinism ----------------------------------------------------------------------------


def test_same_seed_same_county_and_another_seed_another() -> None:
    county = nations.plan()[0]
    nation = nations.small_counties(NATION)
    again = generate_county(nation, county, nations.SEED)
    assert again.persons.equals(nations.counties()[0].persons)
    assert again.households.equals(nations.counties()[0].households)
    assert not generate_county(nation, county, 12).persons.equals(again.persons)


def test_workers_do_not_change_a_byte(tmp_path: Path) -> None:
    path = config(tmp_path)
    for workers in (1, 2):
        work = tmp_path / str(workers)
        for command in (("data", "synth"), ("data", "attacker"), ("protect", "swap")):
            recon(*command, "-c", path, "--work", work, "--workers", workers)
    one, two = (
        {p.relative_to(tmp_path / w): p.read_bytes() for p in (tmp_path / w).rglob("*.parquet")}
        for w in ("1", "2")
    )
    assert one == two
    assert len(one) == 8 * len(list((tmp_path / "1" / "persons").glob("county=*")))


def test_up_to_date_and_other_sizes(tmp_path: Path) -> None:
    path = config(tmp_path)
    assert "data synth: done" in recon("data", "synth", "-c", path).output
    assert "up to date" in recon("data", "synth", "-c", path).output
    assert "3,000" in recon("data", "synth", "-c", path, "--people", 3000).output
    blocks = recon("data", "synth", "-c", path, "--blocks", 50).output
    assert re.search(r"^ *inhabited blocks +50 *$", blocks, re.MULTILINE)
    recon("data", "synth", "-c", path, "--blocks", 50, "--people", 3000, code=2)


def test_wrong_sizes_and_parameters_are_refused(tmp_path: Path) -> None:
    both = config(tmp_path, "{people: 9, blocks: 9}")
    assert "one of people and blocks" in recon("data", "synth", "-c", both, code=2).output
    none = config(tmp_path, "{seed: 3}")
    assert "one of people and blocks" in recon("data", "synth", "-c", none, code=2).output
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("geography: {}\n")
    with pytest.raises(ConfigError, match="wrong"):
        load_nation(wrong)
    with pytest.raises(ConfigError, match="cannot be read"):
        load_nation(tmp_path / "none.yaml")


def test_records_tabulate_as_they_are(tmp_path: Path) -> None:
    recon("data", "synth", "-c", config(tmp_path))
    part = next((tmp_path / "out" / "persons").rglob("*.parquet"))
    target = tmp_path / "counts.parquet"
    recon("data", "tabulate", part, "--release", "sf1_2010", "--to", target, "--tables", "P1,P12")
    people = pl.read_parquet(target).filter(
        (pl.col("table") == "P1") & (pl.col("geoid").str.len_chars() == 11)
    )
    assert people["count"].sum() == len(pl.read_parquet(part))


# --- margins --------------------------------------------------------------------------------


def test_national_margins() -> None:
    persons = pl.concat(
        [
            generate_county(NATION, county, 3).persons.select(
                "race", "hispanic", "age", "household"
            )
            for county in plan_nation(NATION, 400_000, 3)
        ]
    )
    names = {1: "white", 2: "black", 4: "aian", 8: "asian", 16: "nhpi", 32: "sor"}
    races = persons["race"].cast(pl.Int64).replace_strict(names, default="several")
    found = (
        persons.with_columns(races=races)
        .group_by("hispanic", "races")
        .agg(found=100 * pl.len() / len(persons))
    )
    both = STUDY.race.join(found, on=["hispanic", "races"], how="left").fill_null(0.0)
    # one nation is one draw: of large groups more depends on where they happen to live
    assert ((both["found"] - both["published"]).abs() < 0.3 + 0.02 * both["published"]).all()
    assert persons["race"].min() > 0  # type: ignore[operator]
    assert persons["race"].max() <= 63  # type: ignore[operator]
    assert persons["age"].is_between(0, 110).all()
    assert persons["household"].null_count() / len(persons) == pytest.approx(0.026, abs=0.01)
    assert (persons["age"] < 18).mean() == pytest.approx(0.24, abs=0.01)


def test_kinds_of_group_quarters_are_those_of_people_without_a_household() -> None:
    persons = nations.whole().persons
    outside = persons.filter(pl.col("household").is_null())
    assert set(persons.filter(group_quarters="none")["household"].is_null()) == {False}
    assert "none" not in outside["group_quarters"]
    known = load_release("dhc_2020").features[-1].values
    assert set(outside["group_quarters"]) <= set(known)
    assert {"none", *load_nation().quarters.names} == set(known)
    institutional = outside.filter(relationship="institutional")["group_quarters"]
    assert set(institutional) <= {"correctional", "juvenile", "nursing", "other_institution"}


def test_as_many_data_defined_people_are_unique_as_published() -> None:
    """By class of block size, with room for what 120,000 people vary by."""
    sizes, bins = Sizes(STUDY.lower), pl.Series(age_bins(load_release("sf1_2010")))
    people = nations.whole().persons.with_columns(
        bin=bins.gather(nations.whole().persons["age"].cast(pl.Int64)),
        size=sizes.number(pl.len().over("geoid_block")),
    )
    alone = pl.len().over("geoid_block", "sex", "bin") == 1
    share = people.group_by("size").agg(found=100 * (alone & pl.col("data_defined")).mean())
    both = share.sort("size").head(4).with_columns(published=STUDY.classes["unique_defined"][:4])
    assert ((both["found"] - both["published"]).abs() < 3).all()


def test_piks_are_unique_but_for_repeated_households() -> None:
    persons = nations.whole().persons
    assert persons.schema == PERSONS
    keyed = persons.filter(pl.col("pik").is_not_null())
    defined = persons.filter("data_defined")
    assert defined["pik"].is_unique().all()
    assert set(defined["pik"]) == set(keyed["pik"])
    assert len(defined) / len(persons) == pytest.approx(0.894, abs=0.006)
    assert 1 - len(defined) / len(keyed) == pytest.approx(0.01, abs=0.003)
    groups = keyed.filter(pl.struct("geoid_block", "pik").is_duplicated())
    assert groups.group_by("pik").agg(pl.col("geoid_block").n_unique())["geoid_block"].max() == 1
    blocks = groups["geoid_block"].n_unique() / persons["geoid_block"].n_unique()
    assert blocks == pytest.approx(0.15, abs=0.02)
    least = groups.group_by("geoid_block", "pik").agg(
        pl.col("r_keep").min(), kept=pl.col("r_keep").filter("data_defined").first()
    )
    assert (least["r_keep"] == least["kept"]).all()


# --- households -----------------------------------------------------------------------------


def test_codes_are_in_range() -> None:
    homes = nations.whole().households
    assert homes.schema == HOUSEHOLDS
    assert homes["household"].is_unique().all()
    lived, empty = homes.filter(vacancy="occupied"), homes.filter(pl.col("vacancy") != "occupied")
    for name, words in FEATURES.items():
        if not words:
            assert lived[name].is_between(1, 7).all()
            assert (empty[name] == 0).all()
        elif name != "vacancy":
            assert set(lived[name]) <= set(words) - {"none"}
            assert set(empty[name]) <= set(words[:1])
    assert set(empty["vacancy"]) <= set(FEATURES["vacancy"][1:])
    assert empty.select("people", "adults").sum().row(0) == (0, 0)
    assert len(empty) / len(homes) == pytest.approx(0.13, abs=0.03)


@pytest.mark.parametrize("name", ["dhc_2020_households", "sf1_2010_households"])
def test_households_keep_to_every_structural_zero(name: str) -> None:
    release, homes = load_release(name), nations.whole().households
    assert release.has_assumptions
    assert count_violations(release, homes) == (0,) * len(release.structural_zeros)
    wrong = homes.filter(vacancy="occupied").with_columns(household_size=pl.lit(1, pl.Int8))
    assert sum(count_violations(release, wrong)) > 1000


def test_every_feature_recomputed_from_the_persons() -> None:
    made = nations.counties()[0]
    homes = {row["household"]: row for row in made.households.iter_rows(named=True)}
    inside = made.persons.filter(pl.col("household").is_not_null())
    assert inside["household"].n_unique() == made.households.filter(vacancy="occupied").height
    members: dict[int, list[dict[str, object]]] = {}
    for person in inside.iter_rows(named=True):
        members.setdefault(person["household"], []).append(person)
    for number, people in members.items():
        assert {
            name: homes[number][name] for name in FEATURES if name not in {"tenure", "vacancy"}
        } == (features_by_hand(people))
        assert homes[number]["vacancy"] == "occupied"
        assert {person["geoid_block"] for person in people} == {homes[number]["geoid_block"]}
        assert homes[number]["people"] == len(people)
        assert homes[number]["adults"] == sum(int(str(p["age"])) >= 18 for p in people)


def features_by_hand(people: list[dict[str, object]]) -> dict[str, object]:
    """The slow, obvious definition, person by person."""
    heads = [person for person in people if person["relationship"] == "householder"]
    assert len(heads) == 1
    head = heads[0]
    roles = [str(person["relationship"]) for person in people]
    ages = [int(str(person["age"])) for person in people]
    man = head["sex"] == "male"
    own = any(role == "child" and age < 18 for role, age in zip(roles, ages, strict=True))
    kin = any(role in {str(r.name).lower() for r in RELATIVES} for role in roles)
    if "spouse" in roles:
        kind, kind2 = 1, 1 if own else 2
    else:
        kind = (2 if man else 3) if kin else (4 if man else 6) + (len(people) > 1)
        if "partner" in roles:
            kind2 = 3 if own else 4
        else:
            kind2 = 5 if len(people) == 1 else 6 if own else 7 if kin else 8
            kind2 += 4 if man else 0
    race = int(str(head["race"]))
    alone = {1: 1, 2: 2, 4: 3, 8: 4, 16: 5, 32: 6}
    couple = {"householder", "spouse", "partner"}
    relatives = {str(r.name).lower() for r in RELATIVES} - {"spouse"}

    def children(roles_of: set[str]) -> int:
        """1 under 6 only, 2 from 6 to 17 only, 3 both."""
        young = [a for role, a in zip(roles, ages, strict=True) if role in roles_of and a < 18]
        return any(age < 6 for age in young) + 2 * any(age >= 6 for age in young)

    codes = {
        "household_type": kind,
        "detailed_type": kind2,
        "householder_origin": 2 if head["hispanic"] else 1,
        "householder_age": max(1, sum(int(str(head["age"])) >= edge for edge in HOLDER_AGES)),
        "householder_race": alone.get(race, 7),
        "minors": children(set(roles)),
        "oldest": sum(max(ages) >= edge for edge in (60, 65, 75)),
        "children": int(children(set(roles) - couple) > 0),
        "own_children": children({"child"}),
        "related_children": children(relatives),
        "nonrelatives": int(bool({"partner", "nonrelative"} & set(roles))),
    }
    words = {name: FEATURES[name][code] for name, code in codes.items()}
    return {"household_size": min(len(people), 7), **words}


def test_families_look_like_families() -> None:
    persons = nations.whole().persons
    assert set(persons["relationship"]) == set(RELATIONSHIPS)
    quarters = persons.filter(pl.col("household").is_null())["relationship"]
    assert set(quarters) == {"institutional", "noninstitutional"}
    head = persons.filter(relationship="householder").select(
        "household", head_age="age", head_race="race", head_hispanic="hispanic", head_sex="sex"
    )
    assert head["household"].is_unique().all()
    assert head["head_age"].min() >= 15  # type: ignore[operator]
    spouse = persons.filter(relationship="spouse").join(head, on="household")
    assert spouse["household"].is_unique().all()
    assert (spouse["age"] - spouse["head_age"]).abs().mean() < 6  # type: ignore[operator]
    assert (spouse["sex"] != spouse["head_sex"]).mean() > 0.98  # type: ignore[operator]
    same = (spouse["race"] == spouse["head_race"]) & (spouse["hispanic"] == spouse["head_hispanic"])
    assert 0.85 < same.mean() < 0.97  # type: ignore[operator]
    child = persons.filter(relationship="child").join(head, on="household")
    assert (child["head_age"] - child["age"]).min() >= 12  # type: ignore[operator]
    sizes = nations.whole().households.filter(vacancy="occupied")["household_size"]
    assert (sizes == 1).mean() == pytest.approx(0.267, abs=0.015)


@pytest.mark.parametrize(("role", "published"), [("spouse", 9.5), ("partner", 18.3)])
def test_couples_of_two_races_or_ethnicities(role: str, published: float) -> None:
    persons = nations.whole().persons
    head = persons.filter(relationship="householder").select(
        "household", head_race="race", head_hispanic="hispanic"
    )
    mates = persons.filter(relationship=role).join(head, on="household")
    other = (mates["race"] != mates["head_race"]) | (mates["hispanic"] != mates["head_hispanic"])
    assert 100 * other.mean() == pytest.approx(published, abs=2.5)  # type: ignore[operator]


def test_places_vary_about_what_is_around_them() -> None:
    origins = NATION.origins
    around = np.tile(np.array(origins.fitted) / sum(origins.fitted), (20_000, 1))
    concentration = np.full(len(around), 2.0)
    drawn = vary(origins, around, concentration, generator(1, "test"))
    assert np.allclose(drawn.sum(axis=1), 1)
    assert (drawn >= 0).all()
    names = list(origins.names)
    as_others = origins.model_copy(update={"even": tuple(1.0 for _ in origins.even)})
    uneven = vary(as_others, around, concentration, generator(1, "test"))
    several = names.index("several")
    spread, wider = (
        np.std(mixes[:, several]) / np.mean(mixes[:, several]) for mixes in (drawn, uneven)
    )
    assert spread < 0.6 * wider, "people of several races live everywhere"
    white, other = (drawn[:, names.index(f"hispanic_{race}")] for race in ("white", "other"))
    assert np.corrcoef(white, other)[0, 1] > 0.5, "Hispanic people of all races live together"


def test_blocks_differ_in_race_mix() -> None:
    persons = nations.whole().persons
    black = persons.group_by("geoid_block").agg(share=(pl.col("race") == 2).mean(), n=pl.len())
    big = black.filter(pl.col("n") >= 50)
    assert (big["share"] < 0.05).mean() > 0.3  # type: ignore[operator]
    assert (big["share"] > 0.5).mean() > 0.03  # type: ignore[operator]


def test_tables_of_a_county_count_everybody() -> None:
    release = load_release("sf1_2010")
    made = nations.counties()[0]
    counts = tabulate(release, made.persons, release.select_tables(("P1",)))
    tract = counts.filter(pl.col("geoid").str.len_chars() == 11)
    assert tract["count"].sum() == len(made.persons)


def test_running_sums_of_nothing() -> None:
    none = np.empty(0, np.int64)
    assert cumulative_sums(none, none).tolist() == []
