"""Fixtures that tests of several folders share; helpers are in `tests.support`."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.support.paths import ROOT

# The suite runs in as many processes as there are cores: threads would only wait for each other.
for library in ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(library, "1")

# Processes that tests start find what the first of them compiled.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# How fast examples are drawn is the machine's matter.
_LOADED = [HealthCheck.too_slow]
settings.register_profile("repeatable", derandomize=True, suppress_health_check=_LOADED)
settings.register_profile("searching", print_blob=True)
settings.load_profile("searching" if "RECON_EXAMPLES" in os.environ else "repeatable")


@pytest.fixture(scope="session", autouse=True)
def _fast_disk() -> Iterator[None]:
    """No test cuts the power, and flushing is what takes the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _handle: None)
        yield


@pytest.fixture(scope="module")
def importable_support() -> Iterator[None]:
    """Worker processes import `tests.support` by name, those that replace dead ones too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT)
        yield
