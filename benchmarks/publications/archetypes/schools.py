"""Schools, their pupils, and universities."""

from __future__ import annotations

from typing import Final

from ..drawing import Archetype, Places, sheet
from ..layout import EXACT, Format, Law, Table, axis, crossed, joined, other, under, with_shares
from ..people import Dimension, forest

_SEX: Final = Dimension("Sex", forest("Girls|Boys"), "All pupils")
_YEARS: Final = Dimension(
    "Year group", forest("Year 7|Year 8|Year 9|Year 10|Year 11"), "All pupils"
)
_STARS: Final = (
    EXACT,
    Law(below=5, mark="c", note="c Suppressed"),
    Law(below=6, mark="x", further=True),
)
SCHOOLS: Final = (
    Archetype(
        "dfe school census",
        "Department for Education, Schools, pupils and their characteristics: school level data",
        "schools",
        (
            _SEX,
            Dimension(
                "FSM", forest("known to be eligible for free school meals"), "pupils", whole=False
            ),
        ),
        sheet(
            "data",
            Table(
                axis("School", style="parent", codes="before", own="All schools"),
                joined(axis("Sex"), axis("FSM", total="no"), other("Pupil teacher ratio", "mean")),
                ("LA name", "URN", "School name"),
            ),
        ),
        Places(
            "School",
            "saints",
            up=(3, 4),
            down=(3, 6),
            code="10{p}{n:03d}",
            up_code="8{p:02d}",
            total=None,
            alike=True,
        ),
        people=200,
        laws=_STARS,
    ),
    Archetype(
        "dfe ethnicity",
        "Department for Education, National tables: Pupils by ethnic group and local authority",
        "schools",
        (
            Dimension(
                "Ethnic group",
                forest(
                    "White[White British|Irish|Any other White]|Mixed|Asian[Indian|Pakistani]|Black"
                ),
                "All pupils",
            ),
        ),
        sheet(
            "Table 5",
            Table(
                axis("Local authority", style="heading", own="Total {}", codes="before"),
                joined(axis("Ethnic group")),
                ("LA code", "Region and local authority"),
                titles=(
                    "Table 5: Number of pupils by ethnic group",
                    "State-funded secondary schools, January 2023",
                ),
                notes=("Source: School Census",),
                label_marks=(" (1)", " (2)"),
                spacer=True,
            ),
        ),
        Places(
            "Local authority",
            "en",
            up=(3, 4),
            down=(3, 5),
            code="3{p}{n}",
            total="England",
            up_label="{} East",
        ),
        laws=(*_STARS, Law(base=5, note="Figures are rounded to the nearest 5.")),
    ),
    Archetype(
        "welsh pupils",
        "StatsWales, PLASC: Pupils by local authority, year group and sex",
        "schools",
        (_YEARS, _SEX),
        sheet(
            "Export",
            Table(
                axis("Authority", total="last"),
                crossed(axis("Year group"), axis("Sex", total="no")),
                ("",),
                titles=("Pupils by local authority, year group and sex",),
                below=True,
                notes=("Metadata", "Welsh Government"),
            ),
        ),
        Places("Authority", "en", down=(6, 14), total="Wales"),
        people=500,
        laws=(Law(base=5), EXACT),
        look=Format(files=("csv", "xlsx", "ods")),
    ),
    Archetype(
        "nisra religion schools",
        "Department of Education Northern Ireland, Enrolments at schools by religion of pupil",
        "religion",
        (
            Dimension(
                "Religion",
                forest("Protestant|Catholic|Other Christian|Non-Christian|No religion"),
                "Total pupils",
            ),
        ),
        sheet(
            "School level",
            Table(
                axis("School", total="no", codes="before"),
                joined(axis("Religion", total="last"), other("Postcode area", "code")),
                ("De ref", "School name"),
                titles=(
                    "School enrolments by religion 2022/23",
                    "* fewer than 5 pupils; # figure withheld under rules of disclosure",
                ),
            ),
        ),
        Places("School", "saints", down=(8, 18), code="12{n:04d}", total=None),
        people=150,
        laws=(Law(below=5, mark="*", further=True), Law(below=5, mark="#")),
    ),
    Archetype(
        "schulstatistik",
        "Statistisches Bundesamt, Fachserie 11 Reihe 1: Schüler nach Schularten und Staatsangehörigkeit",
        "schools",
        (
            Dimension(
                "Schulart", forest("Grundschulen|Hauptschulen|Realschulen|Gymnasien"), "Insgesamt"
            ),
            Dimension("Geschlecht", forest("männlich|weiblich"), "Zusammen"),
            Dimension("Staat", forest("Ausländer/-innen{Türkei|Polen}"), "Insgesamt", whole=False),
        ),
        sheet(
            "3.1",
            Table(
                axis("Land", total="last"),
                joined(
                    under(axis("Geschlecht"), "Insgesamt"),
                    under(axis("Staat", total="no"), "darunter"),
                    under(axis("Schulart", total="no"), "davon"),
                ),
                ("Land",),
                titles=(
                    "3.1 Schüler/-innen nach Ländern, Schularten und Staatsangehörigkeit",
                    "Schuljahr 2022/23",
                ),
                units=("Anzahl", "Prozent"),
                notes=("_____", "1) Ohne Förderschulen."),
                label_marks=(" 1)",),
            ),
        ),
        Places("Land", "laender", down=(7, 13), total="Deutschland"),
        people=700,
        laws=(EXACT, Law(base=5, note="Aus Datenschutzgründen auf Fünf gerundet.")),
        look=Format(files=("xlsx", "csv"), separator=";", zero="–"),
    ),
    Archetype(
        "depp rentree",
        "DEPP, Repères et références statistiques: effectifs d'élèves par académie",
        "schools",
        (
            Dimension("Secteur", forest("Public|Privé"), "Ensemble"),
            Dimension("Niveau", forest("Sixième|Cinquième|Quatrième|Troisième"), "Total"),
        ),
        sheet(
            "4.1",
            Table(
                axis("Académie", total="last"),
                joined(
                    crossed(axis("Secteur", total="last"), axis("Niveau", total="last")),
                    other("Part du privé (%)", "rate"),
                ),
                ("Académie",),
                titles=("Effectifs d'élèves du premier cycle à la rentrée 2022",),
                notes=("Champ : France métropolitaine + DROM", "Source : MENJ-DEPP"),
            ),
        ),
        Places("Académie", "fr", down=(7, 16), total="France"),
        people=900,
        look=Format(
            files=("xlsx", "csv"), thousands="\xa0", separator=";", encoding="utf-8-sig", comma=True
        ),
    ),
    Archetype(
        "ipeds enrollment",
        "NCES, IPEDS Fall Enrollment: students by race/ethnicity and gender, complete data file",
        "schools",
        (
            Dimension(
                "Race", forest("White|Black|Hispanic|Asian|Two or more|Unknown"), "Grand total"
            ),
            Dimension("Gender", forest("men|women"), "total"),
        ),
        sheet(
            "ef2022a",
            Table(
                axis("Institution", total="no", codes="before"),
                crossed(axis("Race"), axis("Gender")),
                ("unitid", "institution name"),
                together=" ",
            ),
        ),
        Places(
            "Institution",
            "us",
            down=(8, 20),
            code="1007{n:02d}",
            label="{} State College",
            total=None,
        ),
        people=900,
        look=Format(files=("csv",)),
    ),
    Archetype(
        "crdc discipline",
        "US Department of Education, Civil Rights Data Collection: discipline by state, race and sex",
        "schools",
        (
            Dimension("Race", forest("Hispanic|White|Black|Asian"), "Total students"),
            Dimension("IDEA", forest("Students With Disabilities"), "All", whole=False),
        ),
        sheet(
            "Total",
            Table(
                axis("State"),
                joined(
                    with_shares(axis("Race"), ("Number", "Percent"), skip_first=True),
                    with_shares(axis("IDEA", total="no"), ("Number", "Percent")),
                    other("Number of Schools", "population"),
                    other("Percent of Schools Reporting", "rate"),
                ),
                ("State",),
                titles=(
                    "Number and percentage of public school students receiving in-school suspensions",
                ),
                notes=("SOURCE: U.S. Department of Education, Office for Civil Rights.",),
            ),
        ),
        Places("State", "states", down=(8, 18), total="United States"),
        people=2000,
        laws=(EXACT, Law(below=4, mark="1-3"), Law(below=4, mark="‡")),
        look=Format(files=("xlsx", "csv"), thousands=","),
    ),
    Archetype(
        "hesa students",
        "HESA, Higher Education Student Statistics, Table 1: students by provider, level and sex",
        "schools",
        (
            Dimension(
                "Level",
                forest(
                    "Postgraduate[research|taught]|Undergraduate[First degree|Other undergraduate]"
                ),
                "Total all students",
            ),
            Dimension("Sex", forest("Female|Male|Other"), "Total"),
        ),
        sheet(
            "Table 1",
            Table(
                axis("Provider", style="parent", own="Total"),
                joined(axis("Level", total="last"), under(axis("Sex", total="no"), "Sex")),
                ("Region of provider", "HE provider"),
                titles=("Table 1 - HE student enrolments by HE provider", "Academic year 2021/22"),
                once=True,
            ),
        ),
        Places(
            "Provider",
            "en",
            up=(3, 4),
            down=(2, 5),
            label="University of {}",
            up_label="{} Region",
            total="Total UK",
        ),
        people=900,
        laws=(Law(base=5, note="Rounded to the nearest multiple of 5."),),
        look=Format(files=("xlsx", "csv")),
    ),
    Archetype(
        "skolverket",
        "Skolverket, Elever i grundskolan läsåret 2022/23: elever efter kommun och årskurs",
        "schools",
        (
            Dimension("Årskurs", forest("1|2|3|4|5|6|7|8|9"), "Samtliga"),
            Dimension("Kön", forest("Flickor|Pojkar"), None),
        ),
        sheet(
            "Tabell 3",
            Table(
                axis("Kommun", total="first", codes="before"),
                joined(
                    under(axis("Årskurs"), "Antal elever i årskurs"),
                    other("Antal lärare", "population"),
                    under(axis("Kön", total="no"), "därav"),
                ),
                ("Kommunkod", "Kommun"),
                titles=("Tabell 3: Elever i grundskolan",),
            ),
        ),
        Places("Kommun", "no", down=(7, 16), code="01{n:02d}", total="Riket", total_code="00"),
        people=300,
        laws=(EXACT, Law(below=5, mark="..")),
        look=Format(files=("xlsx", "csv"), thousands=" ", separator=";"),
    ),
)
