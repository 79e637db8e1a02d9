"""The notebook of the docs holds no outputs that could be stale; the site runs it."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT

sys.path.append(str(ROOT / "docs" / "_ext"))
notebook = importlib.import_module("notebook")
PATH = ROOT / "docs" / "protect_a_clinic.ipynb"


def test_it_holds_no_outputs() -> None:
    cells = json.loads(PATH.read_text())["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert len(code) > 8
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)


def test_a_cell_that_fails_fails_the_page(tmp_path: Path) -> None:
    cell = {"cell_type": "code", "source": ["1 / 0"], "outputs": [], "execution_count": None}
    (tmp_path / "n.ipynb").write_text(json.dumps({"cells": [cell]}))
    with pytest.raises(ZeroDivisionError):
        notebook.run_notebook(tmp_path / "n.ipynb")
