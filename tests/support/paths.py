"""Where the project is, and the real data beside it that tests may read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"
DATA, FACTS = SHARED / "data", SHARED / "facts"

#: Where ``CI`` is set, tests on real data are required: a skipped one would look like a pass.
needs_shared = pytest.mark.skipif(
    not SHARED.is_dir() and "CI" not in os.environ, reason="the shared data are not there"
)
