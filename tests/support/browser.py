"""Pages as a browser shows them: the system's Chromium, without a network.

Tests are skipped where there is none; with ``RECON_BROWSER=required`` that is a failure.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

#: Where the browser is; None where there is none.
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
REQUIRED = os.environ.get("RECON_BROWSER") == "required"
needs_browser = pytest.mark.skipif(
    CHROMIUM is None and not REQUIRED, reason="there is no Chromium; RECON_BROWSER=required fails"
)
_QUIET = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


@dataclass
class Sight:
    """A page that is open.

    Attributes:
        page: The page.
        problems: What it said on the console, warnings too, and errors that it threw.
        requests: Addresses that it asked for, itself and what it holds left out.
    """

    page: Page
    problems: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def overflow(self) -> float:
        """Pixels by which the page is wider than its window."""
        root = "document.documentElement"
        wide = self.page.evaluate(f"{root}.scrollWidth - {root}.clientWidth")
        return float(wide)


@contextmanager
def chromium() -> Iterator[Browser]:
    """A headless browser."""
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=list(_QUIET))
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(
    browser: Browser,
    path: Path,
    *,
    width: int = 1200,
    scheme: Literal["light", "dark"] = "light",
    scripts: bool = True,
) -> Iterator[Sight]:
    """Open a file of this machine.

    Args:
        browser: As from `chromium`.
        path: The page.
        width: Of the window, in pixels.
        scheme: What the reader prefers.
        scripts: Whether scripts run.
    """
    context: BrowserContext = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme=scheme,
        java_script_enabled=scripts,
        offline=True,
    )
    try:
        page = context.new_page()
        sight = Sight(page)
        own = path.resolve().as_uri()
        page.on("console", lambda message: sight.problems.append(message.text))
        page.on("pageerror", lambda error: sight.problems.append(str(error)))
        page.on(
            "request",
            lambda request: (
                None
                if request.url.startswith("data:") or request.url.partition("#")[0] == own
                else sight.requests.append(request.url)
            ),
        )
        page.goto(own)
        yield sight
    finally:
        context.close()


#: Rows of a table behind these are as those before them.
_ROWS = 4
#: What axe asks of the look of a page, and not of what is in it.
LOOK = ("color-contrast", "link-in-text-block", "scrollable-region-focusable", "target-size")


def accessibility_errors(page: Page, rules: tuple[str, ...] = ()) -> list[str]:
    """What axe finds on a page, everything that folds opened: each rule, and the first element.

    The first rows of each table stand for all: the time goes into the contrast of each cell.

    Args:
        page: The page.
        rules: Those that are tried; default all.
    """
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text())
    context = f"{{exclude: [['tbody > tr:nth-child(n+{_ROWS + 1})']]}}"
    only = f", runOnly: {list(rules)}" if rules else ""
    found = page.evaluate(
        f"axe.run({context}, {{resultTypes: ['violations'], preload: false{only}}})"
        ".then(found => found.violations.map(each => each.id + ' ' + each.nodes[0].html))"
    )
    return [str(each) for each in found]
