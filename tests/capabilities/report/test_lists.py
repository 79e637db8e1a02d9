"""Lists in a page: sorted and filtered where scripts run, whole where they do not."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from recon_cli.page.document import Headline, ReportDocument, ReportSection, ResultTable
from recon_cli.page.html import html_page
from tests.support.browser import Sight, needs_browser, opened

PLACES = ("Øst", "ward 10", "ward 9", "Å <b>", "ward 1")
COUNTS = ("12", "1,203", "–", "3 to 5", "0")


def page_of(rows: tuple[tuple[str, ...], ...]) -> str:
    sheet = ResultTable("Places", ("place", "kind", "count"), rows, 2, is_list=True)
    sums = ResultTable("Sums", ("size", "count"), (("All", "9"), ("1-9", "4")), 1)
    section = ReportSection("places", "Places", sheets=(sheet, sums))
    return html_page(
        ReportDocument("A page", "of lists", Headline(("Yes",), ()), (), (), (section,))
    )


@pytest.fixture
def page(tmp_path: Path) -> Path:
    rows = [(place, "town", count) for place, count in zip(PLACES, COUNTS, strict=True)]
    rows += [(f"hamlet {number}", "village", f"{number}") for number in range(20, 30)]
    path = tmp_path / "page.html"
    path.write_text(page_of(tuple(rows)))
    return path


def column(sight: Sight, number: int) -> list[str]:
    """What is to be read in a column of the list, top down."""
    cells = sight.page.locator(f"table.list tbody tr:visible > :nth-child({number})")
    return [str(text) for text in cells.all_text_contents()]


def test_the_policy_allows_the_own_script_alone(page: Path) -> None:
    html = page.read_text()
    [script] = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    digest = b64encode(sha256(script.encode()).digest()).decode()
    [policy] = re.findall(r'Content-Security-Policy" content="(.*?)"', html)
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["script-src"] == f"'sha256-{digest}'"
    assert rules["default-src"] == "'none'"
    assert not re.search(r"\son\w+=|javascript:|eval|innerHTML|fetch\(|https?:", script)


@needs_browser
def test_no_other_script_runs(browser: Browser, page: Path) -> None:
    foreign = (
        "<script>document.title = 'taken'</script><img src=x onerror=\"document.title='taken'\">"
    )
    page.write_text(page.read_text().replace("<h1>", f"{foreign}<h1>"))
    with opened(browser, page) as sight:
        assert sight.page.title() == "A page"
        assert any("Content Security Policy" in problem for problem in sight.problems)
        assert sight.page.locator("table.list th button").count() == 3, "the own one runs"


@needs_browser
def test_rows_are_sorted_by_a_column(browser: Browser, page: Path) -> None:
    with opened(browser, page) as sight:
        heads = sight.page.locator("table.list thead th")
        assert sight.page.locator("[aria-sort]").count() == 0
        count = sight.page.get_by_role("button", name="count")
        count.focus()
        sight.page.keyboard.press("Enter")
        assert heads.nth(2).get_attribute("aria-sort") == "descending"
        assert column(sight, 3)[:2] == ["1,203", "29"]
        assert column(sight, 3)[-2:] == ["0", "–"], "what has no number is last"
        sight.page.keyboard.press("Space")
        assert heads.nth(2).get_attribute("aria-sort") == "ascending"
        assert column(sight, 3)[:3] == ["0", "3 to 5", "12"]
        assert column(sight, 3)[-1] == "–"
        sight.page.get_by_role("button", name="place").click()
        assert sight.page.locator("[aria-sort]").count() == 1
        assert heads.nth(0).get_attribute("aria-sort") == "ascending"
        wards = [name for name in column(sight, 1) if name.startswith("ward")]
        assert wards == ["ward 1", "ward 9", "ward 10"], "as people count"
        assert len(column(sight, 1)) == 15
        assert sight.page.locator("table:not(.list) button").count() == 0, "sums keep their order"
        assert sight.problems == []


@needs_browser
def test_rows_are_filtered_by_words_and_printed_all(browser: Browser, page: Path) -> None:
    with opened(browser, page) as sight:
        box = sight.page.get_by_label("Show rows with")
        told = sight.page.get_by_role("status")
        assert told.text_content() == "15 rows"
        box.fill("WARD 9")
        expect(told).to_have_text("1 of 15 rows")
        assert column(sight, 1) == ["ward 9"]
        sight.page.emulate_media(media="print")
        assert len(column(sight, 1)) == 15
        assert not box.is_visible()
        sight.page.emulate_media(media="screen")
        box.fill("<b> village")
        expect(told).to_have_text("0 of 15 rows")
        box.fill("<b> town")
        expect(told).to_have_text("1 of 15 rows")
        assert column(sight, 1) == ["Å <b>"]
        box.fill("")
        expect(told).to_have_text("15 of 15 rows")
        assert len(column(sight, 1)) == 15
        assert sight.problems == []


@needs_browser
def test_without_scripts_the_list_is_whole(browser: Browser, page: Path) -> None:
    with opened(browser, page, scripts=False) as sight:
        assert len(column(sight, 1)) == 15
        assert sight.page.locator("input, button, output").count() == 0


@needs_browser
def test_ten_thousand_rows_stay_quick(browser: Browser, tmp_path: Path) -> None:
    rows = tuple((f"block {n * 7919 % 10_000}", "block", f"{n:,}") for n in range(10_000))
    path = tmp_path / "long.html"
    path.write_text(page_of(rows))
    with opened(browser, path) as sight:
        sorting = "document.querySelector('table.list button').click()"
        timed = (
            f"(() => {{ const t = performance.now(); {sorting}; return performance.now() - t }})()"
        )
        assert sight.page.evaluate(timed) < 3_000
        first = sight.page.locator("table.list tbody tr").first
        assert first.locator("th").text_content() == "block 0"
        sight.page.get_by_label("Show rows with").fill("block 777")
        expect(sight.page.get_by_role("status")).to_have_text("29 of 10,000 rows")
        assert sight.overflow() <= 0
