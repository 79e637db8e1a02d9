"""Runs whose counts nothing bounds, or whose numbers are too large: nothing false, one line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from tests.support.command_line import recon

_WARD: dict[str, Any] = {"level": "ward", "digits": 4}
_TOWN: dict[str, Any] = {"level": "town", "digits": 1}
_SCHEMA: dict[str, Any] = {
    "release": "town",
    "title": "A town",
    "features": {"sex": {"categories": ["m", "f"]}},
    "geography": {"levels": [_WARD, _TOWN], "partition": "town"},
    "microdata": ["sex"],
    "histogram": ["sex"],
    "families": [{"levels": ["ward"], "cells": ["total", {"by": "sex"}], "tables": {"T1": {}}}],
}
#: Without an upper end; a star of its own is at least 1.
_LAW = {"statements": [{"law": {"suppressed": {"below": 3, "complementary": True}}}]}


def write(folder: Path, counts: list[str], **sections: Any) -> Path:
    """A run of wards with a total, males and females each; rows are ``geoid,cell,count``."""
    (folder / "town.yaml").write_text(yaml.safe_dump(_SCHEMA))
    (folder / "law.yaml").write_text(yaml.safe_dump(_LAW))
    rows = [row.replace(",", ",T1,", 1) for row in counts]
    (folder / "counts.csv").write_text("\n".join(["geoid,table,cell,count", *rows, ""]))
    ingest = {"source": "tidy", "paths": ["counts.csv"], "protection": "law.yaml"}
    config = {"release": "town.yaml", "work": "work", "seed": 1, "ingest": ingest, **sections}
    (folder / "recon.yaml").write_text(yaml.safe_dump(config))
    return folder / "recon.yaml"


def table(folder: Path, name: str) -> pl.DataFrame:
    return pl.read_parquet(folder / "work" / name / "**" / "*.parquet")


def test_what_nothing_bounds_has_no_maximum_and_a_row(tmp_path: Path) -> None:
    one = ["A101,1,*", "A101,2,3", "A101,3,*"]
    other = ["A102,1,4", "A102,2,0", "A102,3,4"]
    config = write(tmp_path, [*one, *other], reconstruct=None, solvar={"mode": "exact"}, audit=None)
    recon("run", "-c", config)
    assert table(tmp_path, "intervals").rows() == [
        ("A101", "m", 3, 3, True),
        ("A101", "f", 1, None, False),
        ("A102", "f", 4, 4, True),
    ]
    audit = table(tmp_path, "audit").select("cell", "least", "greatest", "status")
    assert audit.rows() == [(1, 4, None, "safe"), (3, 1, None, "safe")]


def test_sums_of_counts_do_not_wrap(tmp_path: Path) -> None:
    rows = [f"A10{at},{cell},2147483647" for at in (1, 2, 3) for cell in (1, 2)]
    config = write(tmp_path, rows, reconstruct=None)
    config.write_text(config.read_text().replace("protection: law.yaml", "absent: zero"))
    result = recon("run", "-c", config, code=4)
    assert "6,442,450,941" in result.output
    refused = r"geoid A10[123]: a count of 2,147,483,647; one partition holds at most"
    assert re.search(refused, result.output)  # whichever partition is first


@pytest.mark.parametrize("value", [".inf", "-.inf", ".nan", "-1", "1.0e+300", "9" * 40])
def test_numbers_that_are_none_are_refused(value: str, tmp_path: Path) -> None:
    config = write(tmp_path, ["A101,1,3"])
    lines = config.read_text().count("\n")
    config.write_text(f"{config.read_text()}capacity:\n  sd: [{value}]\n")
    result = recon("run", "-c", config, code=2)
    assert f"recon.yaml:{lines + 2}: capacity.sd" in result.output
