"""Numbers of a sheet that stand in no table of counts are told, and settled by a reason."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.support.command_line import recon

COUNTS = "School,All,Girls,Boys\nAsh,30,14,16\nElm,25,12,13\nFir,41,20,21\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("above", "below", "unused"),
    [
        (
            "",
            "Per cent\n\nSchool,All,Girls,Boys\n"
            "Ash,100.0,46.7,53.3\nElm,100.0,48.0,52.0\nFir,100.0,48.8,51.2\n",
            "9 numbers: 'All' of office.csv, 'Girls' of office.csv, 'Boys' of office.csv",
        ),
        (
            "",
            "District,Mean age,,\nNorth,11.2,,\nSouth,12.1,,\nEast,11.1,,\n",
            "3 numbers: 'North' of office.csv, 'South' of office.csv, 'East' of office.csv",
        ),
        (
            "Pupils of Northshire,,,\nAll pupils in the county,96,,\n",
            "Girls with free meals,7,,\n",
            "2 numbers: 'All pupils in the county' of office.csv, 'Girls with free meals' of "
            "office.csv",
        ),
        ("Pupils in,2024,,\n", "Notes,,,\n1,Rounded nowhere,,\n2,Of all schools,,\n", None),
    ],
)
def test_numbers_around_a_table_are_no_places_and_are_told(
    above: str, below: str, unused: str | None
) -> None:
    Path("office.csv").write_text(f"{above}{COUNTS}\n{below}")
    said = " ".join(recon("init", "office.csv", "--yes").stdout.split())
    assert (f"not used {unused} source" in said) if unused else ("not used" not in said)
    done = " ".join(recon("ingest").stdout.split())
    assert "people 96" in done
    assert "schools 3" in done
    assert ("not used" in done) == (unused is not None)


def test_a_reason_settles_a_number_beside_a_table() -> None:
    Path("office.csv").write_text(f"{COUNTS}\nGirls with free meals,7,,\n")
    recon("init", "office.csv")
    config = yaml.safe_load(Path("recon.yaml").read_text())
    config["check"] = {"rules": [{"certain_records": {}, "most": 100}]}
    Path("recon.yaml").write_text(yaml.safe_dump(config))
    assert "'Girls with free meals' of office.csv" in " ".join(
        recon("check", code=21).stdout.split()
    )
    config["ingest"]["mapping"]["leave_out"] = {"Girls with free meals": "published before"}
    Path("recon.yaml").write_text(yaml.safe_dump(config))
    assert "published before" in recon("check").stdout
