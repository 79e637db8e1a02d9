"""The account of what is drawn from the same people: before it is drawn, once, and to its limit."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from recon_cli.capabilities.measurements import draws
from recon_cli.schema import load_release
from recon_cli.store import PartitionEntry, Piece, Staging
from tests.capabilities.noise.test_protect_noise import STRATEGY
from tests.support.command_line import recon
from tests.support.populations import random_records, random_units

CLINIC = load_release("clinic_visits")


def make_home(tmp_path: Path) -> Path:
    units = [*random_units(CLINIC, 5, 3), *random_units(CLINIC, 6, 3)]
    random_records(CLINIC, 5, 90, units).write_csv(tmp_path / "patients.csv")
    (tmp_path / "noise.yaml").write_text(STRATEGY)
    (tmp_path / "run.yaml").write_text(
        "release: clinic_visits\nwork: work\nworkers: 1\n"
        "account: {of: patients, file: account.jsonl, tight: true}\n"
        "noise: {records: patients.csv, strategy: noise.yaml, units: exact}\n"
        "randomize: {records: patients.csv, responses: {insurance: {epsilon: 1}}}\n"
        "round: {records: patients.csv}\n"
    )
    return tmp_path


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return make_home(tmp_path)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = make_home(tmp_path_factory.mktemp("drawn"))
    protect(home, "noise")
    return home


@pytest.fixture
def noisy(drawn: Path, tmp_path: Path) -> Path:
    """A folder where noise was drawn once."""
    shutil.copytree(drawn, tmp_path, dirs_exist_ok=True)
    return tmp_path


def protect(home: Path, name: str, *given: object, code: int = 0) -> Any:
    return recon("protect", name, "-c", home / "run.yaml", *given, code=code)


def products(home: Path) -> list[dict[str, Any]]:
    path = home / "account.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_a_product_is_there_before_it_is_drawn_and_once(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Staging.write
    seen = []

    def killed(staging: Staging, piece: Piece, *given: Any, **named: Any) -> PartitionEntry:
        seen.append(len(products(home)))
        raise KeyboardInterrupt

    monkeypatch.setattr(Staging, "write", killed)
    protect(home, "noise", code=130)
    assert seen == [1]  # nothing was written yet, and it is spent
    monkeypatch.setattr(Staging, "write", write)
    protect(home, "noise")
    protect(home, "noise")
    assert len(products(home)) == 1
    protect(home, "noise", "--force")
    protect(home, "noise", "--work", home / "other")
    found = products(home)
    assert [each["work"] for each in found] == ["work", "work", "other"]
    assert len({each["id"] for each in found}) == 3


#: The command line, killed when it is about to draw.
KILLED_BEFORE_DRAWING = """
import os, signal
from recon_cli.capabilities.measurements import draws
draws.draw_noise = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
from recon_cli.cli import main
main()
"""


def test_killed_between_reserving_and_drawing_it_stays_spent(home: Path) -> None:
    asked = ["protect", "noise", "-c", str(home / "run.yaml")]
    command = [sys.executable, "-c", KILLED_BEFORE_DRAWING, *asked]
    killed = subprocess.run(command, capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert len(products(home)) == 1
    assert not (home / "work" / "noisy").exists()
    spent = products(home)
    limit = sum(Fraction(each["budget"]) for each in spent[0]["spends"]) * Fraction("1.5")
    at_most = ("--set", f"account.limit={{rho: {float(limit)}}}")
    protect(home, "noise", *at_most, "--work", home / "other", code=12)  # as if it had been drawn
    protect(home, "noise", *at_most)  # with its key it is the same product
    assert products(home) == spent
    protect(home, "noise", *at_most, "--force", code=12)
    protect(home, "noise", "--force")
    assert len(products(home)) == 2


def test_two_products_of_the_censuss_settings_have_one_epsilon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """32.80 of both together, never 17.14 and 25.42 by themselves.

    What is reserved is all that is asked about here, so nothing is drawn.
    """
    relationships = (
        "householder spouse partner child parent sibling grandchild other_relative nonrelative "
        "institutional noninstitutional"
    )
    quarters = "none correctional juvenile nursing other_institution college military other"
    every = {"relationship": relationships.split(), "group_quarters": quarters.split()}
    path, above = tmp_path / "run.yaml", ("nation", "state", "county")
    content = {
        "release": "sf1_2010",
        "work": "work",
        "workers": 1,
        "account": {"of": "people", "file": "account.jsonl"},
        "synth": {"people": 60},
        "topdown": {
            "records": "people.parquet",
            "units": "exact",
            "levels": [*above, "prim", "tract_group", "tract", "block_group", "block"],
            "geography": "geography.csv",
            "features": {name: {"categories": kinds} for name, kinds in every.items()},
        },
    }
    path.write_text(yaml.safe_dump(content))
    recon("data", "synth", "-c", path)
    people = pl.read_parquet(tmp_path / "work" / "persons" / "**" / "*.parquet")
    first = {name: pl.lit(kinds[0]) for name, kinds in every.items()}
    people.with_columns(**first).write_parquet(tmp_path / "people.parquet")

    levels = {"prim": pl.col("geoid_block").str.head(5)}
    levels["tract_group"] = pl.col("geoid_block").str.head(11)
    people.select("geoid_block", **levels).unique().write_csv(tmp_path / "geography.csv")

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(draws, "draw_noise", stopped)
    recon("protect", "topdown", "-c", path, code=130)
    assert "products 1 ρ 7.51843 1 person ε 32.80 at δ 1e-10" in told(tmp_path)


def test_nothing_is_drawn_above_the_limit(noisy: Path) -> None:
    rho = float(sum(Fraction(each["budget"]) for each in products(noisy)[0]["spends"]))
    limit = f"account.limit={{rho: {1.5 * rho}}}"
    refused = protect(noisy, "noise", "--set", limit, "--work", noisy / "other", code=12)
    assert "above the limit" in refused.stderr
    assert "nothing was drawn" in refused.stderr
    assert len(products(noisy)) == 1
    assert not list((noisy / "other").rglob("*.parquet"))
    protect(noisy, "noise", "--set", f"account.limit={{rho: {2 * rho + 1e-6}}}", "--force")
    assert len(products(noisy)) == 2


def test_what_has_no_epsilon_is_above_any_limit_and_named(home: Path) -> None:
    protect(home, "round", "--set", "account.limit={epsilon: 100}", code=12)
    assert not products(home)
    protect(home, "round")
    protect(home, "randomize")
    said = recon("account", "-c", home / "run.yaml").output
    assert "`protect round` in work: nothing bounds what it tells" in " ".join(said.split())
    assert "`protect randomize` publishes clinic of every record exactly" in " ".join(said.split())


def told(home: Path, *given: object) -> str:
    return " ".join(recon("account", "-c", home / "run.yaml", *given).output.split())


def test_sums_beside_what_has_no_epsilon_are_of_noise_alone(home: Path) -> None:
    protect(home, "round")
    limit = ("--set", "account.limit={rho: 100}")
    said = told(home, *limit)
    assert "in all no ρ and no ε: 1 product without; below, noise alone" in said
    assert "noise none: no product has any" in said
    assert "ε 0.00" not in said
    assert "left" not in said
    protect(home, "noise")
    said = told(home, *limit)
    assert "no ρ and no ε" in said
    assert "left" not in said
    assert said.index("no ρ and no ε") < said.index("noise alone") < said.index(" at δ ")


def test_what_was_published_outside_the_account_is_named(noisy: Path) -> None:
    assert "not counted" not in told(noisy)
    away = ("--set", f"account.file={noisy}/elsewhere.jsonl")
    protect(noisy, "round", *away)
    protect(noisy, "randomize", "--set", "randomize.study_seed=1")
    said = told(noisy)
    assert "not counted rounded/ of `protect round` was published, and is not in" in said
    assert said.count("not counted") == 1
    assert "not counted noisy/" in told(noisy, *away)
    text = (noisy / "run.yaml").read_text()
    (noisy / "run.yaml").write_text(text.replace("account: {", "# account: {"))
    protect(noisy, "noise", "--force")
    (noisy / "run.yaml").write_text(text)
    assert "not counted noisy/ of `protect noise`" in told(noisy)


def test_a_delta_too_small_for_the_tight_epsilon_is_said(noisy: Path) -> None:
    assert "not known: δ 1e-13 is no more than" in told(noisy, "--set", "account.delta=1e-13")


def test_runs_for_study_spend_nothing(home: Path) -> None:
    protect(home, "noise", "--set", "noise.study_seed=1")
    assert not products(home)


def test_the_account_is_told_and_written(noisy: Path) -> None:
    protect(noisy, "noise", "--force")
    config = noisy / "run.yaml"
    said = recon("account", "-c", config, "--to", noisy / "a.csv").output
    assert said.count("protect noise") >= 2
    assert "tight" in said
    rows = pl.read_csv(noisy / "a.csv")
    total = next(line.split()[1] for line in said.splitlines() if line.startswith("  ρ "))
    assert float(total) == pytest.approx(rows["rho"].sum(), rel=1e-5)
    by_level = recon("account", "-c", config, "--by", "level").output
    for level, rho in rows.group_by("level").agg(pl.col("rho").sum()).rows():
        line = next(line for line in by_level.splitlines() if line.split()[:1] == [level])
        assert float(line.split()[1]) == pytest.approx(rho, rel=1e-5)


def test_purge_leaves_the_account(home: Path) -> None:
    text = (home / "run.yaml").read_text().replace("file: account.jsonl, ", "")
    (home / "run.yaml").write_text(text)
    protect(home, "noise")
    kept = home / "work" / "private" / "account.jsonl"
    assert kept.stat().st_mode & 0o777 == 0o600
    recon("purge", "--work", home / "work", "--yes")
    assert kept.exists()
    assert not (home / "work" / "noisy").exists()


def test_a_line_that_is_none_is_named(home: Path) -> None:
    (home / "account.jsonl").write_text('{"of": "patients"}\n')
    refused = protect(home, "noise", code=5)
    assert "account.jsonl:1: no line of an account" in refused.stderr


def test_the_same_records_under_a_second_name_are_noticed(noisy: Path) -> None:
    said = protect(noisy, "randomize", "--set", "account.of=others", code=2).stderr
    assert "the same records are in" in " ".join(said.split())
    assert len(products(noisy)) == 1
    protect(noisy, "randomize")


def test_an_account_that_was_deleted_is_missed(noisy: Path) -> None:
    kept = (noisy / "account.jsonl").read_bytes()
    (noisy / "account.jsonl").unlink()
    said = protect(noisy, "noise", "--force", code=5).stderr
    assert "has no line of what noisy/ in" in " ".join(said.split())
    (noisy / "account.jsonl").write_bytes(kept)
    protect(noisy, "noise", "--force")
    assert len(products(noisy)) == 2


def test_a_budget_that_does_not_fit_its_variance_is_named(noisy: Path) -> None:
    (line,) = products(noisy)
    line["spends"][0]["budget"] = "1/1000000"
    (noisy / "account.jsonl").write_text(json.dumps(line) + "\n")
    said = recon("account", "-c", noisy / "run.yaml", code=5).stderr
    assert "does not fit the variance" in " ".join(said.split())


def test_another_work_folder_with_another_account_is_named(noisy: Path) -> None:
    protect(noisy, "noise", "--work", noisy / "other", "--set", "account.file=null")
    said = told(noisy)
    assert "another account" in said
    assert "other/private/account.jsonl" in said.replace(" ", "")


def test_what_epsilon_is_under_stands_beside_it(home: Path) -> None:
    said = " ".join(protect(home, "noise").stdout.split())
    assert "invariant which units have records: ρ and ε are between files that agree" in said
