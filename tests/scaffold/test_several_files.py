"""One config for several files of an office: headers that they share, and features."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from recon_cli.capabilities.init.axes import Axis, Grid, settle_names
from recon_cli.schema import load_release
from tests.support.command_line import recon

SEX = "Place,Total,Male,Female,Heart,Lung,Male Heart\nAshby,12,7,5,8,4,5\nElm,9,4,5,9,0,4\n"
AGE = "Place,Total,0-64,65+,Heart,Lung,65+ Heart\nAshby,12,9,3,8,4,1\nElm,9,5,4,9,0,4\n"
HOME = "Place,Total,Owner,Renter\nAshby,12,2,10\nElm,9,8,1\n"


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (("sex", SEX), ("age", AGE), ("home", HOME)):
        Path(f"{name}.csv").write_text(text)


def test_headers_that_files_share_are_mapped_by_file() -> None:
    recon("init", "sex.csv", "age.csv", "home.csv")
    mapping = yaml.safe_load(Path("recon.yaml").read_text())["ingest"]["mapping"]
    assert {name: own["Total"] for name, own in mapping["columns_of"].items()} == {
        "sex.csv": "TABLE1_001",
        "age.csv": "TABLE2_001",
        "home.csv": "TABLE3_001",
    }
    assert {feature.name: feature.values for feature in load_release("sex.yaml").features} == {
        "sex": ("male", "female"),
        "feature_2": ("heart", "lung"),
        "age": ("0-64", "65+"),
        "feature_1": ("owner", "renter"),
    }
    assert "verified" in recon("run", "--until", "reconstruct").stdout


def test_files_with_the_same_headers_are_one_table() -> None:
    Path("south.csv").write_text(SEX.replace("Ashby", "Ford").replace("Elm", "Oak"))
    recon("init", "sex.csv", "south.csv")
    assert list(load_release("sex.yaml").table_by_name) == ["TABLE1"]
    assert "24 cells, all equal" in recon("run", "--until", "reconstruct").stdout


def test_two_publications_of_the_same_places_need_two_configs() -> None:
    Path("later.csv").write_text(SEX)
    refused = " ".join(recon("init", "sex.csv", "later.csv", code=2).stderr.split())
    assert "same headers and 2 places in common" in refused
    assert "write one for each of them" in refused
    assert not Path("recon.yaml").exists()


def test_files_with_one_name_cannot_share_headers() -> None:
    Path("more").mkdir()
    Path("age.csv").rename("more/sex.csv")
    assert "two files are called sex.csv" in recon("init", "sex.csv", "more/sex.csv", code=2).stderr


def test_a_file_that_is_not_there_has_no_columns() -> None:
    recon("init", "sex.csv", "age.csv")
    text = Path("recon.yaml").read_text()
    Path("recon.yaml").write_text(text.replace("      age.csv:", "      ages.csv:"))
    refused = recon("ingest", code=2).stderr
    assert "mapping.columns_of: no file 'ages.csv'; found age.csv, sex.csv" in refused


def test_the_same_categories_are_the_same_feature() -> None:
    sex, size = Axis("feature_1", ("m", "f"), True), Axis("size", ("1", "2+"), True)
    later = (
        Axis("feature_1", ("own", "rent"), True),
        Axis("feature_2", ("m", "f"), False),
        Axis("size", ("1", "2", "3+"), True),
    )
    settled = settle_names(Grid.full(later), [sex, size])
    assert [axis.name for axis in settled.axes] == ["feature_2", "feature_1", "size_2"]
