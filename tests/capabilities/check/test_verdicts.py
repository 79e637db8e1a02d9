"""`recon check` never says *kept* or *broken* where every solution, enumerated, says otherwise."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from hypothesis import example, given

from benchmarks.soundness.releases import NAMES, TinyRelease, make_release
from benchmarks.soundness.verdicts import change, verdict_words
from recon_cli.capabilities.check.counts import Interval, Recovered
from recon_cli.capabilities.check.finding import Finding
from recon_cli.capabilities.check.options import SUBJECTS, Judged, Rule, verdict_of
from recon_cli.capabilities.check.people import Categories
from recon_cli.errors import ConfigError
from recon_cli.schema import load_release
from tests.support.properties import SEEDS, examples


def judged(proven: int, possible: int = 0, *gaps: str, of: int | None = 10, **limit: float) -> str:
    rule = Rule.model_validate({"certain_records": {}, **(limit or {"most": 0})})
    return Judged(rule, Finding(proven, possible, of, gaps)).verdict


def test_what_reassures_needs_more_proof_than_what_alarms() -> None:
    assert judged(0) == "kept"
    assert judged(1) == "broken"
    assert judged(0, 1) == "undecided"
    assert judged(0, 0, "not asked") == "undecided"
    assert judged(1, 0, "not asked") == "broken"
    assert judged(1, 1, most=2) == "kept"
    assert judged(1, 2, share=0.3) == "kept", "3 of 10, exactly"
    assert judged(1, 3, share=0.3) == "undecided"
    assert judged(4, share=0.3) == "broken"


def test_a_share_of_nobody_knows_how_many_is_only_exceeded_where_nobody_is_allowed() -> None:
    assert judged(9, 0, "not every number", of=None, share=0.3) == "undecided"
    assert judged(1, 0, "not every number", of=None, share=0) == "broken"


def test_all_rules_together_are_as_the_worst() -> None:
    rule = Rule.model_validate({"certain_records": {}, "most": 0})
    kept, broken, undecided = (Judged(rule, Finding(*each)) for each in ((0,), (1,), (0, 1)))
    assert verdict_of([kept, undecided]) == "undecided"
    assert verdict_of([broken, undecided]) == "broken"
    assert verdict_of([kept, kept]) == "kept"


def audited(required: int, *rows: tuple[int, int | None, bool, str]) -> pl.DataFrame:
    columns = ["least", "greatest", "is_exact", "status"]
    frame = pl.DataFrame(rows, schema=columns, orient="row")
    return frame.with_columns(geoid=pl.lit("A"), table=pl.lit("T"), cell=1, required=required)


def test_an_audit_that_ended_early_keeps_no_rule() -> None:
    rows = (
        (2, 2, True, "recovered"),
        (5, 5, True, "recovered"),
        (0, 9, False, "undecided"),
        (4, 9, False, "undecided"),
        (0, None, False, "undecided"),
        (0, 9, False, "safe"),
        (1, 2, True, "narrowed"),
    )
    recovered = Recovered.model_validate({"from": 1, "below": 3}).settled(audited(1, *rows))
    assert (recovered.proven, recovered.possible) == (1, 2)
    assert recovered.tables == {"T": 1}
    narrow = Interval(at_least=2).narrow(audited(1, *rows))
    assert (narrow.proven, narrow.possible) == (3, 4)
    wider = Interval(at_least=2).narrow(audited(2, *rows))
    assert wider.possible == 3, "two solutions two apart are known"


def said_of(tiny: TinyRelease | None) -> Counter[str]:
    """How often each verdict was said; none is false."""
    words = [] if tiny is None else list(verdict_words(tiny))
    assert [word for word in words if word.is_true is False] == []
    return Counter(word.kind for word in words)


def test_verdicts_agree_with_enumeration() -> None:
    said: Counter[str] = Counter()
    for number in range(len(NAMES)):
        said += said_of(make_release(11, number))
    for name in SUBJECTS:
        for verdict in ("kept", "broken"):
            assert said[f"{name}: {verdict}"], f"no {name} {verdict}: benchmarks.soundness.verdicts"


@examples(4)
@given(seed=SEEDS)
@example(seed=200_000_000)  # a tract whose rows of zeros are left out, with a list of places
def test_verdicts_agree_with_enumeration_of_any_release(seed: int) -> None:
    tiny = make_release(seed, seed % len(NAMES))
    said_of(tiny if tiny is None else change(tiny, seed))


@pytest.mark.parametrize(
    ("totals", "message"),
    [
        ("race,hispanic,count\n1,true,5\n", "us.csv: totals: no row for race 2, hispanic True"),
        ("race,count\n1,5\n", "us.csv has no column 'hispanic' (columns: race, count)"),
        ("race,hispanic,count\n1,true,5\n1,maybe,6\n", "us.csv, row 2: a value of the release"),
        (None, "us.csv cannot be read"),
    ],
)
def test_refused_totals(tmp_path: Path, totals: str | None, message: str) -> None:
    release = load_release("sf1_2010")
    if totals is not None:
        (tmp_path / "us.csv").write_text(totals)
    path = tmp_path / "us.csv"
    rule = Categories(columns=("race", "hispanic"), totals=path)
    assert rule.model_dump(mode="json")["totals"] == "us.csv", "no place of a machine"
    records = pl.DataFrame({"race": [2], "hispanic": [True]}, schema_overrides={"race": pl.Int16})
    with pytest.raises(ConfigError, match=re.escape(message)):
        rule.rare(release, records, rule.read_totals(path, release))
