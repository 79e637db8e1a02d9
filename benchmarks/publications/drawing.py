"""An archetype, and a file drawn after it."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from .grid import Grid, as_ods, as_text, as_xlsx
from .layout import EXACT, PLAIN, Format, Law, Printer, Table, Truth
from .people import Category, Dimension, populate

#: Names of places, by language; enough for any file.
NAMES: Final = {
    "en": "Ashby Barton Chalfont Denby Elmore Fairford Garstang Halton Ilkley Kelso Ludlow Marple"
    " Norwood Oakham Penrith Quorn Romsey Selby Tring Upton Ventnor Wells Yarm Alston",
    "us": "Adams Benton Calhoun Decatur Elbert Franklin Greene Hamilton Iron Jasper Knox Lincoln"
    " Monroe Newton Orange Perry Quitman Randolph Stewart Taylor Union Vernon Wayne York",
    "states": "Alabama|Arizona|Colorado|Delaware|Florida|Georgia|Idaho|Kansas|Maine|Nevada|Ohio"
    "|Oregon|Texas|Utah|Vermont|Wyoming|New Hampshire|New Mexico|North Dakota|West Virginia",
    "de": "Ahlen Bergdorf Celle Dornburg Einbeck Frohburg Gotha Höxter Ilmenau Jüterbog Köthen"
    " Lübben Mölln Nördlingen Oschatz Pößneck Rügen Süßen Torgau Uelzen Vechta Würzen",
    "fr": "Auxonne Bèze Cérilly Dôle Épinay Fécamp Guéret Huriel Issoire Jarnac Lézoux Mâcon"
    " Nyons Orléat Pérouges Queyras Rethel Séez Tournus Uzès Vézelay Yssingeaux",
    "es": "Ávila Béjar Cáceres Daroca Écija Frías Guadix Huéscar Iznájar Jódar Lerma Mérida"
    " Nájera Olmedo Padrón Quesada Ronda Sepúlveda Toro Úbeda Viana Zafra",
    "it": "Alba Bra Cefalù Dronero Este Forlì Gubbio Imola Jesi Lodi Mondovì Nardò Orta Pavia"
    " Rho Susa Todi Urbino Varese Zola",
    "nl": "Almelo Breda Culemborg Doesburg Edam Franeker Gouda Hoorn IJlst Kampen Leerdam Meppel"
    " Naarden Oss Putten Rhenen Sneek Tiel Urk Venlo Weert Zeist",
    "no": "Alta Bodø Drøbak Elverum Førde Gjøvik Hamar Jevnaker Kragerø Løten Moss Nesodden Odda"
    " Porsgrunn Røros Skien Tønsberg Ulstein Vadsø Ørsta",
    "pl": "Augustów Brzeg Chełm Dębica Elbląg Gniezno Hajnówka Iława Jasło Kłodzko Łęczyca Mława"
    " Nysa Oława Płock Rawicz Słupca Tczew Ustroń Września",
    "pt": "Araxá Bagé Caicó Diamantina Estância Formosa Guaíba Ibiá Jataí Lages Maués Niterói"
    " Óbidos Parnaíba Quixadá Russas Sobral Tefé Uberaba Viçosa",
    "el": "Άργος Βόλος Γρεβενά Δράμα Έδεσσα Ζάκυνθος Ήλιδα Θήβα Ιθάκη Κοζάνη Λαμία Μέγαρα"
    " Νάουσα Ξάνθη Πάτρα Ρόδος Σπάρτη Τρίπολη Φλώρινα Χίος",
    "ja": "青木市 石川市 上田市 江別市 大野市 柏原市 北見市 倉吉市 小松市 坂井市 須崎市 瀬戸市"
    " 高山市 津島市 長浜市 西尾市 沼田市 能代市 浜田市 平戸市",
    "ko": "강릉시 공주시 김천시 나주시 논산시 동해시 목포시 밀양시 보령시 사천시 삼척시 상주시"
    " 속초시 아산시 안동시 여수시 영주시 원주시 정읍시 제천시",
    "cs": "Aš Beroun Cheb Děčín Frýdek Hodonín Jičín Kolín Louny Mělník Náchod Opava Písek"
    " Rakovník Semily Tábor Ústí Vsetín Zlín Žatec",
    "saints": "St Anne's|St Bede's|St Clare's|Oak Hill Primary|River Academy|Park Lane School"
    "|The Grove|All Saints CE|Holy Cross|Northgate High|West End Infants|Abbey Junior"
    "|Hillside|Kings College|Lakeside Academy|Manor Park|New Road|Priory|Queensway|Rosehill",
    "states-au": "New South Wales|Victoria|Queensland|South Australia|Western Australia|Tasmania",
    "laender": "Baden-Württemberg|Bayern|Berlin|Brandenburg|Bremen|Hamburg|Hessen|Niedersachsen"
    "|Saarland|Sachsen|Sachsen-Anhalt|Schleswig-Holstein|Thüringen",
    "cantons": "Zürich|Bern / Berne|Luzern|Uri|Schwyz|Glarus|Zug|Fribourg / Freiburg|Solothurn"
    "|Schaffhausen|Graubünden / Grischun|Aargau|Thurgau|Ticino|Vaud|Valais / Wallis|Genève|Jura",
    "nuts": "Belgium|Bulgaria|Czechia|Denmark|Estonia|Ireland|Greece|Spain|France|Croatia|Cyprus"
    "|Latvia|Lithuania|Hungary|Malta|Austria|Poland|Portugal|Romania|Slovenia|Finland|Sweden",
    "hospitals": "General Hospital|Royal Infirmary|Mercy Medical Center|County Memorial|University"
    " Hospital|St Luke's|Children's Hospital|Valley Regional|Lakeview|Sacred Heart|Good Samaritan"
    "|Community Hospital|Bayview|Riverside|Northside|Eastern Clinic",
}


def names(pool: str) -> list[str]:
    """Return the names of a pool."""
    text = NAMES[pool]
    return text.split("|") if "|" in text else text.split()


@dataclass(frozen=True)
class Places:
    """Places that are drawn: parents with parts, or, with ``up`` none, places alone.

    Attributes:
        name: What the office calls them.
        pool: The language of their names; ``up_pool`` of their parents'.
        up, down: The least and greatest number of parents, and of parts in each.
        code: Of a part, with ``{p}`` and ``{n}``, the numbers of its parent and its own.
        up_code: Of a parent.
        total: The words for all of them; None if no row has them.
        label, up_label: How a name is printed.
        alike: Parts of different parents share names.
    """

    name: str = "Area"
    pool: str = "en"
    up_pool: str = ""
    up: tuple[int, int] | None = None
    down: tuple[int, int] = (6, 20)
    code: str = ""
    up_code: str = ""
    total: str | None = "Total"
    total_code: str = ""
    label: str = "{}"
    up_label: str = "{}"
    alike: bool = False

    def draw(self, rng: np.random.Generator) -> Dimension:
        """Return the places of a file."""

        def some(low: int, high: int) -> int:
            return int(rng.integers(low, high + 1))

        parts = list(rng.permutation(np.array(names(self.pool), dtype=object)))
        forest: list[Category] = []
        if self.up is None:
            for number, name in enumerate(parts[: some(*self.down)], start=1):
                forest.append(
                    Category(self.label.format(name, n=number), self.code.format(p=1, n=number))
                )
        else:
            above = names(self.up_pool or self.pool)
            above = list(rng.permutation(np.array(above, dtype=object)))[: some(*self.up)]
            left = [name for name in parts if name not in above]
            for parent, name in enumerate(above, start=1):
                count = some(*self.down)
                inner = left[:count]
                if not self.alike:
                    left = left[count:] + [f"{word} {parent + 1}" for word in inner]
                forest.append(
                    Category(
                        self.up_label.format(name),
                        self.up_code.format(p=parent),
                        tuple(
                            Category(
                                self.label.format(part, n=number),
                                self.code.format(p=parent, n=number),
                            )
                            for number, part in enumerate(inner, start=1)
                        ),
                    )
                )
        return Dimension(
            self.name, tuple(forest), self.total, spread=3.0, total_code=self.total_code
        )


@dataclass(frozen=True)
class Sheet:
    """Tables one below another under a name."""

    name: str
    tables: tuple[Table, ...]
    hidden: bool = False
    between: int = 2


def sheet(name: str, *tables: Table) -> tuple[Sheet, ...]:
    """Return a workbook's only sheet."""
    return (Sheet(name, tables),)


@dataclass(frozen=True)
class Archetype:
    """A layout of a publication.

    Attributes:
        name: What it is called here.
        after: The publication, by its office and title.
        field: Of what: population, schools, health, justice, labour, religion.
        dimensions: Features of whom it counts.
        places: The places; None if it is of one, which no row names.
        people: About how many in each place (without places: in all).
        laws: One is chosen.
        contents: Lines of a sheet of words before the others.
    """

    name: str
    after: str
    field: str
    dimensions: tuple[Dimension, ...]
    sheets: tuple[Sheet, ...]
    places: Places | None = None
    people: float = 300.0
    laws: tuple[Law, ...] = (EXACT,)
    look: Format = PLAIN
    contents: tuple[str, ...] = ()
    uneven: float = 1.0


@dataclass(frozen=True)
class Drawn:
    """A file and what is true of it."""

    archetype: Archetype
    seed: int
    file: str
    data: bytes
    truth: Truth


def draw(archetype: Archetype, seed: int) -> Drawn:
    """Return a file after an archetype; the same seed draws the same bytes."""
    rng = np.random.default_rng([seed, zlib.crc32(archetype.name.encode())])
    dimensions: list[Dimension] = list(archetype.dimensions)
    people = archetype.people
    if archetype.places is not None:
        places = archetype.places.draw(rng)
        dimensions.insert(0, places)
        people *= places.size
    world = populate(rng, dimensions, people, archetype.uneven)
    law: Law = archetype.laws[int(rng.integers(len(archetype.laws)))]
    kind = str(rng.choice(list(archetype.look.files)))
    truth = Truth(world, archetype.places.name if archetype.places else None)
    printer = Printer(truth, law, archetype.look, rng)
    grids: list[Grid] = []
    if archetype.contents and kind != "csv":
        printer.words(cover := Grid("Contents"), archetype.contents)
        grids.append(cover)
    for sheet in archetype.sheets:
        grid = Grid(sheet.name, hidden=sheet.hidden)
        row = 1
        for table in sheet.tables:
            row = printer.print(grid, table, row) + sheet.between
        grids.append(grid)
    if any(grid.hidden for grid in grids) or (len(grids) > 1 and kind == "csv"):
        kind = "xlsx"
    truth.answers["sheet"] = [sheet.name for sheet in archetype.sheets if not sheet.hidden]
    stem = archetype.name.replace(" ", "_")
    return Drawn(archetype, seed, f"{stem}.{kind}", _written(archetype.look, kind, grids), truth)


def _written(look: Format, kind: str, grids: Sequence[Grid]) -> bytes:
    if kind == "xlsx":
        return as_xlsx(list(grids))
    if kind == "ods":
        return as_ods(list(grids))
    return as_text(grids[0], look.separator, look.encoding, look.comma)
