"""Tables and levels that the release does not have are refused with the config."""

from __future__ import annotations

import pytest

from recon_cli.capabilities.reconstruct.options import Reconstruct
from recon_cli.errors import ConfigError
from recon_cli.schema import load_release


@pytest.mark.parametrize(
    ("tables", "message"),
    [(("P1", "P404"), "no table 'P404'"), ("block+village", "no level 'village'")],
)
def test_unknown_tables_and_levels_are_refused(tables: str | tuple[str, ...], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Reconstruct(tables=tables).check(load_release("sf1_2010"))


@pytest.mark.parametrize("tables", [("P1", "P12"), "block+tract", None])
def test_known_ones_are_not(tables: str | tuple[str, ...] | None) -> None:
    Reconstruct(tables=tables).check(load_release("sf1_2010"))
