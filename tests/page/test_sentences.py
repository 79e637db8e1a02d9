"""Sentences are macros of templates beside the capabilities."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from jinja2 import UndefinedError, nodes

from recon_cli.page.missing import Missing
from recon_cli.page.sentences import _environment, sentences
from tests.support.paths import ROOT

PACKAGE = ROOT / "recon_cli"
TEMPLATES = sorted(path for path in PACKAGE.rglob("*.j2") if len(path.suffixes) == 1)
FINDINGS = "recon_cli.capabilities.findings"


def macros(path: Path) -> list[str]:
    """The macros that a template defines."""
    source = path.read_text(encoding="utf-8")
    return [macro.name for macro in _environment().parse(source).find_all(nodes.Macro)]


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: "/".join(path.parts[-2:]))
def test_each_macro_is_used(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    callers = "".join(other.read_text(encoding="utf-8") for other in TEMPLATES)
    python = "".join(each.read_text(encoding="utf-8") for each in path.parent.glob("*.py"))
    assert macros(path)
    for name in macros(path):
        is_called = len(re.findall(rf"\b{name}\(", source)) > 1 or f".{name}(" in callers
        assert is_called or f'"{name}"' in python, name


def test_a_blank_line_of_a_template_ends_a_sentence_and_one_of_a_fact_does_not() -> None:
    said = sentences("proofs.j2", "conditions", FINDINGS, laws=["a\n\n b"], assumes_zeros=True)
    assert len(said) == 2
    assert said[0] == "What is proven here is proven if the counts were published by: a b."


def test_nothing_is_escaped_and_marks_stay() -> None:
    said = sentences("proofs.j2", "conditions", FINDINGS, laws=["**<b>** `&`"], assumes_zeros=False)
    assert said == ["What is proven here is proven if the counts were published by: **<b>** `&`."]


def test_a_fact_that_is_not_given_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="laws"):
        sentences("proofs.j2", "conditions", FINDINGS, assumes_zeros=False)


def test_what_is_missing_is_told_apart() -> None:
    said = sentences(
        "answers.j2",
        "sureness",
        "recon_cli.capabilities.report",
        found=Missing("there is none", ()),
        basis="By arithmetic.",
        words=None,
    )
    assert "By arithmetic. What is not stated is unknown, not safe" in " ".join(said)
