"""Geounits are found by the names that people know."""

from __future__ import annotations

import re

import pytest

from recon_cli.capabilities.show.geounit import geoid_called
from recon_cli.errors import ConfigError

NAMES = {
    "10": "Ashby",
    "1001": "Ashby / Ashby Academy",
    "1002": "Ashby / Abbey School",
    "20": "Calder",
    "2001": "Calder / Abbey School",
    "2002": "Calder / Ashby",
}


@pytest.mark.parametrize(
    ("place", "geoid"),
    [
        ("Ashby / Ashby Academy", "1001"),
        ("Ashby Academy", "1001"),
        ("ashby academy", "1001"),
        ("Ashby", "10"),
        ("calder / abbey school", "2001"),
        ("2001", "2001"),
        ("Academy", "Academy"),
    ],
)
def test_a_place_has_its_own_name_where_that_tells_it(place: str, geoid: str) -> None:
    assert geoid_called(place, NAMES) == geoid


def test_a_name_of_several_places_names_them_all() -> None:
    said = "1002 (Ashby / Abbey School), 2001 (Calder / Abbey School); give a geoid"
    with pytest.raises(ConfigError, match=re.escape(said)):
        geoid_called("Abbey School", NAMES)
