"""Codes beside names in a file with a row a count: words name what is shown, codes the places."""

from __future__ import annotations

from pathlib import Path

import pytest

from recon_cli.capabilities.init.recognition import recognise
from recon_cli.sources import FileMapping
from recon_cli.sources.read.choices import Choices
from tests.support.command_line import recon

DEPARTMENTS = {"75": "Paris", "13": "Bouches-du-Rhône", "69": "Rhône", "33": "Gironde"}
SPECIALTIES = {"A1": "Chirurgie", "B2": "Médecine", "C3": "Obstétrique"}


@pytest.fixture
def stays(tmp_path: Path) -> Path:
    rows = ["code_dep;departement;code_spec;specialite;sexe;nombre"]
    for one, (code, name) in enumerate(DEPARTMENTS.items()):
        for two, (short, what) in enumerate(SPECIALTIES.items()):
            women, men = 7 + one * 5 + two * 2, 9 + one * two
            for sex, count in (("Femmes", women), ("Hommes", men), ("Ensemble", women + men)):
                rows.append(f"{code};{name};{short};{what};{sex};{count}")
    path = tmp_path / "stays.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.mark.parametrize("said", [None, "departement", "code_dep"])
def test_words_are_read_and_codes_are_geoids(stays: Path, said: str | None) -> None:
    found = recognise(
        [stays], said=FileMapping(place=said), choices=Choices(place=said), release=None
    )
    features = {each.name: set(each.values) for each in found.schema.features}
    assert features == {
        "specialite": {"chirurgie", "medecine", "obstetrique"},
        "sexe": {"femmes", "hommes"},
    }
    geoids = found.mapping.get("geoids", {code: code for code in DEPARTMENTS})
    assert isinstance(geoids, dict)
    assert set(geoids.values()) == set(DEPARTMENTS)


def test_a_place_is_shown_by_its_name(stays: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(stays.parent)
    recon("init", "stays.csv", "--place", "departement")
    recon("run", "--until", "reconstruct")
    assert recon("show", "Paris").stdout.startswith("departement 75 (Paris)")
