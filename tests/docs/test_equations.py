"""Every equation of the pages on mathematics names its function, and the function names it."""

from __future__ import annotations

import importlib
import re

import pytest

from tests.support.paths import ROOT

PAGES = [
    (ROOT / "docs" / name).read_text()
    for name in (
        "method.md",
        "risk.md",
        "noise.md",
        "capacity.md",
        "frontier.md",
        "dinur_nissim.md",
        "contributions.md",
        "statistics.md",
    )
]
TEXT = "\n".join(PAGES)
LABELS = re.findall(r"^\$\$ \((\w+)\)$", TEXT, flags=re.MULTILINE)
HELD = dict(re.findall(r"^\| \{eq\}`(\w+)` \| `([\w.]+)` \|$", TEXT, flags=re.MULTILINE))


def docstring(reference: str) -> str:
    module, name = reference.rsplit(".", 1)
    return getattr(importlib.import_module(module), name).__doc__ or ""


def test_every_equation_is_in_the_table_once() -> None:
    assert sorted(HELD) == sorted(LABELS)
    assert len(set(LABELS)) == len(LABELS) > 12


@pytest.mark.parametrize("label", LABELS)
def test_the_function_names_its_equation(label: str) -> None:
    named = re.findall(r"Eq\. ([^.:]*\))", docstring(HELD[label]))
    assert f"({label})" in " ".join(named)


def test_no_docstring_names_an_equation_that_is_not_there() -> None:
    for path in (ROOT / "recon_cli").rglob("*.py"):
        for label in re.findall(r"Eq\. \((\w+)\)", path.read_text()):
            assert label in LABELS, f"{path}: Eq. ({label})"
