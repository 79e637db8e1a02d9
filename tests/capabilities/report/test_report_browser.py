"""The report in a browser: it draws everything, asks for nothing, and fits every screen."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, BrowserContext, FloatRect, Locator

from recon_cli.page.charts import COLOURS
from tests.support import reported
from tests.support.browser import LOOK, Sight, accessibility_errors, needs_browser, opened

pytestmark = needs_browser

#: A page of a place takes as long as half of the report.
FEW = ("--set", "report.places=2")
Scheme = Literal["light", "dark"]
#: Text on its background, and marks on theirs: WCAG 2.1, level AA.
_TEXT, _MARK = 4.5, 3.0


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.getbasetemp()
    return reported.write_report(reported.attacked(base), *FEW)


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.getbasetemp()
    return reported.write_report(reported.toy(base), *FEW)


def count(sight: Sight, selector: str) -> int:
    return sight.page.locator(selector).count()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_every_chart_fits_the_window(
    browser: Browser, full: Path, width: int, scheme: Scheme
) -> None:
    with opened(browser, full, width=width, scheme=scheme) as sight:
        shown = sight.page.locator(".drawing svg:visible").all()
        assert len(shown) == count(sight, "figure") == 9
        for drawing in shown:
            box = drawing.bounding_box()
            assert box is not None
            assert box["width"] > 250
            assert box["height"] > 80
            assert box["x"] + box["width"] <= width
            inside(drawing, box)
        assert sight.overflow() <= 0
        sight.page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        assert sight.overflow() <= 0, "tables scroll in their own box"
        legible(sight)
        assert sight.problems == []
        assert sight.requests == []


def inside(drawing: Locator, box: FloatRect) -> None:
    """No text leaves the drawing, and none is too small to be read."""
    places = drawing.locator("text").evaluate_all(
        "texts => texts.map(text => { const r = text.getBoundingClientRect();"
        " return [r.left + scrollX, r.right + scrollX, r.height]; })"
    )
    for left, right, height in places:
        assert left >= box["x"] - 1
        assert right <= box["x"] + box["width"] + 1
        assert height > 9


def test_a_report_without_attackers(browser: Browser, bare: Path) -> None:
    with opened(browser, bare) as sight:
        assert count(sight, ".drawing svg:visible") == count(sight, "figure") == 2
        assert count(sight, ".missing") == 4  # claims among them
        assert sight.problems == []
        assert sight.requests == []


def test_charts_follow_the_reader(browser: Browser, bare: Path) -> None:
    with opened(browser, bare, scripts=False) as sight:
        assert ink(sight) == rgb(COLOURS["ink"][0])
        sight.page.emulate_media(color_scheme="dark")
        assert ink(sight) == rgb(COLOURS["ink"][1])
        sight.page.set_viewport_size({"width": 380, "height": 900})
        drawing = sight.page.locator(".drawing svg:visible").first.bounding_box()
        assert drawing is not None
        assert drawing["width"] < 380
        sight.page.emulate_media(media="print")
        assert ink(sight) == rgb(COLOURS["ink"][0]), "the colours of paper"
        assert sight.page.locator(".drawing .wide").first.is_visible()
        assert not sight.page.locator(".drawing .narrow").first.is_visible()


def ink(sight: Sight) -> str:
    """The colour of the charts' text."""
    text = sight.page.locator(".drawing svg:visible text.ink").first
    return str(text.evaluate("text => getComputedStyle(text).fill"))


def rgb(colour: str) -> str:
    return "rgb({}, {}, {})".format(*(int(colour[at : at + 2], 16) for at in (1, 3, 5)))


def legible(sight: Sight) -> None:
    """Text stands out from its background."""
    style = "getComputedStyle(document.documentElement).getPropertyValue"
    paper, *inks = (
        str(sight.page.evaluate(f"{style}('--{name}')"))
        for name in ("paper", "ink", "soft", "accent", "warn")
    )
    assert all(contrast(ink, paper) >= _TEXT for ink in inks)


def test_axe_finds_nothing_on_the_report_and_its_places(browser: Browser, full: Path) -> None:
    place = next(full.parent.glob("place-*.html"))
    views: tuple[tuple[int, Scheme, list[tuple[Path, tuple[str, ...]]]], ...] = (
        (1280, "light", [(full, LOOK)]),
        (390, "dark", [(full, ()), (place, ())]),
    )
    for width, scheme, pages in views:
        context: BrowserContext = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            bypass_csp=True,
            offline=True,
        )
        for path, rules in pages:
            page = context.new_page()
            page.goto(path.resolve().as_uri())
            assert accessibility_errors(page, rules) == [], (path.name, width, scheme)
        context.close()


def test_marks_stand_out_from_white_and_dark_paper() -> None:
    for name, shades in COLOURS.items():
        for shade, paper in zip(shades, ("#ffffff", "#14171a"), strict=True):
            if name not in {"line", "grey-3"}:
                assert contrast(shade, paper) >= _MARK, name


def contrast(one: str, other: str) -> float:
    """The WCAG contrast ratio of two colours such as ``#0b5cad``."""

    def luminance(colour: str) -> float:
        parts = [int(colour.strip()[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        red, green, blue = (
            part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)
