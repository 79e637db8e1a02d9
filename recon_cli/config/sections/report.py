"""``report:`` what the page is called, and where a copy of it goes."""

from __future__ import annotations

from pathlib import Path

from recon_cli.config.model import ConfigPath, Section


class Report(Section):
    """The section ``report``.

    Attributes:
        title: The page's heading; default the release's title.
        to: A file that gets a copy of the page; default none.
    """

    title: str | None = None
    to: ConfigPath | None = None

    def outputs(self) -> tuple[Path, ...]:
        """The copy of the page, where one is asked for."""
        return () if self.to is None else (self.to,)
