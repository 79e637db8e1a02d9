"""Verdicts are facts, and each has words; the guard against reassurance rests on the facts."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from types import SimpleNamespace
from typing import Any, get_args

import polars as pl
import pytest

from recon_cli.capabilities.findings.findings import (
    AuditFindings,
    ClaimFindings,
    Findings,
    ReconstructionFindings,
    Rule,
)
from recon_cli.capabilities.report.verdict import Beside, OnCounts, OnPeople, Verdict, make_verdicts
from recon_cli.page.sentences import sentences
from recon_cli.page.words import Words

WORDS = Words("ward", "wards", {"sex": "sex"}, person="stay", people="stays")
NAMES: tuple[Any, ...] = (*get_args(OnPeople), *get_args(OnCounts), *get_args(Beside))


def findings(
    given: int, recovered: int | None, *, fitted: bool = False, asked: bool = True
) -> Findings:
    """Findings of 10 people of whom so many are given away, and of 5 protected counts."""
    counts = {"people": 10, "uncounted": 0}
    by_known = pl.DataFrame({"known": [1], "identity": [0], "attribute": [given]})
    found = ReconstructionFindings(
        manifest(totals=counts, notes={"is_fitted": fitted}), 10, 0, 0, ("sex",), (), by_known
    )
    claims = ClaimFindings(manifest(totals=counts, statuses={}), 10, given, 0, by_known, by_known)
    audit = None
    if recovered is not None:
        zeros = pl.DataFrame({"count": [1] * recovered, "is_small": [False] * recovered})
        suppressed = pl.DataFrame({"cells": [5]})
        told = manifest(totals={"cells": 5}, statuses={"recovered": recovered})
        audit = AuditFindings(told, zeros, suppressed, zeros, {})
    blank: Any = None
    return Findings(
        *(blank, blank, (), Rule(), False, True, (), found, blank, blank, claims, blank, audit),
        not_asked=() if asked else ("some tables",),
    )


def manifest(**parts: object) -> Any:
    return SimpleNamespace(**parts)


@pytest.mark.parametrize(("given", "recovered"), [*product([0, 3], [None, 0, 2])])
def test_nothing_reassures_beside_an_alarm(given: int, recovered: int | None) -> None:
    found = make_verdicts(findings(given, recovered))
    tones = {each.tone for each in found}
    assert ("alarm" in tones) == bool(given or recovered)
    assert not {"alarm", "clear"} <= tones
    assert found[0].is_alarm == ("alarm" in tones)
    assert len(found) == (1 if recovered is None else 2)


def test_noise_proves_nothing_of_people() -> None:
    assert make_verdicts(findings(3, None, fitted=True)) == (Verdict("noise", "unknown"),)


@pytest.mark.parametrize("name", NAMES)
def test_each_verdict_has_a_sentence_that_is_never_safe(name: Any) -> None:
    found = findings(3, 2)
    verdict = Verdict(name, "alarm", 3, 10, alone=1, as_published=2)
    (said,) = sentences(
        "verdict.j2",
        name,
        "recon_cli.capabilities.report",
        verdict=verdict,
        findings=found,
        words=WORDS,
    )
    assert said.startswith("**")
    assert said.endswith(".")
    assert "safe" not in said


def test_what_was_not_asked_about_is_undecided() -> None:
    def said(*, asked: bool) -> str:
        (text,) = sentences(
            "headline.j2",
            "verdicts",
            "recon_cli.capabilities.report",
            verdicts=make_verdicts(findings(0, None, asked=asked)),
            findings=findings(0, None, asked=asked),
            words=WORDS,
        )
        return text

    assert said(asked=True).startswith("**Not proven:** no stay")
    assert said(asked=False) == said(asked=True).replace("Not proven", "Undecided")


def test_the_rule_decides_between_alarm_and_tolerated() -> None:
    found = findings(3, None)
    tones = [
        make_verdicts(replace(found, rule=Rule(tolerated=most)))[0].tone for most in (29.9, 30.0)
    ]
    assert tones == ["alarm", "tolerated"]
