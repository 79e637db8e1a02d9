"""No accessibility error that axe finds on the report and its places."""

from __future__ import annotations

from importlib.resources import files

import pytest
from playwright.sync_api import BrowserContext, Page

from tests.support import reported
from tests.support.browser import chromium, needs_browser

pytestmark = needs_browser


def violations(page: Page, script: str) -> list[str]:
    """What axe finds on a page, everything that folds opened."""
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    page.evaluate(script)
    options = "{resultTypes: ['violations'], preload: false}"
    ids = page.evaluate(f"axe.run({options}).then(found => found.violations.map(each => each.id))")
    return [str(each) for each in ids]


def test_the_report_and_its_places(tmp_path_factory: pytest.TempPathFactory) -> None:
    script = files("axe_playwright_python").joinpath("axe.min.js").read_text()
    report = reported.write_report(reported.attacked(tmp_path_factory.getbasetemp()))
    place = next(report.parent.glob("place-*.html"))
    with chromium() as browser:
        for width, scheme, pages in ((1280, "light", [report]), (390, "dark", [report, place])):
            context: BrowserContext = browser.new_context(
                viewport={"width": width, "height": 900},
                color_scheme="dark" if scheme == "dark" else "light",
                bypass_csp=True,
                offline=True,
            )
            for path in pages:
                page = context.new_page()
                page.goto(path.resolve().as_uri())
                assert violations(page, script) == [], (path.name, width, scheme)
            context.close()
