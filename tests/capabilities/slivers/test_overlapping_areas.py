"""Areas from files to `recon show`; other codes or another way to write them change nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import yaml

import recon_cli as recon
from recon_cli.capabilities.protect.counts import count_records, tidy_counts
from recon_cli.capabilities.suppress.primary import PrimaryRules
from recon_cli.capabilities.suppress.suppression import (
    SuppressionOptions,
    suppress_counts,
    suppression_protection,
)
from recon_cli.schema import Membership, Release, parse_release
from tests.support.command_line import recon as command
from tests.support.populations import random_records
from tests.support.properties import amount

CELLS = "cells: [total, {by: sex}, {by: old}]"
PEOPLE = (
    "release: people\ntitle: People\n"
    "features: {sex: {categories: [women, men]}, old: {categories: [false, true]}}\n"
    "geography: GEOGRAPHY\nmicrodata: [sex, old]\nhistogram: [sex, old]\nfamilies:\n"
    f"  - {{levels: LEVELS, {CELLS}, tables: {{T: {{}}}}}}\n"
)


def schema(geography: str, levels: str) -> str:
    return PEOPLE.replace("GEOGRAPHY", geography).replace("LEVELS", levels)


NESTED = schema(
    "{levels: [{level: plot, digits: 4}, {level: ward, digits: 3}, {level: town, digits: 1}], "
    "partition: town}",
    "[plot, ward]",
)
AREAS = schema(
    "{unit: plot, areas: [{area: ward, within: town}, {area: town}], partition: town}",
    "[plot, ward]",
)
PLOTS = [f"{town}0{ward}{plot}" for town in "AB" for ward in "12" for plot in "123"]


def write(folder: Path, name: str, text: str, counts: pl.DataFrame, **ingest: object) -> Path:
    (folder / f"{name}.yaml").write_text(text)
    counts.write_csv(folder / f"{name}.csv")
    config = {
        "release": f"{name}.yaml",
        "work": f"work-{name}",
        "ingest": {"source": "tidy", "paths": [f"{name}.csv"], **ingest},
        "reconstruct": {},
        "solvar": {"mode": "exact"},
        "claims": {},
        "audit": {"ask": ["ward"]},
    }
    path = folder / f"{name}-recon.yaml"
    path.write_text(yaml.safe_dump(config))
    return path


def test_districts_in_a_file_of_their_own(tmp_path: Path) -> None:
    """As the census assigns blocks to districts: a file a plan, with columns called alike."""
    text = schema(
        "{unit: plot, areas: [{area: ward}, {area: senate}, {area: house}]}",
        "[ward, senate, house]",
    )
    wards = "plot,ward\n" + "".join(f"{plot},W{plot[:3]}\n" for plot in PLOTS)
    (tmp_path / "wards.csv").write_text(wards)
    files: dict[str, dict[str, str]] = {"wards.csv": {}}
    for plan, width in (("senate", 2), ("house", 5)):
        rows = [f"{plot}|{plan}{number // width}" for number, plot in enumerate(PLOTS)]
        (tmp_path / f"{plan}.txt").write_text("\n".join(["BLOCKID|DISTRICT", *rows]) + "\n")
        files[f"{plan}.txt"] = {"plot": "BLOCKID", plan: "DISTRICT"}
    joined = (
        pl.DataFrame({"plot": PLOTS})
        .with_row_index()
        .select(
            "plot",
            ward=pl.format("W{}", pl.col("plot").str.head(3)),
            senate=pl.format("senate{}", pl.col("index") // 2),
            house=pl.format("house{}", pl.col("index") // 5),
        )
    )
    joined.write_csv(tmp_path / "joined.csv")
    release = parse_release(text, source="plots").with_membership(Membership("", joined, "1"))
    counts = recon.tabulate(release, random_records(release, 5, 60, PLOTS))
    apart = write(tmp_path, "apart", text, counts, membership=files)
    together = write(tmp_path, "together", text, counts, membership="joined.csv")
    found = []
    for path in (apart, together):
        command("ingest", "-q", "-c", path)
        command("audit", "-q", "-c", path, "--set", "audit.ask=[plot]")
        found.append(findings(path.parent / f"work-{path.stem.removesuffix('-recon')}"))
    assert found[0].equals(found[1])
    assert found[0].filter(status="recovered").height > 0
    said = command("run", "-c", apart, "--set", "ingest.columns={ward: W}", code=2).stderr
    assert "columns: each membership file says its own" in said


def findings(work: Path) -> pl.DataFrame:
    """What the audit found."""
    return pl.read_parquet(work / "audit" / "**" / "*.parquet", hive_partitioning=False)


def test_a_hierarchy_written_as_areas_gives_the_same_bytes(tmp_path: Path) -> None:
    nested = parse_release(NESTED, source="nested")
    people = random_records(nested, 5, 60, PLOTS)
    counts = recon.tabulate(nested, people)
    plots = pl.DataFrame({"geoid": PLOTS})
    plots.write_csv(tmp_path / "plots.csv")
    lookup = plots.select(
        plot="geoid", ward=pl.col("geoid").str.head(3), town=pl.col("geoid").str.head(1)
    )
    lookup.write_csv(tmp_path / "lookup.csv")
    for name, text, ingest in (
        ("nested", NESTED, {"geounits": "plots.csv"}),
        ("areas", AREAS, {"membership": "lookup.csv"}),
    ):
        command("run", "-c", write(tmp_path, name, text, counts, **ingest))
    of_nested = sorted((tmp_path / "work-nested").rglob("*.parquet"))
    assert {path.parts[-3] for path in of_nested} > {"tables", "microdata", "solvar", "claims"}
    for path in of_nested:
        other = tmp_path / "work-areas" / path.relative_to(tmp_path / "work-nested")
        assert path.read_bytes() == other.read_bytes(), path


@pytest.fixture(scope="module")
def wards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two zonings of three atoms; every area has ten people or more, x2 two."""
    folder = tmp_path_factory.mktemp("wards")
    text = schema("{unit: atom, areas: [{area: ward}, {area: square}]}", "[ward, square]")
    (folder / "people.yaml").write_text(text)
    (folder / "lookup.csv").write_text("atom,ward,square\nx1,E5,S1\nx2,E5,S2\nx3,E6,S2\n")
    (folder / "counts.csv").write_text(
        "level,geoid,table,cell,count\n"
        "ward,E5,T,1,14\nward,E5,T,2,8\nward,E5,T,3,6\nward,E5,T,4,9\nward,E5,T,5,5\n"
        "ward,E6,T,1,11\nward,E6,T,2,5\nward,E6,T,3,6\nward,E6,T,4,4\nward,E6,T,5,7\n"
        "square,S1,T,1,12\nsquare,S1,T,2,7\nsquare,S1,T,3,5\nsquare,S1,T,4,9\nsquare,S1,T,5,3\n"
        "square,S2,T,1,13\nsquare,S2,T,2,6\nsquare,S2,T,3,7\nsquare,S2,T,4,4\nsquare,S2,T,5,9\n"
    )
    (folder / "recon.yaml").write_text(
        "release: people.yaml\nwork: work\n"
        "ingest: {source: tidy, paths: [counts.csv], membership: lookup.csv}\n"
        "reconstruct:\nsolvar: {mode: exact}\nclaims:\naudit: {ask: [atom]}\n"
        "slivers: {below: 10}\nreport:\n"
    )
    command("run", "-c", folder / "recon.yaml")
    return folder


def test_the_difference_of_two_areas_is_recovered_and_shown(wards: Path) -> None:
    audit = pl.read_parquet(wards / "work" / "audit" / "**" / "*.parquet")
    row = audit.filter(geoid="x2", table="T", cell=1).row(0, named=True)
    assert (row["least"], row["greatest"], row["status"]) == (2, 2, "recovered")
    slivers = pl.read_parquet(wards / "work" / "slivers" / "**" / "*.parquet")
    assert slivers.rows() == [("x2", ["x2"], "ward E5 − square S1", 2)]
    shown = " ".join(command("show", "x2", "-c", wards / "recon.yaml").output.split())
    assert "ward E5 T 1 (14) − square S1 T 1 (12)" in shown
    assert "ward E5 − square S1 = 2" in shown
    assert "ward E5" in command("show", "ward:E5", "-c", wards / "recon.yaml").output


def test_exact_counts_suppressed_hold_against_both_zonings(wards: Path) -> None:
    """Each zoning's flags are checked with the other's counts, as the attacker has both."""
    (wards / "suppress.yaml").write_text(
        "release: people.yaml\nwork: hidden\n"
        "ingest: {source: tidy, paths: [hidden/suppressed], membership: lookup.csv}\n"
        "suppress: {counts: work, below: 5}\naudit:\n"
    )
    done = command("protect", "suppress", "-c", wards / "suppress.yaml")
    assert "people 25 " in " ".join(done.output.split())
    command("run", "-c", wards / "suppress.yaml")
    audit = pl.read_parquet(wards / "hidden" / "audit" / "**" / "*.parquet")
    small = {("E6", 4), ("S1", 5), ("S2", 4)}
    status = {row[:2]: row[2] for row in audit.select("geoid", "cell", "status").rows()}
    assert {status[cell] for cell in small} == {"safe"}
    assert set(audit["geoid"].str.head(1)) == {"E", "S"}


def test_every_published_cell_is_compared_again(wards: Path) -> None:
    assert "20" in command("verify", "-c", wards / "recon.yaml").output


def test_the_report_has_slivers(wards: Path) -> None:
    text = (wards / "work" / "report" / "report.md").read_text()
    assert "ward E5 − square S1" in text


def test_a_unit_in_no_area_is_named_by_its_line(wards: Path, tmp_path: Path) -> None:
    for path in wards.iterdir():
        if path.is_file():
            shutil.copy(path, tmp_path)
    with (tmp_path / "lookup.csv").open("a") as lookup:
        lookup.write("x9,,\n")
    run = command("run", "--until", "audit", "-c", tmp_path / "recon.yaml")
    said = " ".join(run.stdout.split())
    assert "1 atom is in no area with tables, so nobody there is counted" in said
    assert "lookup.csv: line 5: atom x9" in said
    of_it = findings(tmp_path / "work").filter(geoid="x9")
    assert of_it.height > 0
    assert set(of_it["status"]) == {"safe"}


def test_no_place_of_that_name(wards: Path) -> None:
    refused = command("show", "E9", "-c", wards / "recon.yaml", code=2)
    assert "'E9' is no place of the membership file" in refused.stderr


def overlap(codes: pl.DataFrame, *, of_atoms: str = "") -> Release:
    """Tables of both zonings, and cells of a table of single atoms."""
    text = schema("{unit: atom, areas: [{area: ward}, {area: square}]}", "[ward, square]")
    if of_atoms:
        text += f"  - {{levels: [atom], cells: {of_atoms}, tables: {{U: {{}}}}}}\n"
    digest = str(codes.rows())
    return parse_release(text, source="o").with_membership(Membership("lookup", codes, digest))


def proven(release: Release, people: pl.DataFrame) -> pl.DataFrame:
    """What the audit, certain records and claims say: ``geoid, of, what``."""
    published = recon.publish(release, recon.tabulate(release, people))
    audit = recon.audit_counts(release, published, ask=("atom",)).select(
        "geoid", "table", "cell", "least", "greatest", "status"
    )
    records = recon.reconstruct(release, published).microdata
    varying = recon.measure_variability(release, published, records, mode="exact")
    claims = recon.find_claims(release, published, records)
    shown = {
        "audit": audit,
        "intervals": varying.intervals.filter(pl.col("upper") > 0),
        "certain": varying.units.select("geoid_atom", "certain_records", "certain_upper"),
        "claims": claims.claims.select("geoid_atom", "sex", "old", "count", "exact", "trivial"),
        "disclosures": claims.disclosures,
    }
    said = pl.concat_str(pl.all().cast(pl.String).fill_null("any"), separator=" ")
    return pl.concat(
        frame.select(
            pl.nth(0).alias("geoid"), of=pl.lit(name), what=said.str.splitn(" ", 2).struct[1]
        )
        for name, frame in shown.items()
    ).sort("geoid", "of", "what")


def hidden(release: Release, people: pl.DataFrame) -> tuple[pl.DataFrame, set[str]]:
    """The counts that suppression hides for their own sake, and what the audit says of them."""
    options = SuppressionOptions(PrimaryRules(3))
    truth = count_records(release, people)
    protected = suppress_counts(release, truth, options)
    law = suppression_protection(options.rules)
    public = recon.publish(release, tidy_counts(truth, protected), protection=law)
    primary = protected.filter("primary").select("geoid", "table", "cell")
    audit = recon.audit_counts(release, public).join(primary, on=primary.columns, how="semi")
    return primary.sort(primary.columns), set(audit["status"])


def residents(seed: int, atoms: list[str], number: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    values = {"sex": rng.choice(["women", "men"], number), "old": rng.random(number) < 0.3}
    return pl.DataFrame({"geoid_atom": rng.choice(atoms, number), **values})


@pytest.mark.parametrize("seed", [2, 3][: amount(1, 2)])
def test_other_codes_change_nothing_but_the_codes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    atoms = [f"x{i}" for i in range(6)]
    codes = pl.DataFrame(
        {
            "atom": atoms,
            "ward": [f"W{i // 2}" for i in range(6)],
            "square": [f"S{i % 3}" for i in rng.permutation(6)],
        }
    )
    people = residents(seed, atoms, 14)
    new = dict(zip(atoms, rng.permutation(atoms).tolist(), strict=True))
    new |= {"W0": "W9", "W1": "W8", "W2": "W7"}
    again = [pl.col(name).replace(new) for name in codes.columns]
    moved = people.with_columns(pl.col("geoid_atom").replace(new))
    both = {"of_atoms": "[{by: old}]"}
    one, other = overlap(codes, **both), overlap(codes.with_columns(again).sort("atom"), **both)
    before, after = proven(one, people), proven(other, moved)
    assert set(before["of"]) == {"audit", "intervals", "certain", "claims", "disclosures"}
    assert before.with_columns(pl.col("geoid").replace(new)).sort(before.columns).equals(after)
    small, status = hidden(one, people)
    assert (status, small.height > 5) == ({"safe"}, True)
    renamed = small.with_columns(pl.col("geoid").replace(new)).sort(small.columns)
    of_other, status = hidden(other, moved)
    assert of_other.equals(renamed)
    assert status == {"safe"}


@pytest.mark.parametrize("seed", [4, 5][: amount(1, 2)])
def test_an_atom_split_in_two_equal_ones_changes_nothing_for_the_others(seed: int) -> None:
    codes = pl.DataFrame(
        {
            "atom": ["a", "b", "c", "d"],
            "ward": ["W1", "W1", "W2", "W2"],
            "square": ["S1", "S2", "S1", "S2"],
        }
    )
    people = residents(seed, ["a", "b", "c", "d"], 12)
    split = pl.concat([codes, pl.DataFrame({"atom": ["d2"], "ward": ["W2"], "square": ["S2"]})])
    kept = pl.col("geoid").is_in(["a", "b", "c"])
    before, after = (proven(overlap(each), people).filter(kept) for each in (codes, split))
    assert before.filter(of="audit")["what"].str.contains("safe").any()
    assert before.equals(after)
    (small, status), (of_split, again) = (hidden(overlap(each), people) for each in (codes, split))
    assert of_split.equals(small)
    assert status == again == {"safe"}
