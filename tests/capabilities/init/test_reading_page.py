"""The page that shows sheets as they stand: every cell with its role; what is hidden is said."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

from recon_cli.capabilities.init.proposal.proposal import Proposal, propose
from recon_cli.capabilities.init.reading_page import reading_page
from recon_cli.capabilities.init.sheet_view import SheetView, sheet_view
from recon_cli.sources.documents import document_of
from recon_cli.sources.read.choices import Choices
from recon_cli.sources.read.roles import Role
from recon_cli.sources.tabular import documents_of_sheets, read_sheet
from recon_cli.sources.tabular.sheet import sheet_of_rows
from tests.support.browser import LOOK, accessibility_errors, chromium, needs_browser, opened
from tests.support.command_line import recon
from tests.support.paths import ROOT
from tests.support.workbooks import WorkbookSheet, workbook_of

SCHOOLS = ROOT / "fixtures" / "offices" / "schools.xlsx"
PLACES = [["Oak", "31", "14", "17"], ["Elm", "25", "13", "12"], ["Ash", "40", "c", "c"]]
HEADER = ["School", "All pupils", "Boys", "Girls"]


def view_of(*rows: list[str], choices: Choices | None = None) -> SheetView:
    return sheet_view(propose(sheet_of_rows("a", list(rows)), choices or Choices()), "a")


@cache
def readings() -> tuple[tuple[str, Proposal], ...]:
    """Each sheet of an office, by its name, as it is read."""
    return tuple(
        (each.sheet or "", propose(read_sheet(each)))
        for each in documents_of_sheets(document_of(SCHOOLS), ())
    )


def test_every_cell_is_there_with_its_role() -> None:
    for name, reading in readings():
        view = sheet_view(reading, name)
        cells = [cell for row in view.rows for cell in row.cells if cell.text]
        assert len(cells) == int(reading.grid.filled.sum()) == sum(n for _, _, n in view.roles)
        assert all(cell.style and cell.about for cell in cells)


def test_a_sum_points_at_its_cells_and_rows() -> None:
    view = view_of(HEADER, *PLACES)
    (relation,) = view.relations
    assert relation.text == "All pupils = Boys + Girls"
    assert relation.rows == "shown in 2 of 3 rows, 1 left open by what is not published"
    assert relation.whole == (".n.c1",)
    assert relation.parts == (".n.c2", ".n.c3")
    assert [row.marks for row in view.rows] == ["r0", "r1 y0", "r2 y0", "r3 o0"]


def test_values_of_a_long_table_are_pointed_at() -> None:
    rows = [
        [place, sex, str(number)]
        for place, numbers in (("Oak", (31, 14, 17)), ("Elm", (25, 13, 12)), ("Ash", (9, 4, 5)))
        for sex, number in zip(("All", "Boys", "Girls"), numbers, strict=True)
    ]
    view = view_of(["Place", "Sex", "Count"], *rows)
    assert [each.text for each in view.relations] == ["Sex: All = Boys + Girls"]
    marks = [row.cells[1].marks for row in view.rows[1:4]]
    assert marks == ["t0", "p0", "p0"]


def test_what_is_left_out_says_why() -> None:
    rows = [[*row, "7"] for row in PLACES]
    choices = Choices(leave_out={"Teachers": "not about pupils"})
    view = view_of([*HEADER, "Teachers"], *rows, choices=choices)
    assert view.left_out == ("Teachers: 3 numbers, not about pupils",)
    assert view.unused == 3
    assert view.rows[1].cells[4].about == "left out: not about pupils"


def test_a_column_that_is_asked_about_is_marked() -> None:
    rows = [[*row, n] for row, n in zip(PLACES, ("320", "57", "12"), strict=True)]
    view = view_of([*HEADER, "Size"], *rows)
    assert view.questions
    assert "asked" in view.rows[0].cells[4].marks


def test_rows_and_columns_that_are_not_shown_are_counted() -> None:
    wide = [f"x{i}" for i in range(65)]
    rows = [[f"Place {i}", *(str(i * 3 + j) for j in range(65))] for i in range(100)]
    reading = propose(sheet_of_rows("a", [["Place", *wide], *rows]))
    view = sheet_view(reading, "a")
    shown = [row for row in view.rows if row.cells]
    assert len(shown) + view.hidden_rows == 101
    assert [row.hidden for row in view.rows if row.hidden] == [view.hidden_rows]
    assert len(view.columns) + view.hidden_columns == 66
    page = reading_page([("a", reading)], "a")
    assert "21 rows are not shown" in page
    assert "6 columns on the right are not shown" in page


def test_texts_of_a_sheet_are_no_markup() -> None:
    rows = [["<script>alert(1)</script>", *PLACES[0][1:]], *PLACES[1:]]
    page = reading_page([("a", propose(sheet_of_rows("a<b>", [HEADER, *rows])))], 'a"b<i>')
    assert "<script>alert" not in page
    assert "<i>" not in re.sub(r"<i class", "", page)


def test_rows_of_one_place_are_labels() -> None:
    rows = [["All", "9", "4", "5"], ["Theft", "6", "3", "3"], ["Fraud", "3", "1", "2"]]
    choices = Choices(are_kinds=True)
    view = view_of(["Offence", "Persons", "Men", "Women"], *rows, choices=choices)
    assert {cell.style for row in view.rows[1:] for cell in row.cells[:1]} == {"label"}


def test_the_page_of_a_run_has_the_roles_of_the_draft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sexes: list[list[object]] = [[*HEADER]]
    meals: list[list[object]] = [["School", "All pupils", "Free meals", "Other"]]
    for place, *numbers in PLACES[:2]:
        whole, boys, girls = map(int, numbers)
        sexes.append([place, whole, boys, girls])
        meals.append([place, whole, 4, whole - 4])
    book = {
        "Sex": WorkbookSheet(sexes),
        "Meals": WorkbookSheet(meals),
        "Working": WorkbookSheet([["Place", "n"], ["x1", 7], ["x2", 9]], hidden=True),
    }
    Path("pupils.xlsx").write_bytes(workbook_of(book))
    recon("init", "pupils.xlsx", "--to", "pupils.yaml", "--yes")
    recon("ingest", "-c", "pupils.yaml", "-q")
    drafted = Path("pupils.reading.html").read_text()
    (read,) = Path().glob("work/*/tables/_reading.html")
    counts = r'<li><i class="count">([\d,]+)</i>'
    found = re.findall(counts, read.read_text())
    assert found == re.findall(counts, drafted)
    assert len(found) == 2
    for page in (drafted, read.read_text()):
        assert "pupils.xlsx, sheet Working, 2 numbers" in page
    Path("pupils.reading.html").write_text("mine")
    again = recon("init", "pupils.xlsx", "--to", "pupils.yaml", "--yes", "--force", code=2)
    assert "no page of ours" in again.stderr


# --- in a browser ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("reading") / "reading.html"
    rows = [[*row, n] for row, n in zip(PLACES, ("320", "57", "12"), strict=True)]
    asked = propose(sheet_of_rows("asked", [[*HEADER, "Size"], *rows]))
    path.write_text(reading_page([*readings()[:3], ("Asked", asked)], "schools.xlsx"))
    return path


@needs_browser
@pytest.mark.parametrize(
    ("width", "scheme", "scripts"),
    [(1280, "light", False), (400, "dark", True)],
)
def test_the_page_fits_and_shows_relations_without_scripts(
    browser: Browser, page: Path, width: int, scheme: str, scripts: bool
) -> None:
    with opened(browser, page, width=width, scheme=scheme, scripts=scripts) as sight:  # type: ignore[arg-type]
        assert sight.overflow() <= 0
        assert sight.problems == []
        assert sight.requests == []
        assert outlined(sight.page, "#s1 .n.c3") == 0
        sight.page.locator("#s1r2").check()
        assert outlined(sight.page, "#s1 .n.c3") > 50, "the total of the relation"
        assert outlined(sight.page, "#s1 .n.c2") == 0
        sight.page.locator("[for=s1r0]").hover()
        assert outlined(sight.page, "#s1 .n.c2") > 50
        assert readable(sight.page) >= 4.5


def outlined(page: Page, selector: str) -> int:
    """How many cells have an outline."""
    script = "all => all.filter(e => getComputedStyle(e).outlineStyle === 'solid').length"
    return int(page.locator(selector).evaluate_all(script))


def readable(page: Page) -> float:
    """The least contrast of a cell's text with the cell."""
    pairs = page.locator(".sheet td, .legend i").evaluate_all(
        "all => [...new Set(all.map(e => getComputedStyle(e).color + ';' + "
        "getComputedStyle(e).backgroundColor))]"
    )
    found = []
    for pair in pairs:
        ink, paper = (list(map(float, re.findall(r"[\d.]+", part))) for part in pair.split(";"))
        if len(paper) == 3:
            found.append(contrast(ink, paper))
    return min(found)


def contrast(ink: list[float], paper: list[float]) -> float:
    def light(colour: list[float]) -> float:
        parts = np.array(colour[:3]) / 255
        linear = np.where(parts <= 0.03928, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return float(linear @ (0.2126, 0.7152, 0.0722))

    bright, dark = sorted((light(ink), light(paper)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


@needs_browser
def test_axe_finds_nothing(browser: Browser, page: Path) -> None:
    for width, scheme, rules in ((1280, "light", ()), (400, "dark", LOOK)):
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if scheme == "dark" else "light",
            bypass_csp=True,
            offline=True,
        )
        sheet = context.new_page()
        sheet.goto(page.resolve().as_uri())
        assert accessibility_errors(sheet, rules) == [], (width, scheme)
        context.close()


def test_every_role_has_a_style() -> None:
    template = files("recon_cli.capabilities.init").joinpath("reading.html.j2").read_text()
    view = view_of(HEADER, *PLACES)
    assert {style for style, _, _ in view.roles} == {"header", "place", "count", "marker"}
    from recon_cli.capabilities.init.sheet_view import ROLES

    assert set(ROLES) == set(Role) - {Role.BLANK}
    assert all(f".{style}" in template for style, _ in ROLES.values())
