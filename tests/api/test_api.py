"""The public API gives what the commands give, frames in and out."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import polars as pl
import pytest
import yaml
from polars.testing import assert_frame_equal

import recon_cli as recon
from recon_cli import api
from recon_cli.capabilities.audit.options import Audit
from recon_cli.capabilities.claims.options import Claims
from recon_cli.capabilities.confidence.options import Confidence
from recon_cli.capabilities.reconstruct.options import Reconstruct
from recon_cli.capabilities.solvar.options import Solvar
from recon_cli.config.keys import keys_of
from recon_cli.deprecation import FormerSpelling
from recon_cli.errors import ConfigError, ContradictionError, SourceError
from tests.support import command_line, layouts
from tests.support.attacks import aged, people, swapped
from tests.support.paths import ROOT
from tests.support.populations import patients, random_records

CLINIC = ROOT / "fixtures" / "clinic_visits.csv"
TOY = ROOT / "fixtures" / "toy2010.sf1.zip"
SURVEY = recon.load_release("clinic_visits")
CENSUS = recon.load_release("sf1_2010")


def read(folder: Path) -> pl.DataFrame:
    return pl.read_parquet(folder / "**" / "*.parquet", hive_partitioning=False)


def same(found: pl.DataFrame, folder: Path) -> None:
    """The rows of a stage folder, which may have further columns, in any order."""
    order = found.columns
    assert_frame_equal(found.sort(order), read(folder).select(order).sort(order))


def counts() -> pl.DataFrame:
    return pl.read_csv(CLINIC, schema_overrides={"geoid": pl.String})


@pytest.mark.parametrize("name", ["clinic", "toy"])
def test_the_commands_and_the_library_agree(tmp_path: Path, name: str) -> None:
    work: list[str | Path] = ["--work", tmp_path / "work", "-q"]
    work += ["-c", ROOT / "configs" / f"{name}.yaml"]
    if name == "clinic":
        release, tables = SURVEY, None
        tidy = recon.tabulate(SURVEY, random_records(SURVEY, 4, 24))
        tidy.write_parquet(tmp_path / "counts.parquet")
        work += ["--set", f"ingest.paths=[{tmp_path / 'counts.parquet'}]"]
        published = recon.publish(SURVEY, tidy)
    else:
        release, tables = CENSUS, "block"
        published = recon.read_published(CENSUS, [TOY], source="sf1-legacy")
    command_line.recon("ingest", *work)
    command_line.recon("reconstruct", *work, *(["--tables", tables] if tables else []))
    command_line.recon("solvar", *work, "--set", "solvar.intervals=exact")
    folder = tmp_path / "work"
    same(published.counts, folder / "tables")
    same(published.geounits, folder / "geounits")
    found = recon.reconstruct(release, published, tables=tables, seed=1)
    same(found.microdata, folder / "microdata")
    same(found.blocks, folder / "blocks")
    verdict = recon.verify(release, published, found.microdata, tables=tables)
    assert verdict.ok
    manifest = json.loads((folder / "microdata" / "_manifest.json").read_text())
    assert verdict.cells_compared == manifest["totals"]["cells_compared"]
    measured = recon.measure_variability(release, published, found.microdata, tables=tables, seed=1)
    same(measured.units, folder / "solvar")
    same(measured.intervals, folder / "intervals")
    same(recon.flag_certain(release, found.microdata, measured), folder / "certainty")


def test_tidy_files_are_read_like_frames() -> None:
    one, other = recon.publish(SURVEY, counts()), recon.read_published(SURVEY, [CLINIC])
    assert_frame_equal(one.counts, other.counts)
    assert_frame_equal(one.geounits, other.geounits)
    assert one.coverage == other.coverage


@pytest.mark.parametrize("name", ["data_census_gov", "statcan", "json_stat_2", "wide"])
def test_files_of_a_portal_are_read_like_frames(name: str, tmp_path: Path) -> None:
    release = recon.parse_release(layouts.SCHEMA, source="sexage.yaml")
    given = layouts.counts_of({"340210001001000": [3, 0, 1, 12, 5, 0]})
    layout = layouts.LAYOUTS[name](given, tmp_path)
    said = dict(layout.mapping)
    dimensions: Any = said.pop("dimensions", {})
    mapping = recon.FileMapping(
        **cast("Any", said),
        dimensions={key: recon.DimensionMapping(**each) for key, each in dimensions.items()},
    )
    found = recon.read_published(release, layout.paths, source=layout.source, mapping=mapping)
    rows = [
        {"geoid": geoid, "table": "P99", "cell": cell, "count": count}
        for geoid, row in given.items()
        for cell, count in enumerate(row, start=1)
    ]
    expected = recon.publish(release, pl.DataFrame(rows), absent="unpublished")
    assert_frame_equal(found.counts, expected.counts)
    assert_frame_equal(found.geounits, expected.geounits)
    assert found.coverage == expected.coverage


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"no format 'pdf' \(formats: tidy, sf1-legacy, "):
        recon.read_published(SURVEY, [CLINIC], source="pdf")


def test_linking_and_scoring_agree(tmp_path: Path) -> None:
    truth = pl.concat(
        people(300, 7).with_columns(
            geoid_block=pl.lit(county) + pl.col("geoid_block").str.slice(5),
            pik=pl.lit(county) + pl.col("pik"),
        )
        for county in ("01001", "01003")
    )
    hdf = swapped(truth, 7)
    rebuilt = aged(hdf, 7)
    commercial = truth.select("pik", "geoid_block", "sex", "age").sample(fraction=0.6, seed=1)
    files = {"cef": truth, "hdf": hdf, "rebuilt": rebuilt, "commercial": commercial}
    for name, frame in files.items():
        frame.write_parquet(tmp_path / f"{name}.parquet")
    config = {
        "release": "sf1_2010",
        "work": "work",
        "seed": 3,
        "link": {
            "cef": "cef.parquet",
            "hdf": "hdf.parquet",
            "sources": {"rHDF": "rebuilt.parquet"},
            "attackers": {"COMRCL": "commercial.parquet", "CEF_atkr": "cef"},
        },
        "score": {"compare": "wp31995", "bootstrap": 20},
    }
    (tmp_path / "recon.yaml").write_text(yaml.safe_dump(config))
    command_line.recon("link", "-c", tmp_path / "recon.yaml", "-q")
    command_line.recon("score", "-c", tmp_path / "recon.yaml", "-q")
    linked = recon.link(
        CENSUS,
        truth,
        {"HDF": hdf, "rHDF": rebuilt},
        attackers={"COMRCL": commercial, "CEF_atkr": None},
        seed=3,
    )
    same(linked.links, tmp_path / "work" / "links")
    rates = recon.score_links(linked, compare="wp31995", bootstrap=20, seed=3)
    assert_frame_equal(rates, pl.read_parquet(tmp_path / "work" / "score" / "rates.parquet"))
    found = recon.agreement(CENSUS, rebuilt, truth)
    expected = rates.filter(
        table="table08_agreement", source="rHDF", against="CEF", block_size="All"
    )
    by_rate = dict(expected.select("rate", "count").iter_rows())
    assert found["agree"].sum() == by_rate["agree_binned"]
    assert found["exact"].sum() == by_rate["agree_exact"]
    assert found["records"].sum() == truth.height


def test_guessers_from_tables_and_their_closed_forms() -> None:
    truth = people(300, 5)
    published = recon.publish(CENSUS, recon.tabulate(CENSUS, truth))
    tables = ["P8", "P9", "P12", "P14"]
    linked = recon.link(CENSUS, truth, {}, published=published, tables=tables, seed=1)
    assert set(linked.links["source"]) == {"CEF", "MDG", "PRG"}
    modal = linked.links.filter(source="MDG")
    assert modal.height == truth.height
    due = recon.baselines(CENSUS, truth)
    assert due["people"].sum() == truth.height
    # everybody is linked, so the modal guess is confirmed for exactly the modal people
    assert modal["confirmed"].sum() == due["modal"].sum()


def test_refusals_name_the_row() -> None:
    wrong = counts().with_columns(
        cell=pl.when(pl.int_range(pl.len()) == 2).then(99).otherwise("cell")
    )
    with pytest.raises(SourceError, match=r"counts: row 3: .*CONDITIONS: expected a cell from 1"):
        recon.publish(SURVEY, wrong)
    published = recon.publish(SURVEY, counts())
    with pytest.raises(ConfigError, match="no table 'P1'"):
        recon.reconstruct(SURVEY, published, tables=("P1",))
    guesser = recon.Guesser("MDG", "modal", "tables")
    for wrong_guesser, message in (
        (recon.Guesser("MDG", "modal", "HDF"), r"guessers.MDG: no source 'HDF' \(known: CEF, tab"),
        (recon.Guesser("CEF", "modal", "CEF"), "guessers.CEF: a source has that name"),
    ):
        with pytest.raises(ConfigError, match=message):
            recon.link(CENSUS, people(20, 1), {}, guessers=[wrong_guesser])
    with pytest.raises(ConfigError, match="need the published counts"):
        recon.link(CENSUS, people(20, 1), {}, guessers=[guesser])
    at = counts().with_row_index().filter(geoid="D02003", table="SMOKERS", cell=2)["index"][0]
    more = pl.when(pl.int_range(pl.len()) == at).then(pl.col("count") + 2).otherwise("count")
    with pytest.raises(ContradictionError, match="SMOKERS cell 2"):
        recon.reconstruct(SURVEY, recon.publish(SURVEY, counts().with_columns(count=more)))


def test_the_package_itself_is_cheap_to_import() -> None:
    code = "import sys, recon_cli; print({'ortools', 'polars', 'numpy'} & set(sys.modules))"
    result = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    assert result.stdout.strip() == b"set()"


def test_every_name_of_the_api_is_there_and_no_module_hides_it() -> None:
    public = {name for name, each in vars(api).items() if not isinstance(each, ModuleType)}
    assert set(recon.__all__) == {name for name in public if not name.startswith("_")}
    for name in recon.__all__:
        assert getattr(recon, name) is getattr(api, name)
    assert set(recon.__all__) <= set(dir(recon))
    with pytest.raises(AttributeError, match="no attribute 'guess'"):
        recon.guess  # type: ignore[attr-defined]  # noqa: B018


def test_leaving_one_out_agrees_for_exact_counts_from_both_sides() -> None:
    release = SURVEY
    some = patients().filter(pl.col("geoid_clinic").str.starts_with("D01")).head(60)
    published = recon.publish(release, recon.tabulate(release, some))
    question: dict[str, Any] = {"gains": ["conditions"], "solutions": 2, "seed": 1}
    found = recon.leave_one_out(release, published, some, **question)
    assert found["people"].sum() == some.height
    unit = some["geoid_clinic"][0]

    def publish(records: pl.DataFrame) -> recon.Publication:
        listed = published.geounits["geoid"].to_list()
        return recon.publish(release, recon.tabulate(release, records), geounits=listed)

    again = recon.leave_one_out_protected(release, some, publish, within=unit, **question)
    proven = ["settled", "settled_without", "certain", "certain_without"]
    key = ["gender", "ageband", "conditions"]
    here = found.filter(geoid_clinic=unit).select(*key, *proven).unique().sort(key)
    assert here.height > 1
    assert here.equals(again.select(*key, *proven).unique().sort(key))


def test_confidence_is_that_of_the_command(tmp_path: Path) -> None:
    config = tmp_path / "run.yaml"
    config.write_text((ROOT / "configs" / "toy.yaml").read_text().replace("../", f"{ROOT}/"))
    shared = ["-c", str(config), "--work", str(tmp_path / "work"), "-q"]
    command_line.recon("run", *shared, "--until", "reconstruct")
    command_line.recon("confidence", *shared, "--set", "confidence.solutions=3")
    published = recon.read_published(CENSUS, [TOY], source="sf1-legacy")
    records = read(tmp_path / "work" / "microdata")
    found = recon.measure_confidence(
        CENSUS, published, records, tables="block+tract", solutions=3, seed=1
    )
    same(found, tmp_path / "work" / "confidence")


def test_options_are_those_of_the_section() -> None:
    """A key of a section is a keyword with its default and its meaning, and nothing else is."""
    for function, section in (
        (recon.find_claims, Claims),
        (recon.audit_counts, Audit),
        (recon.measure_variability, Solvar),
        (recon.measure_confidence, Confidence),
        (recon.reconstruct, Reconstruct),
    ):
        keywords = inspect.signature(function).parameters
        for key in keys_of(section):
            assert keywords[key.name].kind is inspect.Parameter.KEYWORD_ONLY
            assert keywords[key.name].default == section.model_fields[key.name].default
            assert f"    {key.name}: " in str(function.__doc__)


def test_keywords_are_checked_as_keys_are() -> None:
    published = recon.publish(SURVEY, counts())
    with pytest.raises(ConfigError, match="audit_counts: safety: must be greater than or equal"):
        recon.audit_counts(SURVEY, published, safety=0)
    with pytest.raises(TypeError, match="'safty'"):
        recon.audit_counts(SURVEY, published, safty=1)  # type: ignore[call-arg]


def test_a_keyword_that_was_renamed_warns() -> None:
    published = recon.publish(SURVEY, counts())
    with pytest.warns(FormerSpelling, match="effort= is now region_seconds="):
        old = recon.audit_counts(SURVEY, published, effort=3.0)  # type: ignore[call-arg]
    assert old.equals(recon.audit_counts(SURVEY, published, region_seconds=3.0))
