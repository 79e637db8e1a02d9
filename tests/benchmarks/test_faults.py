"""A fault is noticed where a test fails, and for no other reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import faults
from benchmarks.faults import Fault, Reach, faults_of, outcome

SOURCE = b"def is_small(n):\n    return n < 3\n"
TESTS = """\
from small import is_small

def test_at_the_edge():
    assert not is_small(3)

def test_far_from_it():
    assert is_small(0)

def test_that_waits():
    while not is_small(3):
        return
    import time
    time.sleep(60)
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "small.py").write_bytes(SOURCE)
    (tmp_path / "test_small.py").write_text(TESTS)
    return tmp_path


@pytest.fixture(scope="module")
def fault() -> Fault:
    return faults_of("small.py", SOURCE)[0]


@pytest.mark.parametrize(
    ("tests", "came"),
    [
        (["test_small.py::test_at_the_edge"], "noticed"),
        (["test_small.py::test_far_from_it"], "SURVIVES"),
        (["test_small.py::test_that_is_gone"], "ERROR"),
        ([], "SURVIVES"),
    ],
)
def test_what_becomes_of_a_fault(tree: Path, fault: Fault, tests: list[str], came: str) -> None:
    assert outcome(tree, fault, tests) == came
    assert (tree / "small.py").read_bytes() == SOURCE


def test_tests_that_do_not_end_are_endless(
    tree: Path, fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faults, "_SECONDS", 5.0)
    assert outcome(tree, fault, ["test_small.py::test_that_waits"]) == "endless"


def test_slow_tests_are_left_out_and_counted() -> None:
    fault = Fault("recon_cli/solve/a.py", 1, 0, "1", "2")
    took = {"tests/x.py::quick": 1.0, "tests/x.py::slow": 1000.0}
    reach = Reach({fault.path: {"1": list(took)}}, took)
    assert reach.tests_of(fault) == (["tests/x.py::quick"], 1)
