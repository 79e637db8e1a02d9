"""The verdict has a line on counts and one on people, and what was published is no leak."""

from __future__ import annotations

from pathlib import Path

import pytest

from recon_cli.store.manifest import read_manifest
from tests.support.command_line import recon

HEADER = "Town,Persons,Men,Women,0-14,15-64,65+"
#: Of Elm all is published: everybody there is a woman.
ELM = "Elm,12,0,12,0,12,0"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def headline_of(*rows: str) -> list[str]:
    Path("towns.csv").write_text("\n".join([HEADER, *rows, ""]))
    recon("init", "towns.csv", "--force")
    recon("run", "-q")
    return list(read_manifest(Path("work/towns/report"), command="recon report").notes["headline"])


def page() -> str:
    return Path("work/towns/report/report.md").read_text()


def test_what_is_known_where_all_is_published_was_published() -> None:
    rows = ["Oak,40,c,c,c,c,11", "Ash,50,25,25,20,12,18", "Yew,30,12,18,10,10,10"]
    headline = headline_of(*rows, ELM)
    where = "in towns whose counts are all published."
    assert headline[0] == f"Published as it is: what is known of 12 people {where}"
    assert headline[1].startswith("Not proven: none of 4 protected counts")
    assert "place-" not in page()


def test_counts_that_are_given_away_have_no_all_clear_beside_them() -> None:
    rows = ["Oak,61,c,31,21,c,20", "Ash,50,26,24,13,19,18", "Yew,30,15,15,10,10,10"]
    headline = headline_of(*rows)
    assert headline[0].startswith("Yes, protected counts are given away: 2 of 2")
    assert not any(each.startswith(("Not proven", "No", "Nobody")) for each in headline[1:])
    assert "known to be given away" not in page()
