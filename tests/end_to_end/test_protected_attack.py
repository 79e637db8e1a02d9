"""From records through a protection, reconstruction, linking and scores to the report."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.support.command_line import recon

SCHEMA = """\
release: wards
title: Plots in wards
features:
  sex: {categories: [women, men]}
  age: {categories: [young, middle, old]}
  born: {categories: [here, near, far]}
geography: {levels: [{level: plot, digits: 4}, {level: ward, digits: 3}], partition: ward}
microdata: [sex, age, born]
histogram: [sex, age, born]
attack: {exact: [sex, age], binned: [sex, age], gains: [born]}
families:
  - levels: [plot, ward]
    cells: [total, {by: sex, cells: [total, {by: age}]}]
    tables: {T: {}}
  - levels: [plot, ward]
    cells: [{by: born, cells: [total, {by: sex}]}]
    tables: {B: {}}
"""
CONFIG = """\
release: wards.schema.yaml
work: work
round: {{study_seed: 0, records: persons.csv}}
cellkey: {{study_seed: 0, records: persons.csv, max: 2, variance: 1.08}}
suppress: {{records: persons.csv}}
ingest: {{source: tidy, paths: [work/{folder}]}}
reconstruct:
solvar: {{intervals: propagation}}
audit:
link: {{cef: persons.csv, id: name, attackers: {{LIST: known.csv}}}}
score: {{bootstrap: 10, threshold: 0}}
report:
"""


@pytest.mark.parametrize(
    ("method", "folder"),
    [("round", "rounded"), ("cellkey", "perturbed"), ("suppress", "suppressed")],
)
def test_what_protect_writes_is_attacked_and_reported(
    tmp_path: Path, method: str, folder: str
) -> None:
    rng = np.random.default_rng(4)
    people = pl.DataFrame(
        {
            "name": [f"P{number}" for number in range(60)],
            "geoid_plot": rng.choice(["A101", "A102", "A103"], 60),
            "sex": rng.choice(["women", "men"], 60),
            "age": rng.choice(["young", "middle", "old"], 60, p=[0.6, 0.3, 0.1]),
            "born": rng.choice(["here", "near", "far"], 60, p=[0.6, 0.3, 0.1]),
        }
    )
    people.write_csv(tmp_path / "persons.csv")
    people.drop("born").write_csv(tmp_path / "known.csv")
    (tmp_path / "wards.schema.yaml").write_text(SCHEMA)
    (tmp_path / "run.yaml").write_text(CONFIG.format(folder=folder))
    config = ("-c", tmp_path / "run.yaml", "-q")
    recon("protect", method, *config)
    for stage in ("ingest", "reconstruct", "solvar", "audit", "link", "score"):
        recon(stage, *config)
    work = tmp_path / "work"
    rates = pl.read_parquet(work / "score" / "rates.parquet")
    linked = rates.filter(
        pl.col("source").str.starts_with("rHDF"), table="table09_overall", rate="confirmed"
    ).row(0, named=True)
    assert 0 < linked["count"] <= linked["of"] == 60
    agreement = rates.filter(rate="agree_binned")
    assert agreement.height
    assert agreement["least"].null_count() == agreement.height  # others may have more people
    manifest = json.loads((work / "score" / "_manifest.json").read_text())
    assert manifest["notes"]["zero_variability"] == "blocks/: proven to have one solution"
    recon("report", *config)
    page = (work / "report" / "report.html").read_text()
    assert "LIST" in page
    assert "not published exactly" in page
    assert "another one may have more people, even where it is zero" in page
    assert "at most twice that" not in page
