"""No accessibility error that axe finds on the report and its places."""

from __future__ import annotations

import pytest
from playwright.sync_api import BrowserContext

from tests.support import reported
from tests.support.browser import accessibility_errors, chromium, needs_browser

pytestmark = needs_browser


def test_the_report_and_its_places(tmp_path_factory: pytest.TempPathFactory) -> None:
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
                assert accessibility_errors(page) == [], (path.name, width, scheme)
            context.close()
