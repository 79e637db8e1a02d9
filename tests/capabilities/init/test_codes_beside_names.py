"""Codes beside names in a file with a row per count: words name what is shown, codes the places."""

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


def test_places_of_groups_whose_totals_are_called_alike(tmp_path: Path) -> None:
    """No column names a row alone: of each academy the total has the same name, and no code."""
    rows = ["code;academie;uai;etablissement;sexe;statut;nombre"]
    schools = {
        ("08", "Besançon"): {"0250011A": "Jouffroy", "0250012B": "Le Corbusier"},
        ("10", "Lyon"): {"0690021C": "Garnier", "0690022D": "Béjuit", "0690023E": "Pardé"},
    }
    for (code, academy), own in schools.items():
        counts = {
            (uai, sex, status): 20 + 7 * i + 3 * j + 2 * k
            for i, uai in enumerate(own)
            for j, sex in enumerate("GF")
            for k, status in enumerate("SA")
        }
        for uai, name in {"": "Ensemble", **own}.items():
            for sex in "GFT":
                for status in "SAT":
                    count = sum(
                        number
                        for (at, *kind), number in counts.items()
                        if uai in {"", at}
                        and all(a in {"T", b} for a, b in zip((sex, status), kind, strict=True))
                    )
                    rows.append(f"{code};{academy};{uai};{name};{sex};{status};{count}")
    path = tmp_path / "eleves.csv"
    path.write_text("\n".join(rows) + "\n")
    found = recognise([path], choices=Choices(place="etablissement", count=("nombre",)))
    assert not found.questions
    assert {each.name: len(each.values) for each in found.schema.features} == {
        "sexe": 2,
        "statut": 2,
    }
    geoids = found.mapping["geoids"]
    assert isinstance(geoids, dict)
    assert geoids["Lyon / Garnier"].startswith(geoids["Lyon / Ensemble"])
    assert found.mapping["parent"] == ["academie"]


def test_codes_of_totals_are_letters_among_numbers(tmp_path: Path) -> None:
    """Code columns that repeat the words beside them are no counts, `T` among 1 and 2 included."""
    rows = ["academie;etablissement;code_diplome;diplome;code_statut;statut;effectif"]
    number = 5
    for region, schools in {"Nord": ("LP Hugo", "LP Zola"), "Sud": ("CFA Ain", "LP Foch")}.items():
        for school in schools:
            for code, diploma in (("1", "CAP"), ("2", "BTS"), ("T", "Ensemble")):
                number = number * 7 % 31 + 6
                counts = {"S": number, "A": 2 * number + 1, "T": 3 * number + 1}
                words = {"S": "Scolaire", "A": "Apprentissage", "T": "Ensemble"}
                counts = {key: 0 if diploma == "Ensemble" else n for key, n in counts.items()}
                rows += [
                    f"{region};{school};{code};{diploma};{status};{words[status]};{count}"
                    for status, count in counts.items()
                ]
    path = tmp_path / "eleves.csv"
    path.write_text("\n".join(_with_sums(rows)) + "\n")
    found = recognise([path])
    assert not found.questions
    assert not found.left_out
    assert {each.name: set(each.values) for each in found.schema.features} == {
        "diplome": {"cap", "bts"},
        "statut": {"scolaire", "apprentissage"},
    }


def _with_sums(rows: list[str]) -> list[str]:
    """Return rows in which those of all diplomas are the sums of the two above."""
    cells = [row.split(";") for row in rows]
    for i, row in enumerate(cells):
        if row[3] == "Ensemble":
            row[-1] = str(sum(int(cells[i - back][-1]) for back in (3, 6)))
    return [";".join(row) for row in cells]


LEVELS = """level,region_code,region_name,la_code,old_code,la_name,sex,number
National,,,,,,Total,90
National,,,,,,Boys,51
National,,,,,,Girls,39
Regional,E12A,North,,,,Total,50
Regional,E12A,North,,,,Boys,c
Regional,E12A,North,,,,Girls,c
Local,E12A,North,E061,840,Durham,Total,32
Local,E12A,North,E061,840,Durham,Boys,20
Local,E12A,North,E061,840,Durham,Girls,12
Local,E12A,North,E062,841,Tees,Total,18
Local,E12A,North,E062,841,Tees,Boys,11
Local,E12A,North,E062,841,Tees,Girls,7
Regional,E12B,South,,,,Total,40
Regional,E12B,South,,,,Boys,20
Regional,E12B,South,,,,Girls,20
Local,E12B,South,E063,842,Bath,Total,22
Local,E12B,South,E063,842,Bath,Boys,9
Local,E12B,South,E063,842,Bath,Girls,13
Local,E12B,South,E064,843,Avon,Total,18
Local,E12B,South,E064,843,Avon,Boys,11
Local,E12B,South,E064,843,Avon,Girls,7
"""


def test_rows_without_a_place_are_of_all_places(tmp_path: Path) -> None:
    """Names, and not codes, are shown; the rows of the nation are no place beside the regions."""
    path = tmp_path / "levels.csv"
    path.write_text(LEVELS)
    found = recognise([path])
    assert not found.questions
    assert not found.left_out
    geoids = found.mapping["geoids"]
    assert isinstance(geoids, dict)
    assert geoids["(blank)"] == "A"
    assert {geoids[f"North / {name}"] for name in ("Durham", "Tees")} == {"A11", "A12"}


def test_names_of_rows_are_words_and_not_codes(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text("Code,Hospital,All,Men,Women\nRP6,Moorfields,40,21,19\nRX1,Elm,31,14,17\n")
    assert recognise([path]).mapping["geoids"] == {"Moorfields": "RP6", "Elm": "RX1"}
