"""How a section of the report is composed of what it declares, and which are registered."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from recon_cli.capabilities.findings.findings import Findings, Rule
from recon_cli.capabilities.findings.fresh import WorkFolder
from recon_cli.capabilities.findings.section import Section
from recon_cli.capabilities.report.sections import SECTIONS
from recon_cli.page.document import ReportSection
from recon_cli.page.missing import Missing
from recon_cli.page.words import words_of
from recon_cli.schema import load_release
from tests.support.paths import ROOT

GAP = Missing("there is no solvar/", ("recon solvar",))


@pytest.fixture
def findings(tmp_path: Path) -> Findings:
    """Of an empty work folder."""
    release = load_release("clinic_visits")
    gaps = (GAP, GAP, GAP, GAP, GAP)
    return Findings(WorkFolder(tmp_path), release, (), Rule(), False, True, (), *gaps)


def test_a_part_is_rendered_a_missing_one_named_and_one_not_asked_for_left_out(
    findings: Findings,
) -> None:
    def section(part: int | Missing | None) -> Section[int]:
        return Section(
            "key",
            lambda words: words.people,
            lambda _: part,
            lambda number, _, __: (ReportSection("key", f"{number}"),),
        )

    words = words_of(findings.release)
    assert section(7).compose(findings, words) == (ReportSection("key", "7"),)
    gap = (ReportSection("key", words.people, missing=(GAP,)),)
    assert section(GAP).compose(findings, words) == gap
    assert section(None).compose(findings, words) == ()


def test_every_module_of_a_section_is_registered_once() -> None:
    keys = [section.key for section in SECTIONS]
    assert len(set(keys)) == len(keys)
    modules = (ROOT / "recon_cli" / "capabilities").rglob("*.py")
    declared = re.findall(r"= Section\(", "".join(path.read_text() for path in modules))
    assert len(declared) == len(keys)


def test_an_empty_folder_has_no_section_that_was_not_asked_for(findings: Findings) -> None:
    words = words_of(findings.release)
    told = [part for section in SECTIONS for part in section.compose(findings, words)]
    gaps = ["disclosure", "one-solution", "variability", "certain", "attack"]
    assert [part.key for part in told if part.missing] == gaps
    assert [part.key for part in told if not part.missing] == ["provenance"]
