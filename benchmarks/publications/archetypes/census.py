"""Censuses and registers of people."""

from __future__ import annotations

from typing import Final

from ..drawing import Archetype, Places, Sheet, sheet
from ..layout import (
    EXACT,
    Format,
    Law,
    Table,
    axis,
    crossed,
    everybody,
    joined,
    only,
    other,
    under,
    with_shares,
)
from ..people import Dimension, forest

_AGES: Final = forest("0-14|15-29|30-44|45-64|65+")
_SEX: Final = Dimension("Sex", forest("Males|Females"), "Persons")
CENSUS: Final = (
    Archetype(
        "saus population",
        "US Census Bureau, Statistical Abstract, Table 18: Resident population by race and state",
        "population",
        (
            Dimension(
                "Race",
                forest("White|Black|American Indian|Asian|Two or more races"),
                "Total population",
            ),
        ),
        sheet(
            "Data",
            Table(
                axis("State"),
                with_shares(axis("Race"), ("Number", "Percent"), skip_first=True),
                ("State",),
                titles=("Table 18. Resident Population by Race and State: 2009",),
                notes=("Source: U.S. Census Bureau.",),
                gap=(True, False),
            ),
        ),
        Places("State", "states", down=(8, 20), total="U.S."),
        people=5000,
        look=Format(files=("xlsx", "csv", "ods")),
    ),
    Archetype(
        "scotland census",
        "Scotland's Census 2022, Table UV205: religion by council area",
        "religion",
        (
            Dimension(
                "Religion",
                forest(
                    "None|Church of Scotland|Roman Catholic|Other Christian|Muslim|Hindu|Other religions|Not stated"
                ),
                "All people",
            ),
        ),
        sheet(
            "UV205",
            Table(
                axis("Council area", total="first"),
                axis("Religion"),
                ("Council Area 2019",),
                titles=(
                    "Scotland's Census 2022 - National Records of Scotland",
                    "Table UV205 - Religion",
                    "Summation Options: Sum",
                ),
                notes=("(c) copyright Crown 2024.",),
            ),
        ),
        Places("Council area", "en", down=(7, 16), total="Scotland"),
        people=900,
        look=Format(files=("csv", "xlsx"), encoding="utf-8-sig"),
    ),
    Archetype(
        "nisra ds",
        "NISRA, Census 2021 main statistics: religion by Local Government District, N and %",
        "religion",
        (
            Dimension(
                "Religion",
                forest(
                    "Catholic|Presbyterian|Church of Ireland|Methodist|Other religions|No religion"
                ),
                "All usual residents",
            ),
        ),
        sheet(
            "LGD",
            Table(
                axis("Geography", codes="after"),
                with_shares(axis("Religion"), None, skip_first=True, apart=True),
                ("Geography", "Geography code"),
                titles=("Census 2021, Northern Ireland", "MS-B19: Religion"),
            ),
        ),
        Places(
            "Geography",
            "en",
            down=(7, 11),
            code="N0900{n:04d}",
            total="Northern Ireland",
            total_code="N92000002",
        ),
        people=2000,
        look=Format(files=("xlsx", "ods")),
    ),
    Archetype(
        "genesis wide",
        "Destatis, GENESIS-Online 12411: Bevölkerung nach Kreisen, Geschlecht und Altersgruppen",
        "population",
        (
            Dimension("Geschlecht", forest("männlich|weiblich"), "Insgesamt"),
            Dimension(
                "Alter",
                forest("unter 18 Jahre|18 bis unter 65 Jahre|65 Jahre und mehr"),
                "Insgesamt",
            ),
        ),
        sheet(
            "12411-0018",
            Table(
                axis("Kreis", total="no", codes="before"),
                crossed(axis("Alter"), axis("Geschlecht")),
                ("", ""),
                titles=(
                    "Bevölkerung: Kreise, Stichtag, Geschlecht, Altersgruppen",
                    "Fortschreibung des Bevölkerungsstandes",
                    "Bevölkerungsstand (Anzahl)",
                ),
                notes=("_____________", "© Statistisches Bundesamt (Destatis), 2023"),
                repeat=True,
                units=("Anzahl", "%"),
            ),
        ),
        Places("Kreis", "de", down=(8, 18), code="010{n:02d}", total=None),
        people=1500,
        look=Format(files=("csv", "xlsx"), separator=";", encoding="latin-1", zero="-"),
        laws=(EXACT, Law(below=3, mark=".")),
    ),
    Archetype(
        "genesis flat",
        "Destatis, GENESIS-Online flat file CSV",
        "population",
        (
            Dimension("GES", forest("GESM=männlich|GESW=weiblich"), "Insgesamt"),
            Dimension(
                "ALT",
                forest(
                    "ALT000B15=unter 15 Jahre|ALT015B65=15 bis unter 65 Jahre|ALT065UM=65 Jahre und mehr"
                ),
                "Insgesamt",
            ),
        ),
        sheet(
            "flat",
            Table(
                crossed(
                    axis("KREISE", total="no", codes="before"),
                    axis("GES", codes="before"),
                    axis("ALT", codes="before"),
                ),
                everybody("BEVSTD__Bevölkerungsstand__Anzahl"),
                (
                    "1_Auspraegung_Code",
                    "1_Auspraegung_Label",
                    "2_Auspraegung_Code",
                    "2_Auspraegung_Label",
                    "3_Auspraegung_Code",
                    "3_Auspraegung_Label",
                ),
            ),
        ),
        Places("KREISE", "de", down=(6, 12), code="090{n:02d}", total=None),
        people=60,
        laws=(EXACT, Law(below=3, mark=".")),
        look=Format(files=("csv",), separator=";", encoding="utf-8-sig", zero="-"),
    ),
    Archetype(
        "statistik austria",
        "Statistik Austria, Registerzählung: Bevölkerung nach Gemeinden, Bezirk und Staatsangehörigkeit",
        "population",
        (
            Dimension(
                "Staat",
                forest("Österreich|Nicht-Österreich[EU|Drittstaaten]"),
                "Bevölkerung insgesamt",
            ),
            Dimension("Geschlecht", forest("Männer|Frauen"), "Zusammen"),
        ),
        sheet(
            "Tab 1",
            Table(
                axis("Gemeinde", style="once", own="Bezirk gesamt"),
                joined(
                    axis("Staat"),
                    axis("Geschlecht", total="no"),
                    other("Durchschnittsalter", "mean"),
                ),
                ("Politischer Bezirk", "Gemeinde"),
                titles=(
                    "Bevölkerung nach Staatsangehörigkeit und Geschlecht",
                    "Stichtag 31.10.2021",
                ),
                notes=("Q: STATISTIK AUSTRIA.",),
                once=True,
            ),
        ),
        Places("Gemeinde", "de", up=(3, 4), down=(3, 5), total=None),
        people=300,
        look=Format(files=("xlsx", "ods")),
    ),
    Archetype(
        "bfs religion",
        "BFS, Ständige Wohnbevölkerung nach Religionszugehörigkeit und Kanton",
        "religion",
        (
            Dimension(
                "Religion",
                forest(
                    "Römisch-katholisch|Evangelisch-reformiert|Andere christliche|Islamische|Konfessionslos"
                ),
                "Total",
            ),
        ),
        sheet(
            "2021",
            Table(
                axis("Kanton"),
                axis("Religion"),
                ("",),
                titles=(
                    "Ständige Wohnbevölkerung ab 15 Jahren nach Religionszugehörigkeit und Kanton, 2021",
                    "T 01.08.02.02",
                ),
                notes=(
                    "X: Extrapolation aufgrund von 4 oder weniger Beobachtungen.",
                    "© BFS - Statistisches Lexikon der Schweiz",
                ),
                gap=(True, False),
            ),
        ),
        Places("Kanton", "cantons", down=(8, 17), total="Schweiz"),
        people=3000,
        laws=(EXACT, Law(below=8, mark="X")),
        look=Format(files=("xlsx",)),
    ),
    Archetype(
        "ine padron",
        "INE, Padrón municipal: población por municipios, sexo y nacionalidad, un archivo por años",
        "population",
        (
            Dimension("Sexo", forest("Hombres|Mujeres"), "Total"),
            Dimension("Año", forest("2022|2021|2020"), None, spread=60),
        ),
        sheet(
            "tabla",
            Table(
                axis("Municipio", total="no", codes="before"),
                crossed(axis("Sexo"), axis("Año", total="no")),
                ("Código", "Municipio"),
                titles=("Población por municipios y sexo.", "Unidades: Personas"),
                notes=("Fuente: Instituto Nacional de Estadística",),
            ),
        ),
        Places("Municipio", "es", down=(8, 16), code="440{n:02d}", total=None),
        people=900,
        look=Format(files=("xlsx", "csv"), thousands=".", separator=";"),
    ),
    Archetype(
        "cbs buurten",
        "CBS, Kerncijfers wijken en buurten: gemeente, wijk en buurt op één niveau",
        "population",
        (
            Dimension("Geslacht", forest("Mannen|Vrouwen"), "Aantal inwoners"),
            Dimension(
                "Leeftijd", forest("0 tot 15 jaar|15 tot 45 jaar|45 jaar of ouder"), "Totaal"
            ),
        ),
        sheet(
            "KWB",
            Table(
                axis("Regio", total="no", codes="after"),
                joined(
                    axis("Geslacht"),
                    axis("Leeftijd", total="no"),
                    other("Bevolkingsdichtheid", "population"),
                    other("Gemiddelde WOZ-waarde", "mean"),
                ),
                ("Wijken en buurten", "Codering"),
            ),
        ),
        Places(
            "Regio",
            "nl",
            up=(3, 4),
            down=(3, 6),
            code="BU{p:04d}{n:02d}",
            up_code="GM{p:04d}",
            total=None,
            label="Buurt {}",
        ),
        people=200,
        laws=(Law(base=5), EXACT),
        look=Format(files=("csv", "xlsx"), separator=";"),
    ),
    Archetype(
        "ssb statbank",
        "Statistics Norway, StatBank 07459: Population by municipality, sex and age",
        "population",
        (_SEX, Dimension("Age", _AGES, "Total")),
        sheet(
            "Folkemengde",
            Table(
                crossed(
                    axis("Municipality", total="no"),
                    axis("Sex", total="no"),
                    axis("Age", total="no"),
                ),
                everybody("2023"),
                ("region", "sex", "age"),
                titles=("07459: Population, by region, sex and age",),
                notes=("Statistics Norway",),
                once=True,
            ),
        ),
        Places("Municipality", "no", down=(6, 12), label="03{n:02d} {}", total=None),
        people=700,
        look=Format(files=("xlsx", "csv")),
    ),
    Archetype(
        "gus powiaty",
        "Statistics Poland, Ludność w gminach: stan i struktura według płci i wieku",
        "population",
        (
            Dimension("Płeć", forest("mężczyźni|kobiety"), "ogółem"),
            Dimension("Miejsce", forest("miasta|wieś"), "ogółem"),
        ),
        sheet(
            "Tabl. 3",
            Table(
                axis("Powiat", style="bold", codes="after"),
                crossed(axis("Miejsce"), axis("Płeć")),
                ("Wyszczególnienie", "Kod"),
                titles=(
                    "TABL. 3. LUDNOŚĆ WEDŁUG PŁCI I MIEJSCA ZAMIESZKANIA",
                    "POPULATION BY SEX AND RESIDENCE",
                ),
                spacer=True,
            ),
        ),
        Places(
            "Powiat",
            "pl",
            up=(2, 4),
            down=(3, 5),
            code="{p:02d}{n:02d}000",
            up_code="{p:02d}00000",
            total="POLSKA",
            total_code="0000000",
            up_label="Woj. {}",
        ),
        people=700,
        look=Format(files=("xlsx",), zero="-"),
    ),
    Archetype(
        "elstat",
        "ELSTAT, Απογραφή 2021: μόνιμος πληθυσμός κατά δήμο, φύλο και ηλικία",
        "population",
        (
            Dimension("Φύλο", forest("Άρρενες|Θήλεις"), "Σύνολο"),
            Dimension("Ηλικία", _AGES, "Σύνολο"),
        ),
        sheet(
            "Α01",
            Table(
                axis("Δήμος"),
                joined(axis("Φύλο"), under(axis("Ηλικία", total="no"), "Ομάδες ηλικιών")),
                ("Περιγραφή",),
                titles=("Πίνακας Α01. Μόνιμος πληθυσμός",),
                notes=("Πηγή: ΕΛΣΤΑΤ",),
            ),
        ),
        Places("Δήμος", "el", down=(7, 16), total="ΣΥΝΟΛΟ ΕΛΛΑΔΟΣ"),
        people=800,
        look=Format(files=("xlsx", "csv"), encoding="utf-16"),
    ),
    Archetype(
        "stats nz sa2",
        "Stats NZ, 2018 Census place summaries: usually resident population by SA2, age and sex",
        "population",
        (
            _SEX,
            Dimension(
                "Age", forest("Under 15 years|15–29 years|30–64 years|65 years and over"), "Total"
            ),
        ),
        sheet(
            "Table 1",
            Table(
                axis("SA2", codes="before"),
                crossed(axis("Sex", relabel={"Persons": "Total people"}), axis("Age")),
                ("Code", "SA2 description"),
                titles=(
                    "Table 1",
                    "Age group by sex",
                    "For census usually resident population count",
                ),
                notes=(
                    "1. This data has been randomly rounded to protect confidentiality.",
                    "Symbol: ..C confidential",
                ),
            ),
        ),
        Places(
            "SA2",
            "en",
            down=(7, 16),
            code="1001{n:02d}",
            total="Total New Zealand",
            total_code="9999",
        ),
        people=200,
        laws=(Law(base=3, random=True), Law(base=3, random=True, below=6, mark="..C")),
    ),
    Archetype(
        "ibge sidra",
        "IBGE, SIDRA Tabela 9606: população residente por cor ou raça e sexo",
        "population",
        (
            Dimension("Cor", forest("Branca|Preta|Amarela|Parda|Indígena"), "Total"),
            Dimension("Sexo", forest("Homens|Mulheres"), "Total"),
        ),
        sheet(
            "Tabela",
            Table(
                axis("Município", total="no"),
                crossed(axis("Sexo"), axis("Cor")),
                ("Município",),
                titles=(
                    "Tabela 9606 - População residente, por cor ou raça, segundo o sexo",
                    "Variável - População residente (Pessoas)",
                ),
                notes=("Fonte: IBGE - Censo Demográfico",),
            ),
        ),
        Places("Município", "pt", down=(7, 14), label="{} (BA)", total=None),
        people=900,
        look=Format(files=("xlsx", "csv"), separator=";", zero="-"),
        laws=(EXACT, Law(below=3, mark="X")),
    ),
    Archetype(
        "inegi iter",
        "INEGI, Censo 2020, ITER: principales resultados por localidad",
        "population",
        (
            Dimension("Sexo", forest("POBFEM|POBMAS"), "POBTOT"),
            Dimension("Lengua", forest("P3YM_HLI"), "P", whole=False),
            Dimension("Religión", forest("PCATOLICA|PRO_CRIEVA|PSIN_RELIG"), "P"),
        ),
        sheet(
            "iter",
            Table(
                axis("NOM_LOC", total="no", codes="before"),
                joined(
                    other("LONGITUD", "code"),
                    axis("Sexo"),
                    axis("Lengua", total="no"),
                    axis("Religión", total="no"),
                    other("PROM_HNV", "mean", decimals=2),
                ),
                ("LOC", "NOM_LOC"),
            ),
        ),
        Places("NOM_LOC", "es", down=(10, 20), code="{n:04d}", total=None),
        people=120,
        laws=(EXACT, Law(below=3, mark="*")),
        look=Format(files=("csv",)),
    ),
    Archetype(
        "estat japan",
        "Statistics Bureau of Japan, e-Stat: 国勢調査 人口等基本集計 男女別人口",
        "population",
        (
            Dimension("男女", forest("男|女"), "総数"),
            Dimension("年齢", forest("15歳未満|15～64歳|65歳以上"), "総数"),
        ),
        sheet(
            "第1表",
            Table(
                axis("地域", codes="before"),
                crossed(axis("男女"), axis("年齢")),
                ("地域コード", "地域名"),
                titles=("第1表 男女,年齢(3区分)別人口－市",),
                units=("人", "%"),
                notes=("注) 年齢「不詳」を除く。",),
            ),
        ),
        Places("地域", "ja", down=(6, 14), code="022{n:02d}", total="青森県", total_code="02000"),
        people=1500,
        look=Format(files=("xlsx", "csv"), zero="-"),
    ),
    Archetype(
        "kosis",
        "Statistics Korea, KOSIS: 행정구역(시군구)별, 성별 인구수",
        "population",
        (
            Dimension("성별", forest("남자|여자"), "총인구"),
            Dimension("연도", forest("2020|2021|2022"), None, spread=60),
        ),
        sheet(
            "데이터",
            Table(
                axis("행정구역", style="indent"),
                crossed(axis("연도", total="no"), axis("성별")),
                ("행정구역(시군구)별",),
            ),
        ),
        Places("행정구역", "ko", down=(8, 16), total="전국"),
        people=1200,
        look=Format(files=("xlsx", "csv")),
    ),
    Archetype(
        "eurostat sheet",
        "Eurostat, Data Browser spreadsheet: population by citizenship and sex",
        "population",
        (
            Dimension(
                "Citizenship",
                forest(
                    "Reporting country|EU27 countries except reporting country|Non-EU27 countries"
                ),
                "Total",
            ),
            Dimension("Sex", forest("Males|Females"), "Total"),
        ),
        (
            Sheet(
                "Summary",
                (
                    Table(
                        lambda _: [],
                        everybody("Description"),
                        ("Contents",),
                        titles=(
                            "Data extracted from [ESTAT]",
                            "Dataset: Population by citizenship",
                        ),
                    ),
                ),
            ),
            Sheet(
                "Sheet 1",
                (
                    Table(
                        axis("GEO", total="no"),
                        axis("Citizenship"),
                        ("GEO (Labels)",),
                        titles=(
                            "Data extracted on 01/07/2023 from [ESTAT]",
                            "Sex: Total",
                            "Unit: Number",
                        ),
                        notes=("Special value", ":  not available"),
                        number_marks=(" p", " e"),
                    ),
                ),
            ),
            Sheet(
                "Sheet 2",
                (
                    Table(
                        axis("GEO", total="no"),
                        crossed(axis("Sex", total="no"), axis("Citizenship")),
                        ("GEO (Labels)",),
                        titles=("Data extracted on 01/07/2023 from [ESTAT]", "Unit: Number"),
                    ),
                ),
            ),
        ),
        Places("GEO", "nuts", down=(8, 20), total=None),
        people=9000,
        laws=(EXACT, Law(below=30, mark=":")),
        look=Format(files=("xlsx",)),
    ),
    Archetype(
        "czso stacked",
        "Czech Statistical Office, SLDB: obyvatelstvo podle víry, tři tabulky pod sebou",
        "religion",
        (
            Dimension("Pohlaví", forest("Muži|Ženy"), "Celkem"),
            Dimension(
                "Víra",
                forest("Věřící[katolická|husitská|jiná]|Bez víry|Neuvedeno"),
                "Obyvatelstvo celkem",
            ),
        ),
        (
            Sheet(
                "Tab. 1",
                tuple(
                    (
                        Table(
                            axis("Okres", total="last"),
                            crossed(only("Pohlaví", sex), axis("Víra")),
                            ("Okres",),
                            titles=(f"Tab. 1.{number} Obyvatelstvo podle náboženské víry – {sex}",),
                        )
                        for number, sex in enumerate(("Muži", "Ženy"), start=1)
                    )
                ),
                between=2,
            ),
        ),
        Places("Okres", "cs", down=(6, 12), total="Kraj celkem"),
        people=800,
        look=Format(files=("xlsx",)),
    ),
    Archetype(
        "statssa sheets",
        "Statistics South Africa, Census: population group by municipality, a sheet a year",
        "population",
        (
            Dimension("Group", forest("Black African|Coloured|Indian/Asian|White"), "Total"),
            Dimension("Sex", forest("Male|Female"), "Total"),
            Dimension("Year", forest("2011|2016"), None, spread=60),
        ),
        tuple(
            Sheet(
                year,
                (
                    Table(
                        axis("Municipality", total="last"),
                        crossed(only("Year", year), axis("Group"), axis("Sex")),
                        ("Municipality",),
                        titles=(f"Population by group and sex, {year}",),
                    ),
                ),
            )
            for year in ("2011", "2016")
        ),
        Places("Municipality", "us", down=(6, 12), total="Total"),
        people=900,
        contents=("Statistics South Africa", "Contents", "2011", "2016"),
    ),
    Archetype(
        "hidden sheet",
        "Central Statistics Office Ireland, Small area population, with a hidden working sheet",
        "religion",
        (
            Dimension(
                "Religion", forest("Catholic|Church of Ireland|Other religion|No religion"), "Total"
            ),
            _SEX,
        ),
        (
            Sheet(
                "Table",
                (
                    Table(
                        axis("Area", style="bold"),
                        joined(axis("Religion", total="last"), axis("Sex", total="no")),
                        ("Electoral division",),
                        titles=("Population by religion and sex",),
                    ),
                ),
            ),
            Sheet(
                "work",
                (Table(axis("Area", total="no"), only("Sex", "Males"), ("Area",)),),
                hidden=True,
            ),
        ),
        Places("Area", "en", up=(3, 4), down=(3, 5), total="State", up_label="County {}"),
        people=200,
        look=Format(files=("xlsx",)),
    ),
)
