"""The files that `recon init` writes beside each other, and what they say."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from recon_cli.capabilities.init.document import compose_protection
from recon_cli.schema import load_release
from recon_cli.statement.laws import parse_law
from tests.support.command_line import recon

HOUSES = "Area,Size,Count\n" + "".join(
    f"{area},{size},{count}\n"
    for area, counts in (("Ash", (1, 2, 2, 5)), ("Elm", (0, 3, 1, 4)), ("All", (1, 5, 3, 9)))
    for size, count in zip(("1", "2", "3+", "Total"), counts, strict=True)
)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("config", ["houses.yaml", "Houses.yaml"])
def test_config_and_schema_never_share_a_file(config: str) -> None:
    Path("houses.csv").write_text(HOUSES)
    done = recon("init", "houses.csv", "--to", config)
    assert "houses.schema.yaml (houses.csv)" in done.stdout
    assert yaml.safe_load(Path(config).read_text())["release"] == "houses.schema.yaml"
    assert load_release("houses.schema.yaml").title == "houses.csv"
    assert "verified" in recon("run", "-c", config, "--until", "reconstruct").stdout


@pytest.mark.parametrize("name", ["true", "no", "null", "2021"])
def test_a_file_may_be_called_as_a_yaml_value_is(name: str) -> None:
    Path(f"{name}.csv").write_text("School,Total,Girls,Boys\nOak,40,22,18\nElm,31,14,17\n")
    recon("init", f"{name}.csv")
    assert "people" in recon("ingest").stdout


def test_nothing_is_written_if_one_of_the_drafts_is_there() -> None:
    Path("houses.csv").write_text(HOUSES)
    Path("recon.yaml").write_text("mine")
    assert "recon.yaml: is there already" in recon("init", "houses.csv", code=2).stderr
    assert not Path("houses.yaml").exists()


def test_a_second_draft_stands_beside_the_first() -> None:
    """What is the same again is no conflict; a schema that differs is called as its config is."""
    Path("houses.csv").write_text(HOUSES)
    recon("init", "houses.csv")
    recon("init", "houses.csv")
    recon("init", "houses.csv", "--to", "second.yaml")
    assert not Path("second.schema.yaml").exists()
    Path("houses.yaml").write_text(Path("houses.yaml").read_text() + "# mine\n")
    recon("init", "houses.csv", "--to", "third.yaml")
    assert yaml.safe_load(Path("third.yaml").read_text())["release"] == "third.schema.yaml"
    assert Path("houses.yaml").read_text().endswith("# mine\n")


def test_a_size_is_one_number_and_all_places_are_a_region() -> None:
    Path("houses.csv").write_text(HOUSES)
    recon("init", "houses.csv")
    schema = load_release("houses.yaml")
    assert [feature.values for feature in schema.features] == [("1", "2", "3+")]
    assert [level.name for level in schema.geography.levels] == ["area", "region"]
    done = recon("run", "--until", "reconstruct")
    assert "  regions         1\n" in done.stdout
    assert "shows one region, or a geounit inside it" in recon("show").stdout


@pytest.mark.parametrize(
    ("markers", "reading", "laws"),
    [
        (["*"], "'*' may be any number", ["below: 3", "below: 3, complementary: true"]),
        (["<5"], "'<5' is 0 to 4", ["below: 5"]),
        (["*", "<5"], "'<5' is 0 to 4, '*' may be", ["below: 5", "below: 5, complementary: true"]),
        (["<10", "<5"], "'<10' is 0 to 9, '<5' is 0 to 4", ["flagged: positive"]),
    ],
)
def test_laws_that_are_offered_read_the_markers(
    markers: list[str], reading: str, laws: list[str]
) -> None:
    text = compose_protection(markers, None)
    assert reading in " ".join(text.replace("#", "").split())
    offered = [line.removeprefix("#   - ") for line in text.splitlines() if "- {law" in line]
    *narrower, drafted = [yaml.safe_load(line.removeprefix("  - "))["law"] for line in offered]
    assert [{"suppressed": yaml.safe_load(f"{{{law}}}")} for law in laws] == narrower
    for document in (*narrower, drafted):
        law = parse_law(document, Path())
        for marker in markers:
            law.reading(marker)


def test_a_draft_is_called_by_the_title_of_its_sheet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = ["Pupils of  three schools,,", "Source: census,,", "School,Pupils,Boys,Girls"]
    counts = ["Oak,31,14,17", "Elm,25,13,12", "Ash,40,22,18"]
    Path("a.csv").write_text("\n".join([*rows, *counts, ""]))
    recon("init", "a.csv")
    assert load_release("a.yaml").title == "Pupils of three schools"
