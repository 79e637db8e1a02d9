"""Work, pay and benefits."""

from __future__ import annotations

from typing import Final

from ..drawing import Archetype, Places, sheet
from ..layout import EXACT, Format, Law, Table, axis, crossed, everybody, joined, other, under
from ..people import Dimension, forest

_SEX: Final = Dimension("Sex", forest("Males|Females"), "Persons")
LABOUR: Final = (
    Archetype(
        "nomis claimants",
        "Nomis, Claimant Count by sex and age, query by local authority",
        "labour",
        (
            _SEX,
            Dimension("Age", forest("Aged 16-24|Aged 25-49|Aged 50+"), "All categories: Age 16+"),
        ),
        sheet(
            "Data",
            Table(
                axis("Area", codes="after"),
                crossed(axis("Age"), axis("Sex", relabel={"Persons": "Total"})),
                ("Area", "mnemonic"),
                titles=(
                    "Claimant count by sex and age",
                    "ONS Crown Copyright Reserved [from Nomis on 12 June 2023]",
                    "date : May 2023",
                ),
                together=" - ",
                notes=("Figures are rounded to the nearest 5.",),
            ),
        ),
        Places(
            "Area",
            "en",
            down=(7, 16),
            code="E0700{n:04d}",
            total="Great Britain",
            total_code="K03000001",
        ),
        people=300,
        laws=(Law(base=5),),
        look=Format(files=("csv", "xlsx")),
    ),
    Archetype(
        "eeo1",
        "US EEOC, EEO-1 report: job patterns for women and minorities by job category",
        "labour",
        (
            Dimension(
                "Job",
                forest(
                    "Senior Officials|Professionals|Technicians|Sales Workers|Craft Workers|Laborers|Service Workers"
                ),
                "TOTAL",
            ),
            Dimension("Sex", forest("MEN|WOMEN"), "ALL EMPLOYEES"),
            Dimension("Race", forest("White|Black|Hispanic|Asian"), "TOTAL"),
        ),
        sheet(
            "EEO1",
            Table(
                axis("Job", total="last"),
                joined(axis("Sex"), crossed(axis("Sex", total="no"), axis("Race", total="no"))),
                ("JOB CATEGORIES",),
                titles=(
                    "2021 JOB PATTERNS FOR MINORITIES AND WOMEN IN PRIVATE INDUSTRY",
                    "NATIONAL AGGREGATE",
                ),
            ),
        ),
        people=60000,
        laws=(EXACT, Law(below=10, mark="(D)")),
        look=Format(files=("xlsx", "csv"), thousands=","),
    ),
    Archetype(
        "arbeitsagentur",
        "Bundesagentur für Arbeit, Arbeitslose nach Kreisen: Bestand und Strukturmerkmale",
        "labour",
        (
            Dimension("Geschlecht", forest("Männer|Frauen"), "Insgesamt"),
            Dimension(
                "Merkmal",
                forest("15 bis unter 25 Jahre{15 bis unter 20 Jahre}|55 Jahre und älter"),
                "Insgesamt",
                whole=False,
            ),
            Dimension("Schwer", forest("Schwerbehinderte"), "Insgesamt", whole=False),
        ),
        sheet(
            "Arbeitslose",
            Table(
                axis("Region", style="indent", codes="before"),
                joined(
                    axis("Geschlecht"),
                    under(
                        joined(axis("Merkmal", total="no"), axis("Schwer", total="no")), "darunter"
                    ),
                    other("Arbeitslosenquote", "rate"),
                ),
                ("Schlüssel", "Region"),
                titles=("Bestand an Arbeitslosen", "Berichtsmonat: Juni 2023"),
                numbered=True,
            ),
        ),
        Places(
            "Region",
            "de",
            up=(3, 4),
            down=(3, 5),
            code="0{p}{n:03d}",
            up_code="0{p}",
            total="Deutschland",
            total_code="D",
            up_label="Bezirk {}",
        ),
        people=500,
        laws=(
            Law(
                below=3,
                mark="*",
                further=True,
                note="*) Zahlenwerte kleiner 3 werden anonymisiert.",
            ),
        ),
        look=Format(files=("xlsx",), zero="-"),
    ),
    Archetype(
        "county business patterns",
        "US Census Bureau, County Business Patterns: employees by county and industry",
        "labour",
        (
            Dimension(
                "naics",
                forest(
                    "11----=Agriculture|31----=Manufacturing|44----=Retail Trade|72----=Accommodation"
                ),
                "Total for all sectors",
                total_code="------",
            ),
        ),
        sheet(
            "cbp",
            Table(
                crossed(axis("County", total="no", codes="only"), axis("naics", codes="only")),
                joined(other("empflag", "flag"), everybody("emp")),
                ("fips", "naics"),
            ),
        ),
        Places("County", "us", down=(6, 14), code="9700{n:02d}", total=None),
        people=200,
        laws=(Law(below=20, mark="0", flag="A"),),
        look=Format(files=("csv",)),
    ),
    Archetype(
        "insee emploi",
        "INSEE, Recensement: population active par sexe, âge et commune, EMP T2",
        "labour",
        (
            Dimension("Sexe", forest("1=Hommes|2=Femmes"), "Ensemble"),
            Dimension("Catégorie", forest("Agriculteurs|Cadres|Employés|Ouvriers"), "Ensemble"),
        ),
        sheet(
            "COM",
            Table(
                axis("Commune", total="no", codes="before"),
                crossed(axis("Catégorie", total="no"), axis("Sexe", total="no")),
                ("CODGEO", "LIBGEO"),
                titles=(
                    "Actifs occupés par sexe et catégorie",
                    "Mise en ligne le 27/06/2023 Géographie au 01/01/2023",
                    "©Insee Source : RP2020",
                ),
                together=", ",
            ),
        ),
        Places("Commune", "fr", down=(8, 20), code="010{n:02d}", total=None),
        people=120,
        look=Format(files=("xlsx", "ods")),
    ),
    Archetype(
        "istat occupati",
        "ISTAT, I.Stat: occupati per regione, sesso e posizione, esportazione",
        "labour",
        (
            Dimension("Sesso", forest("maschi|femmine"), "totale"),
            Dimension("Posizione", forest("dipendenti|indipendenti"), "totale"),
        ),
        sheet(
            "DCCV",
            Table(
                crossed(axis("Territorio", total="first"), axis("Sesso"), axis("Posizione")),
                everybody("Value"),
                ("Territorio", "Sesso", "Posizione professionale"),
            ),
        ),
        Places("Territorio", "it", down=(6, 12), total="Italia"),
        people=900,
        look=Format(files=("csv",), separator="|"),
    ),
    Archetype(
        "ine paro",
        "INE/SEPE, Demandantes de empleo y paro registrado por municipios",
        "labour",
        (
            Dimension("Sexo", forest("Hombres|Mujeres"), "TOTAL"),
            Dimension("Edad", forest("<25|25-44|45 y más"), "Total"),
            Dimension("Sector", forest("Agricultura|Industria|Construcción|Servicios"), None),
        ),
        sheet(
            "Paro",
            Table(
                axis("Municipio", total="last"),
                joined(
                    everybody("TOTAL"),
                    crossed(axis("Sexo", total="no"), axis("Edad", total="no")),
                    under(axis("Sector", total="no"), "SECTORES"),
                ),
                ("MUNICIPIOS",),
                titles=("PARO REGISTRADO", "SEXO, EDAD Y SECTOR"),
            ),
        ),
        Places("Municipio", "es", down=(8, 18), total="TOTAL"),
        people=150,
        laws=(EXACT, Law(below=5, mark="<5")),
        look=Format(files=("xlsx", "csv"), separator=";", encoding="latin-1"),
    ),
    Archetype(
        "abs tablebuilder",
        "Australian Bureau of Statistics, TableBuilder: labour force status by SA2 and sex",
        "labour",
        (
            _SEX,
            Dimension(
                "LFSP",
                forest(
                    "Employed, worked full-time|Employed, worked part-time|Unemployed|Not in the labour force"
                ),
                "Total",
            ),
        ),
        sheet(
            "Data Sheet 0",
            Table(
                axis("SA2", total="last"),
                crossed(
                    axis("Sex", total="last", relabel={"Persons": "Total"}),
                    axis("LFSP", total="last"),
                ),
                ("SA2",),
                titles=(
                    "Australian Bureau of Statistics",
                    "2021 Census - employment, income and education",
                    "Counting: Persons Place of Usual Residence",
                ),
                notes=("Dataset: 2021 Census", "Copyright Commonwealth of Australia"),
                below=True,
                label_marks=(),
            ),
        ),
        Places("SA2", "en", down=(6, 14), total="Total"),
        people=400,
        laws=(
            Law(
                base=3,
                random=True,
                note="Cells have been randomly adjusted to avoid the release of confidential data.",
            ),
        ),
        look=Format(files=("xlsx", "csv")),
    ),
)
