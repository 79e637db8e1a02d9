"""Where the project is, and the real data beside it that tests may read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"
DATA, FACTS = SHARED / "data", SHARED / "facts"

#: Where ``CI`` is set, tests on real data are required: one that is skipped looks like a pass.
needs_shared = pytest.mark.skipif(
    not SHARED.is_dir() and os.environ.get("CI", "") in {"", "0", "false"},
    reason="the shared data are not there",
)
