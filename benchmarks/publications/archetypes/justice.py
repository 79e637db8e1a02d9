"""Police, courts and prisons."""

from __future__ import annotations

from typing import Final

from ..drawing import Archetype, Places, sheet
from ..layout import (
    Format,
    Law,
    Table,
    axis,
    crossed,
    everybody,
    joined,
    only,
    other,
    shares,
    under,
    with_shares,
)
from ..people import Dimension, forest

_OFFENCES: Final = forest(
    "Violent crime[Murder and nonnegligent manslaughter|Rape|Robbery|Aggravated assault]|Property crime[Burglary|Larceny-theft|Motor vehicle theft|Arson]|Other assaults|Fraud|Vandalism|Weapons; carrying, possessing, etc.|Drug abuse violations"
)
_SEX: Final = Dimension("Sex", forest("Male|Female"), "Total")
_AGES: Final = Dimension(
    "Age",
    forest("Under 18[Under 10|10-12|13-14|15|16|17]|18 and over[18-20|21-24|25-34|35 and over]"),
    "Total all ages",
)
JUSTICE: Final = (
    Archetype(
        "fbi arrests by race",
        "FBI, Crime in the United States, Table 43: Arrests by Race and Ethnicity",
        "justice",
        (
            Dimension("Offense", _OFFENCES, "TOTAL"),
            Dimension(
                "Race",
                forest(
                    "White|Black or African American|American Indian or Alaska Native|Asian|Native Hawaiian or Other Pacific Islander"
                ),
            ),
        ),
        sheet(
            "17tbl43",
            Table(
                axis("Offense"),
                joined(
                    under(axis("Race"), "Total arrests"),
                    shares(under(axis("Race"), "Percent distribution1")),
                ),
                ("Offense charged",),
                titles=(
                    "Table 43A",
                    "Arrests",
                    "by Race and Ethnicity, 2017",
                    "[13,033 agencies; 2017 estimated population 255,108,557]",
                ),
                notes=("1 Because of rounding, the percentages may not add to 100.0.",),
                label_marks=("2", "3"),
            ),
        ),
        people=90000,
        look=Format(files=("xlsx", "ods")),
    ),
    Archetype(
        "fbi arrests by age",
        "FBI, Crime in the United States, Table 38: Arrests by Age",
        "justice",
        (Dimension("Offense", _OFFENCES, "TOTAL"), _AGES),
        sheet(
            "Table 38",
            Table(
                axis("Offense"),
                joined(
                    only("Age", "Under 18", "18 and over"), axis("Age", total="first", depth=(1, 1))
                ),
                ("Offense charged",),
                titles=("Table 38", "Arrests", "by Age, 2017"),
            ),
        ),
        people=60000,
        look=Format(files=("xlsx", "csv"), thousands=","),
    ),
    Archetype(
        "fbi police employees",
        "FBI, Crime in the United States, Table 77: Full-time Law Enforcement Employees by State",
        "justice",
        (_SEX, Dimension("Kind", forest("Officers|Civilians"), "Total law enforcement employees")),
        sheet(
            "17tbl77",
            Table(
                axis("State", total="no"),
                joined(
                    axis("Kind"),
                    crossed(axis("Kind", total="no"), axis("Sex", total="no")),
                    other("Number of agencies", "population"),
                    other("2017 estimated population", "population"),
                ),
                ("State",),
                titles=("Table 77", "Full-time Law Enforcement Employees", "by State, 2017"),
            ),
        ),
        Places("State", "states", down=(8, 20), total=None),
        people=9000,
    ),
    Archetype(
        "fbi offenses by region",
        "FBI, Crime in the United States, Table 4: Crime by Region, Geographic Division and State",
        "justice",
        (
            Dimension("Offense", _OFFENCES[:2], None),
            Dimension("Year", forest("2016|2017"), None, spread=60),
        ),
        sheet(
            "17tbl04",
            Table(
                crossed(axis("Area", style="indent"), axis("Year", total="no")),
                joined(
                    other("Population", "population"),
                    with_shares(axis("Offense"), ("Number", "Rate per 100,000"), kind="rate"),
                ),
                ("Area", "Year"),
                once=True,
                titles=("Table 4", "Crime in the United States", "by Region, 2016-2017"),
            ),
        ),
        Places(
            "Area",
            "states",
            "us",
            (3, 4),
            (3, 5),
            total="United States Total",
            up_label="{} Region",
        ),
        people=4000,
    ),
    Archetype(
        "moj convictions",
        "Ministry of Justice, Criminal Justice System Statistics Quarterly: Outcomes by Offence",
        "justice",
        (
            Dimension(
                "Offence group",
                forest(
                    "01: Violence against the person|02: Sexual offences|03: Robbery|04: Theft offences|06: Drug offences|10: Fraud offences"
                ),
                "All offences",
            ),
            Dimension("Sex", forest("01: Male|02: Female|03: Not known"), "All"),
            Dimension("Age group", forest("10 to 17|18 to 24|25 to 49|50 and over"), "All ages"),
        ),
        sheet(
            "Table",
            Table(
                crossed(
                    axis("Police Force Area", total="no"),
                    axis("Offence group", total="no"),
                    axis("Sex", total="no"),
                    axis("Age group", total="no"),
                ),
                joined(everybody("Convicted"), other("Average custodial sentence", "mean")),
                ("Police Force Area", "Offence group", "Sex", "Age group"),
                absent=True,
            ),
        ),
        Places("Police Force Area", "en", down=(5, 9), total=None),
        people=400,
        look=Format(files=("csv",)),
    ),
    Archetype(
        "moj offender custody",
        "Ministry of Justice, Offender Management Statistics: Prison population by religion",
        "religion",
        (
            Dimension(
                "Religion",
                forest(
                    "Christian[Anglican|Roman Catholic|Orthodox|Other Christian]|Muslim|Hindu|Sikh|Jewish|No religion[Agnostic|Atheist|No religion given]|Not recorded"
                ),
                "Total",
            ),
            _SEX,
        ),
        sheet(
            "Table 1.5",
            Table(
                axis("Religion", style="spaces", total="first"),
                axis("Sex"),
                ("Religion",),
                titles=("Table 1.5: Prison population by religion and sex", "England and Wales"),
                notes=("Data Sources and Quality: large administrative systems.",),
                label_marks=(" (1)", " (2)"),
            ),
        ),
        people=80000,
        look=Format(files=("ods", "xlsx", "csv"), thousands=","),
    ),
    Archetype(
        "pks tatverdaechtige",
        "Bundeskriminalamt, Polizeiliche Kriminalstatistik, Tabelle 20: Tatverdächtige",
        "justice",
        (
            Dimension(
                "Straftat",
                forest(
                    "010000=Mord § 211 StGB|210000=Raub|220000=Körperverletzung|*00000=Diebstahl insgesamt|510000=Betrug|730000=Rauschgiftdelikte"
                ),
                "Straftaten insgesamt",
                total_code="------",
            ),
            Dimension("Geschlecht", forest("männlich|weiblich"), "insgesamt"),
            Dimension(
                "Alter",
                forest("bis unter 14|14 bis unter 18|18 bis unter 21|21 und älter"),
                "insgesamt",
            ),
        ),
        sheet(
            "T20",
            Table(
                axis("Straftat", codes="before"),
                joined(
                    under(axis("Geschlecht"), "Tatverdächtige"),
                    under(axis("Alter", total="no"), "davon im Alter von ... Jahren"),
                ),
                ("Schlüssel", "Straftat"),
                titles=("Tatverdächtige nach Alter und Geschlecht", "Berichtszeitraum: 2022"),
                numbered=True,
            ),
        ),
        people=50000,
        look=Format(files=("xlsx", "csv"), thousands=".", separator=";", encoding="utf-8-sig"),
    ),
    Archetype(
        "kos slachtoffers",
        "CBS StatLine, Geregistreerde verdachten; geslacht, leeftijd en regio",
        "justice",
        (
            Dimension("Geslacht", forest("Mannen|Vrouwen"), "Totaal mannen en vrouwen"),
            Dimension(
                "Leeftijd",
                forest("12 tot 18 jaar|18 tot 25 jaar|25 tot 45 jaar|45 jaar of ouder"),
                "Totaal",
            ),
        ),
        sheet(
            "Data",
            Table(
                crossed(axis("Geslacht"), axis("Leeftijd"), axis("Regio's", total="no")),
                joined(
                    everybody("Geregistreerde verdachten (aantal)"),
                    other("Verdachten relatief (per 10 000 inwoners)", "rate", decimals=0),
                ),
                ("Geslacht", "Leeftijd", "Regio's"),
            ),
        ),
        Places("Regio's", "nl", down=(6, 12), total=None),
        people=400,
        look=Format(files=("csv",), separator=";", encoding="utf-8-sig"),
    ),
    Archetype(
        "scotland homicide",
        "Scottish Government, Criminal Proceedings in Scotland, Table 9: by main charge, sex and age",
        "justice",
        (
            Dimension(
                "Main charge",
                forest(
                    "Violence[Homicide|Assault|Robbery]|Dishonesty[Housebreaking|Shoplifting|Fraud]|Motor vehicle offences"
                ),
                "All crimes and offences",
            ),
            Dimension("Sex", forest("Males|Females"), "All"),
            Dimension("Age", forest("Under 21|21-30|31-40|Over 40"), "All ages"),
        ),
        sheet(
            "Table 9",
            Table(
                axis("Main charge", style="bold"),
                crossed(axis("Sex"), axis("Age")),
                ("Main charge",),
                titles=("Table 9: People convicted by main charge, sex and age",),
                spacer=True,
                below=True,
                gap=(False, True),
            ),
        ),
        people=40000,
        look=Format(files=("xlsx", "ods"), zero="-"),
        laws=(Law(), Law(below=5, mark="*", further=True, note="* Figures have been suppressed.")),
    ),
)
