"""What an attacker can tell of one record, counted over many releases, against the ε that is told.

A record of a payer in each of 10,000 clinics, published twice: with one value and with another. An
attacker who says which from a clinic's noisy counts is right a times and wrong b times of those
clinics; no ε-private release at δ lets ln((a − δ)/b) be greater than ε.
"""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

from recon_cli.arrays import IntArray
from recon_cli.capabilities.account.account import Spend, tight_epsilon
from recon_cli.schema import load_release
from tests.support.command_line import recon
from tests.support.populations import random_records, random_units

CLINIC = load_release("clinic_visits")
CLINICS = 10_000
#: Probability that the interval of any threshold is wrong.
WRONG = 1e-3


def published(folder: Path, records: pl.DataFrame, payer: str, seed: int) -> IntArray:
    """(clinics,) noisy publicly less noisy privately insured, if everybody has that payer."""
    records.with_columns(insurance=pl.lit(payer)).write_csv(folder / "patients.csv")
    (folder / "strategy.yaml").write_text(
        "strategy: payers\nrho: 1/2\nneighbours: replace\nqueries: {payer: [insurance]}\n"
        "levels: {clinic: {queries: {payer: 1}}}\n"
    )
    (folder / "run.yaml").write_text(
        f"release: clinic_visits\nwork: work{seed}\nworkers: 1\n"
        f"noise: {{study_seed: {seed}, records: patients.csv, strategy: strategy.yaml}}\n"
    )
    recon("protect", "noise", "-c", folder / "run.yaml", "-q")
    counts = pl.read_parquet(folder / f"work{seed}/noisy/**/*.parquet", hive_partitioning=False)
    wide = counts.sort("geoid").pivot("cell", index="geoid", values="count")
    assert len(wide) == CLINICS
    first, second = sorted(column for column in wide.columns if column != "geoid")[:2]
    return (wide[first] - wide[second]).to_numpy()


@pytest.mark.parametrize("delta", [1e-2, 5e-2])
def test_no_attacker_tells_more_than_epsilon(tmp_path: Path, delta: float) -> None:
    one = random_records(CLINIC, 5, 1, random_units(CLINIC, 5, 1))
    places = pl.Series("geoid_clinic", [f"{number:06}" for number in range(CLINICS)])
    records = pl.concat([one] * CLINICS).with_columns(geoid_clinic=places)
    inside, outside = (
        published(tmp_path, records, payer, seed)
        for seed, payer in enumerate(("public", "private"), start=1)
    )
    told = tight_epsilon([Spend("clinic", "payer", Fraction(1, 2), variance=Fraction(2))], delta)
    assert told is not None
    thresholds = np.arange(-8, 9)
    tail = WRONG / (2 * len(thresholds))
    found = []
    for threshold in thresholds:
        right, wrong = (int((each >= threshold).sum()) for each in (inside, outside))
        low = stats.beta.ppf(tail, right, CLINICS - right + 1)  # Clopper and Pearson
        high = stats.beta.ppf(1 - tail, wrong + 1, CLINICS - wrong)
        if low > delta:
            found.append(math.log((low - delta) / high))
    assert max(found) <= told
    assert max(found) > 0.6 * told  # or the attack would show nothing
