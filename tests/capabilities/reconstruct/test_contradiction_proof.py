"""Counts that contradict each other have a proof of it, and others have none."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from recon_cli import reconcheck
from recon_cli.capabilities.reconstruct.contradiction_proof import (
    contradiction_proof,
    proof_of_region,
)
from recon_cli.capabilities.reconstruct.question import reconstruct
from recon_cli.cli import main
from recon_cli.errors import ContradictionError
from recon_cli.model.planning import make_interval_plan
from recon_cli.proof.tables import PublishedTables
from tests.capabilities.prove.certificates import check
from tests.capabilities.reconstruct.test_contradictions import contradicting
from tests.support.populations import random_release
from tests.support.properties import amount, draws


def test_random_contradictions_are_proven() -> None:
    """Of what `recon reconstruct` refuses nearly all; of what it reconstructs nothing."""
    refused = proven = certified = shown = 0
    for seed in draws(12, 20):
        release = random_release(seed)
        published = contradicting(release, seed, 4, 2)
        plan = make_interval_plan(release, release.tables, published.coverage)
        try:
            reconstruct(release, published, release.tables, seed=1)
        except ContradictionError as error:
            found = proof_of_region(plan, published, error.region, 5.0)
            refused, proven = refused + 1, proven + (found is not None)
            if found is None:
                continue
            assert all(check(found.tables, found.proof))
            by_engines = re.search(r"the least change that .* possible is (\d+)", str(error))
            assert by_engines is not None
            assert found.least <= int(by_engines[1])
            certified += found.least == int(by_engines[1])
            if found.changed is not None:
                shown += found.least == int(by_engines[1])
                tables: Any = reconcheck.Tables(found.changed[0].splitlines())
                results = reconcheck.Proof(tables, found.changed[1].splitlines()).results
                assert [each[1:] for each in results] == [("set changed", True)]
        else:
            text = PublishedTables(release, published, plan.tables).text
            assert contradiction_proof(text, plan.grain, 5.0) is None
    assert refused >= amount(12, 20) // 2
    assert proven >= 0.9 * refused
    assert certified == proven
    assert shown >= 0.5 * proven


def test_the_refusal_of_a_run_names_its_proof(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("towns.yaml").write_text(
        "release: towns\ntitle: Towns\nfeatures: {sex: {categories: [women, men]}}\n"
        "geography: {levels: [{level: street, digits: 2}, {level: town, digits: 1}], "
        "partition: town}\nmicrodata: [sex]\nhistogram: [sex]\nfamilies:\n"
        "  - {levels: [street, town], cells: [total, {by: sex}], tables: {T: {}}}\n"
    )
    rows = ["A1,T,1,5", "A1,T,2,2", "A1,T,3,3", "A,T,1,6", "A,T,2,2", "A,T,3,3"]
    Path("counts.csv").write_text("\n".join(["geoid,table,cell,count", *rows]) + "\n")
    Path("recon.yaml").write_text(
        "release: towns.yaml\nwork: work\nseed: 1\n"
        "ingest: {source: tidy, paths: [counts.csv]}\nreconstruct:\n"
    )
    done = CliRunner().invoke(main, ["run", "-c", "recon.yaml", "--workers", "1"])
    assert done.exit_code == 6
    assert "python3 -I -S reconcheck.py A.tables A.proof checks the proof" in done.output
    command = [sys.executable, "-I", "-S", "reconcheck.py", "A.tables", "A.proof"]
    said = subprocess.run(
        command, cwd="work/contradictions", capture_output=True, text=True, check=True
    ).stdout
    assert "1 of 1 proven" in said
    command[-2:] = ["A.changed.tables", "A.changed.proof"]
    said = subprocess.run(
        command, cwd="work/contradictions", capture_output=True, text=True, check=True
    ).stdout
    assert "proven     line" in said
