"""Fixtures that tests of several folders share; helpers are in `tests.support`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.paths import ROOT


@pytest.fixture(scope="module")
def importable_support() -> Iterator[None]:
    """Worker processes import `tests.support` by name, those that replace dead ones too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT)
        yield
