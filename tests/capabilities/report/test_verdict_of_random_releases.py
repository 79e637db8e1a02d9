"""The first words of the page, on tiny random releases, against every possible population."""

from __future__ import annotations

import tempfile
from pathlib import Path

import yaml
from click.testing import CliRunner
from hypothesis import given

from benchmarks.soundness.releases import NAMES, TinyRelease, make_release
from benchmarks.soundness.verdicts import Violations, change
from benchmarks.soundness.words import Possible
from recon_cli.capabilities.check.counts import Recovered
from recon_cli.capabilities.check.people import CertainRecords, Disclosed
from recon_cli.capabilities.claims.groups import claim_columns
from recon_cli.cli import main
from recon_cli.store.manifest import read_manifest
from tests.support.properties import SEEDS, examples

ALL_CLEAR, ALARM = "Not proven: ", "Yes, "
OF_COUNTS = "protected counts"
SECTIONS = ("reconstruct", "audit", "report")
#: Exit codes of tables that contradict each other, and of an engine that gave up.
REFUSED = {6, 8}


@examples(4)
@given(seed=SEEDS)
def test_nobody_reads_the_all_clear_where_everybody_says_otherwise(seed: int) -> None:
    tiny = make_release(seed, seed % len(NAMES))
    if tiny is None:
        return
    tiny = change(tiny, seed)
    possible = Possible.of(tiny)
    if possible is None or not possible.is_complete:
        return
    with tempfile.TemporaryDirectory() as folder:
        headline = said_of(Path(folder), tiny)
    assert headline or not possible.worlds
    reassuring = [each for each in headline if each.startswith(ALL_CLEAR)]
    assert not (reassuring and any(each.startswith(ALARM) for each in headline))
    if not reassuring:
        return
    assert possible.worlds
    truth = Violations(tiny, possible)
    if any(OF_COUNTS in each for each in reassuring):
        known = Recovered.model_validate({"from": 0, "below": 10**6, "published": False})
        assert not min(truth.of(known))
    if any(OF_COUNTS not in each for each in reassuring):
        whole = CertainRecords.model_validate({})
        settled = Disclosed.model_validate({"kind": "attribute", "known": 9})
        assert not min(truth.of(whole))
        assert not min(truth.of(settled))


def said_of(folder: Path, tiny: TinyRelease) -> list[str]:
    """The headline of a run; empty where the tables are refused."""
    for name, data in tiny.files.items():
        (folder / name).write_bytes(data)
    config = yaml.safe_load(tiny.files["run.yaml"]) | dict.fromkeys(SECTIONS)
    if claim_columns(tiny.release, tiny.release.tables, tiny.published.coverage):
        config["claims"] = None  # totals alone leave nothing to claim
    (folder / "run.yaml").write_text(yaml.safe_dump(config))
    told = CliRunner().invoke(main, ["run", "-c", str(folder / "run.yaml"), "-q"])
    if told.exit_code:
        assert told.exit_code in REFUSED, told.output
        return []
    work = folder / config["work"]
    return list(read_manifest(work / "report", command="recon report").notes["headline"])
