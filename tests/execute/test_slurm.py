"""The job array of docs/cluster.md, by a Slurm that is started here."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command_line import recon
from tests.support.pages import blocks
from tests.support.paths import ROOT
from tests.support.slurm import slurm, why_not

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not())

#: What the page asks of a cluster → what this machine has.
SMALLER = {"1-40": "1-2", "/40": "/2", "--cpus-per-task=4": "--cpus-per-task=1", "16G": "1G"}


def recipe(stage: str) -> tuple[str, str]:
    """The two scripts of the page for a stage: the job, and what submits it."""
    page = (ROOT / "docs" / "cluster.md").read_text()
    job, submit = (block.text for block in blocks(page) if block.language == "bash")
    for large, small in SMALLER.items():
        assert large in job
        job = job.replace(large, small)
    job = job.replace("--workers 4", "--workers 1").replace("reconstruct", stage)
    submit = submit.replace("recon ingest -c al.yaml\n", "").replace("reconstruct", stage)
    return job, submit


def published(work: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(work)): path.read_bytes()
        for path in sorted(work.rglob("*.parquet"))
        if ".staging" not in path.parts
    }


def test_a_job_array_makes_what_one_command_makes(tmp_path: Path) -> None:
    text = (ROOT / "configs" / "toy.yaml").read_text().replace("../", f"{ROOT}/")
    text = text.replace(f"work: {ROOT}/work/toy", "work: work")
    text = text.replace("ingest:", "ingest:\n  piece_people: 300", 1)
    config = tmp_path / "al.yaml"
    config.write_text(text)
    recon("run", "-q", "-c", config, "--work", tmp_path / "one", "--until", "solvar")
    with slurm({"PYTHONPATH": str(ROOT)}) as cluster:
        recon("ingest", "-q", "-c", config)
        for stage in ("reconstruct", "solvar"):
            job, submit = recipe(stage)
            (tmp_path / f"{stage}.sh").write_text(job)
            cluster.run("bash", "-euc", submit, cwd=tmp_path)
            cluster.wait(120, tmp_path)
    said = "".join(path.read_text() for path in sorted(tmp_path.glob("slurm-*.out")))
    assert "reconstruct: shard 2/2 is done" in said
    found = published(tmp_path / "work")
    assert found == published(tmp_path / "one"), said
    assert {name.split("/")[0] for name in found} >= {"microdata", "solvar"}
