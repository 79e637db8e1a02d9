"""Deaths, disease, hospitals and treatment."""

from __future__ import annotations

from typing import Final

from ..drawing import Archetype, Places, sheet
from ..layout import (
    EXACT,
    Format,
    Law,
    Table,
    axis,
    crossed,
    everybody,
    headed,
    joined,
    other,
    under,
    with_shares,
)
from ..people import Dimension, forest

_SEX: Final = Dimension("Sex", forest("Male|Female"), "Total")
HEALTH: Final = (
    Archetype(
        "cdc wonder",
        "CDC WONDER, Underlying Cause of Death, export by county, gender and race",
        "health",
        (
            Dimension("Gender", forest("F=Female|M=Male"), None),
            Dimension(
                "Race", forest("2106-3=White|2054-5=Black or African American|A=Asian"), None
            ),
        ),
        sheet(
            "Underlying Cause of Death",
            Table(
                crossed(
                    axis("County", total="no", codes="after"),
                    axis("Gender", total="no", codes="after"),
                    axis("Race", total="no", codes="after"),
                ),
                joined(
                    everybody("Deaths"),
                    other("Population", "population"),
                    other("Crude Rate", "rate"),
                ),
                ("County", "County Code", "Gender", "Gender Code", "Race", "Race Code"),
                absent=True,
                notes=(
                    "---",
                    "Dataset: Underlying Cause of Death, 2018-2021, Single Race",
                    "Suggested Citation: Centers for Disease Control and Prevention.",
                ),
            ),
        ),
        Places(
            "County", "us", down=(6, 14), code="{p:02d}{n:03d}", label="{} County, AL", total=None
        ),
        people=140,
        laws=(Law(below=10, mark="Suppressed", zeros=True),),
        look=Format(files=("csv",), separator="\t"),
    ),
    Archetype(
        "ons deaths by area",
        "ONS, Deaths registered by area of usual residence, England and Wales, Table 1a",
        "health",
        (_SEX,),
        sheet(
            "1a",
            Table(
                axis("Area", codes="before"),
                joined(
                    under(axis("Sex"), "Number of deaths"),
                    other("Age-standardised mortality rate", "rate"),
                    other("Population", "population"),
                ),
                ("Area code", "Area of usual residence"),
                titles=(
                    "Table 1a: Deaths by area of usual residence",
                    "This worksheet contains one table.",
                ),
                together=" ",
            ),
        ),
        Places(
            "Area",
            "en",
            up=(3, 4),
            down=(3, 6),
            code="E07{p:03d}{n:03d}",
            up_code="E12{p:06d}",
            total="England and Wales",
            total_code="K04000001",
            up_label="{} Region",
        ),
        people=900,
    ),
    Archetype(
        "nhs outpatients",
        "NHS Digital, Maternity Services Monthly Statistics, provider data file",
        "health",
        (Dimension("Measure", forest("Under 20|20 to 24|25 to 29|30 to 34|35 and over"), None),),
        sheet(
            "data",
            Table(
                crossed(axis("Org", total="no", codes="before"), axis("Measure", total="no")),
                everybody("Final_value"),
                ("Org_Code", "Org_Name", "Measure"),
            ),
        ),
        Places("Org", "hospitals", down=(8, 16), code="R{n:02d}X", total=None),
        people=60,
        laws=(Law(below=8, mark="*", base=5), Law(below=5, mark="*", base=5)),
        look=Format(files=("csv",)),
    ),
    Archetype(
        "ndtms treatment",
        "OHID, NDTMS: Adult substance misuse treatment statistics, people by substance and sex",
        "health",
        (
            Dimension(
                "Substance group",
                forest("Opiate|Non-opiate only|Non-opiate and alcohol|Alcohol only"),
                "Total",
            ),
            Dimension("Sex", forest("Male|Female"), "All"),
        ),
        sheet(
            "Table 2.1.1",
            Table(
                axis("Substance group", total="last"),
                with_shares(axis("Sex", total="last"), ("n", "%"), decimals=0),
                ("Substance group",),
                titles=("Table 2.1.1: Sex of all people in treatment",),
                notes=("Source: NDTMS",),
            ),
        ),
        people=200000,
        laws=(EXACT, Law(base=5, note="Counts are rounded to the nearest 5.")),
        look=Format(files=("ods", "xlsx", "csv")),
    ),
    Archetype(
        "cdc hiv surveillance",
        "CDC, HIV Surveillance Report, Table 1: Diagnoses by selected characteristics",
        "health",
        (
            Dimension("Gender", forest("Male|Female|Transgender"), None),
            Dimension("Age at diagnosis (yr)", forest("13-14|15-19|20-24|25-34|35-44|≥ 45"), None),
            Dimension(
                "Race/ethnicity",
                forest(
                    "American Indian/Alaska Native|Asian|Black/African American|Hispanic/Latino|White|Multiple races"
                ),
                None,
            ),
            Dimension("Year", forest("2018|2019|2020|2021"), None, spread=60),
        ),
        sheet(
            "Table 1a",
            Table(
                joined(
                    everybody("Total"), headed("Gender", "Age at diagnosis (yr)", "Race/ethnicity")
                ),
                with_shares(axis("Year", total="no"), ("No.", "Rate"), kind="rate"),
                ("",),
                titles=(
                    "Table 1a. Diagnoses of HIV infection, by year of diagnosis and selected characteristics, 2018-2021—United States",
                ),
                notes=("Note. Rates are per 100,000 population.",),
                label_marks=("a", "b"),
            ),
        ),
        people=140000,
        look=Format(files=("xlsx", "csv"), thousands=","),
    ),
    Archetype(
        "destatis krankenhaus",
        "Destatis, Diagnosedaten der Patienten in Krankenhäusern, Vollstationäre Patienten",
        "health",
        (
            Dimension(
                "Diagnose",
                forest(
                    "A00-B99=Infektiöse Krankheiten|C00-D48=Neubildungen{Bösartige Neubildungen}|I00-I99=Krankheiten des Kreislaufsystems{Herzinfarkt}|S00-T98=Verletzungen"
                ),
                "Insgesamt",
            ),
            Dimension("Geschlecht", forest("männlich|weiblich"), "zusammen"),
            Dimension("Alter", forest("unter 15|15 - 45|45 - 65|65 und mehr"), "Insgesamt"),
        ),
        sheet(
            "T1.1",
            Table(
                axis("Diagnose", style="indent"),
                crossed(axis("Alter"), axis("Geschlecht")),
                ("Diagnose / Behandlung",),
                titles=(
                    "Aus dem Krankenhaus entlassene vollstationäre Patienten",
                    "nach Diagnosekapiteln, Alter und Geschlecht",
                ),
                units=("Anzahl", "%"),
            ),
        ),
        people=90000,
        look=Format(files=("xlsx",), zero="-"),
        laws=(EXACT, Law(below=3, mark=".", note=". = Zahlenwert unbekannt oder geheim zu halten")),
    ),
    Archetype(
        "aihw hospital",
        "AIHW, Admitted patient care, Separations by Indigenous status and state",
        "health",
        (
            Dimension("Status", forest("Indigenous Australians|Other Australians"), "Total"),
            Dimension(
                "Hospital sector",
                forest(
                    "Public hospitals[Acute|Psychiatric]|Private hospitals[Day facilities|Other private]"
                ),
                "All hospitals",
            ),
        ),
        sheet(
            "Table 3.7",
            Table(
                axis("Hospital sector", style="heading", own="Total {}", total="last"),
                crossed(axis("State", total="last"), axis("Status")),
                ("Hospital sector",),
                titles=(
                    "Table 3.7: Separations by Indigenous status, states and territories, 2021–22",
                ),
                notes=("n.p. not published.",),
                repeat=True,
            ),
        ),
        Places("State", "states-au", down=(4, 6), total="Total"),
        people=3000,
        laws=(EXACT, Law(below=5, mark="n.p.", further=True)),
    ),
    Archetype(
        "who vaccination",
        "NHS England, Cover of vaccination evaluated rapidly (COVER): coverage by local authority",
        "health",
        (
            Dimension("Vaccine", forest("Vaccinated"), "Eligible", whole=False),
            Dimension("Cohort", forest("12 months|24 months|5 years"), None, spread=40),
        ),
        sheet(
            "UTLA",
            Table(
                axis("UTLA", codes="before"),
                crossed(
                    axis("Cohort", total="no"), with_shares(axis("Vaccine"), None, skip_first=True)
                ),
                ("ONS code", "Local authority"),
                titles=("Vaccination coverage by upper tier local authority",),
                gap=(True, False),
            ),
        ),
        Places(
            "UTLA", "en", down=(8, 16), code="E06{n:06d}", total="England", total_code="E92000001"
        ),
        people=900,
        laws=(
            EXACT,
            Law(below=5, mark="[c]", note="[c] confidential: small numbers are withheld."),
        ),
    ),
    Archetype(
        "msoa weekly cases",
        "UK Health Security Agency, weekly COVID-19 cases by middle layer super output area",
        "health",
        (Dimension("Week", forest("2021-03-07|2021-03-14|2021-03-21"), None, spread=40),),
        sheet(
            "MSOAs",
            Table(
                axis("MSOA", total="no", codes="before"),
                axis("Week", total="no"),
                ("MSOA11CD", "MSOA11NM"),
            ),
        ),
        Places("MSOA", "en", down=(12, 20), code="E0200{n:04d}", total=None),
        people=30,
        laws=(Law(below=3, mark="-99", zeros=True), Law(below=3, mark="", zeros=True)),
        look=Format(files=("csv",)),
    ),
    Archetype(
        "datasus internacoes",
        "Ministério da Saúde, DATASUS TabNet: internações por município e faixa etária",
        "health",
        (
            Dimension(
                "Faixa etária",
                forest("Menor 1 ano|1 a 4 anos|5 a 14 anos|15 a 59 anos|60 anos e mais"),
                "Total",
            ),
        ),
        sheet(
            "tabnet",
            Table(
                axis("Município", total="last"),
                axis("Faixa etária", total="last"),
                ("Município",),
                titles=(
                    "Morbidade Hospitalar do SUS",
                    "Internações por Faixa etária segundo Município",
                    "Período: Jan-Dez/2022",
                ),
                notes=("Fonte: Ministério da Saúde - Sistema de Informações Hospitalares do SUS",),
            ),
        ),
        Places("Município", "pt", down=(8, 18), label="2900{n:02d} {}", total="Total"),
        people=200,
        look=Format(files=("csv",), separator=";", encoding="latin-1", zero="-"),
    ),
)
