"""``report:`` the page's title, the rule of its verdict, and where a copy of it goes.

Writes report/: report.html (charts, tables, provenance; self-contained), report.md, and every
chart as SVG. The page begins with a verdict and its rule, shows the results in the work
folder and, for missing ones, the command that makes them. It lists the places where most is
revealed, each with a page of its own (place-GEOID.html), which is as confidential as the data.
With report.places=0 the page has totals only and names no place.

Example:
  recon report -c al.yaml
  recon report --title "Alabama, 2010" --to al.html
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from recon_cli.capabilities.findings.kinds import Disclosure
from recon_cli.config.model import ConfigPath, Section


class Report(Section):
    """The section ``report``.

    Attributes:
        title: The page's heading; default the release's title.
        to: A file that gets a copy of the page; default none.
        rule: Who counts as disclosed: ``attribute``: people for whom some columns determine
            another; ``identity``: those of them who are unique on these columns; ``record``: people
            whose whole record is certain.
        tolerated: Percentage of disclosed people above which the verdict is an alarm.
        places: Number of places to list, those with most disclosed first, each with a page of its
            own; 0 to list none and show no count of a place.
    """

    title: str | None = None
    to: ConfigPath | None = None
    rule: Disclosure = "attribute"
    tolerated: Annotated[float, Field(ge=0, lt=100, strict=False)] = 0.0
    places: Annotated[int, Field(ge=0, le=20_000)] = 100

    def outputs(self) -> tuple[Path, ...]:
        """Return the copy of the page, if one is wanted."""
        return () if self.to is None else (self.to,)
