"""The report in a browser: it draws everything, asks for nothing, and fits every screen."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Locator

from recon_cli.report.charts import Spec
from tests.support import reported
from tests.support.browser import Sight, chromium, needs_browser, opened

pytestmark = needs_browser

Scheme = Literal["light", "dark"]
#: Text on its background, and marks on theirs: WCAG 2.1, level AA.
_TEXT, _MARK = 4.5, 3.0


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.getbasetemp()
    return reported.write_report(reported.attacked(base))


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.getbasetemp()
    return reported.write_report(reported.toy(base))


def drawn(sight: Sight, scheme: Scheme = "light") -> None:
    sight.page.wait_for_selector(f"html[data-drawn={scheme}]", timeout=120_000)


def count(sight: Sight, selector: str) -> int:
    return sight.page.locator(selector).count()


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (360, "dark")])
def test_every_chart_is_drawn_quietly(
    browser: Browser, full: Path, width: int, scheme: Scheme
) -> None:
    with opened(browser, full, width=width, scheme=scheme) as sight:
        drawn(sight, scheme)
        boxes = [each.bounding_box() for each in sight.page.locator(".live > svg").all()]
        assert len(boxes) == count(sight, "figure") == 9
        for box in boxes:
            assert box is not None
            assert box["width"] > 250
            assert box["height"] > 100
            assert box["x"] + box["width"] <= width
        specs = json.loads(sight.page.locator("#charts").text_content() or "")["specs"]
        for name, spec in specs.items():
            everything_is_there(sight.page.locator(f"#figure-{name} .live"), spec)
        assert sight.overflow() <= 0
        sight.page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        assert sight.overflow() <= 0, "tables scroll in their own box"
        legible(sight)
        assert sight.problems == []
        assert sight.requests == []


def everything_is_there(live: Locator, spec: Spec) -> None:
    """Every number is written, every point drawn, and every bar that is not empty."""
    rows = spec["datasets"]["rows"]
    words = " ".join(live.locator("text").all_text_contents())
    numbers = [v for row in rows for k, v in row.items() if k.endswith("_text")]
    assert all(number in words for number in numbers)
    points = sum("value" in row for row in rows)
    if points:
        assert live.locator(".mark-symbol.role-mark > path").count() == points
    else:
        bars = live.locator(".mark-rect.role-mark > path").all()
        filled = [bar for bar in bars if (bar.bounding_box() or {"width": 0})["width"] > 1]
        assert len(filled) >= len(numbers)
    assert points or numbers


def test_a_report_without_attackers(browser: Browser, bare: Path) -> None:
    with opened(browser, bare) as sight:
        drawn(sight)
        assert count(sight, ".live > svg") == count(sight, "figure") == 2
        assert count(sight, ".missing") == 4  # claims among them
        assert sight.problems == []
        assert sight.requests == []


def test_charts_follow_the_reader(browser: Browser, bare: Path) -> None:
    with opened(browser, bare) as sight:
        drawn(sight)
        sight.page.emulate_media(color_scheme="dark")
        drawn(sight, "dark")
        dark = sight.page.locator(".live > svg").first.evaluate("svg => svg.outerHTML")
        assert 'fill="#e6e9ec"' in dark
        assert 'fill="#1b1f24"' not in dark, "no ink for paper is left"
        wide = sight.page.locator(".live > svg").first.bounding_box()
        assert wide is not None
        sight.page.set_viewport_size({"width": 380, "height": 900})
        sight.page.wait_for_function(
            "document.querySelector('.live > svg').getBoundingClientRect().width < 380"
        )
        assert sight.overflow() <= 0
        assert sight.problems == []


def test_without_scripts_and_on_paper_the_pictures_stand(browser: Browser, bare: Path) -> None:
    with opened(browser, bare, scripts=False) as sight:
        pictures = sight.page.locator(".picture img").all()
        assert [each.is_visible() for each in pictures] == [True, True]
        assert all(len(each.get_attribute("alt") or "") > 60 for each in pictures)
    with opened(browser, bare, scheme="dark") as sight:
        drawn(sight, "dark")
        sight.page.emulate_media(media="print")
        assert sight.page.locator(".picture img").first.is_visible()
        assert not sight.page.locator(".live").first.is_visible()
        ink = sight.page.evaluate("getComputedStyle(document.body).color")
        assert ink == "rgb(0, 0, 0)"


def legible(sight: Sight) -> None:
    """Text and marks stand out from their background."""
    style = "getComputedStyle(document.documentElement).getPropertyValue"
    paper, *inks = (
        str(sight.page.evaluate(f"{style}('--{name}')"))
        for name in ("paper", "ink", "soft", "accent", "warn")
    )
    assert all(contrast(ink, paper) >= _TEXT for ink in inks)
    symbols = sight.page.locator(".live .role-legend-symbol path").all()
    fills = {str(each.get_attribute("fill")) for each in symbols}
    assert len(fills) > 5
    assert all(contrast(fill, paper) >= _MARK for fill in fills), fills


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
