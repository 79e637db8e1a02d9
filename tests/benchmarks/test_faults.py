"""A fault is noticed where a test fails, and for no other reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import faults
from benchmarks.faults import Fault, Reach, draw, faults_of, outcome

SOURCE = b"def is_small(n):\n    return n < 3\n"
TESTS = """\
from small import is_small

def test_at_the_edge():
    assert not is_small(3)

def test_far_from_it():
    assert is_small(0)

def test_that_goes_on():
    while is_small(3):
        pass
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


def test_tests_that_do_not_end_are_endless(tree: Path, fault: Fault) -> None:
    tests = ["test_small.py::test_that_goes_on"]
    assert outcome(tree, fault, tests, limit=1) == "endless"


def test_quick_tests_come_first_and_those_of_the_folder() -> None:
    fault = Fault("recon_cli/solve/a.py", 1, 0, "1", "2")
    own = {"tests/solve/test_a.py::quick": 1.0, "tests/solve/test_a.py::slow": 4.5}
    took = {"tests/model/test_b.py::quick": 0.1, "tests/model/test_b.py::slow": 1.0, **own}
    tests = Reach({fault.path: {"1": list(took)}}, took).tests_of(fault)
    assert [test.removeprefix("tests/") for test in tests] == [
        *("model/test_b.py::quick", "solve/test_a.py::quick"),
        *("solve/test_a.py::slow", "model/test_b.py::slow"),
    ]


def test_tests_may_take_as_often_as_long_as_without_the_fault() -> None:
    reach = Reach({}, {"a": 1.0, "b": 1000.0})
    assert reach.limit(["a"]) == 120.0
    assert reach.limit(["a", "b"]) == 3003.0


def test_an_edit_elsewhere_leaves_a_draw_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faults, "ROOT", tmp_path)
    folder = tmp_path / "recon_cli/model"
    folder.mkdir(parents=True)
    (folder / "small.py").write_bytes(SOURCE * 2)
    before = list(draw(1, {}))
    assert len(before) == 4
    (folder / "another.py").write_bytes(SOURCE)
    after = [fault for fault in draw(1, {}) if fault.path.endswith("small.py")]
    assert after == before


def test_judged_faults_are_not_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults, "ROOT", tmp_path)
    (tmp_path / "recon_cli/model").mkdir(parents=True)
    (tmp_path / "recon_cli/model/small.py").write_bytes(SOURCE)
    judged = "recon_cli/model/small.py: return n < 3: `n < 3` → `(n <= 3)`"
    assert [fault.after for fault in draw(1, {judged: "a reason"})] == ["4"]


def test_assertions_are_left_alone() -> None:
    source = b"def f(a, b):\n    assert a == 1, b\n    return list(zip(a, b, strict=True))\n"
    assert not faults_of("a.py", source)
