"""``report:`` what the page is called, by which rule it judges, and where a copy of it goes.

Writes report/: report.html (charts, tables, provenance, nothing fetched), report.md, and
every chart as SVG. It begins with a verdict and the rule that it follows, shows what
the work folder holds and, for the rest, which command makes it. The places where most is given
away are listed, each with a page of its own (place-GEOID.html): keep them as the data. With
report.places=0 the page has sums only and names no place.

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
        rule: Who is given away: of whom some columns settle another one (``attribute``), who is
            also alone with them (``identity``), or whose whole record is certain (``record``).
        tolerated: How many people may be given away, in percent, before the verdict is yes.
        places: How many places are listed, those with most given away first, each with a page of
            its own; 0 for none, and no count of a place.
    """

    title: str | None = None
    to: ConfigPath | None = None
    rule: Disclosure = "attribute"
    tolerated: Annotated[float, Field(ge=0, lt=100, strict=False)] = 0.0
    places: Annotated[int, Field(ge=0, le=20_000)] = 100

    def outputs(self) -> tuple[Path, ...]:
        """The copy of the page, where one is asked for."""
        return () if self.to is None else (self.to,)
