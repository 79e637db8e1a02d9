"""Spellings that are on their way out: each still works for one version, and warns.

A `Former` is declared beside the code that still accepts it, and warned of where it is met. It is
deleted with the version that follows the one in which it changed, as a test reminds.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

from recon_cli.version import __version__


class FormerSpelling(FutureWarning):
    """A spelling of an earlier version was used, which the next version refuses."""


@dataclass(frozen=True)
class Former:
    """A spelling that still works.

    Attributes:
        spelling: What a user wrote.
        now: What to write instead.
        since: The version that changed it, such as ``0.3``: the last one that accepts it.

    >>> Former("ingest.source: wide", "ingest.source: sheet", "0.3").message
    'ingest.source: wide is now ingest.source: sheet; version 0.3 is the last that accepts it'
    """

    spelling: str
    now: str
    since: str

    @property
    def message(self) -> str:
        return (
            f"{self.spelling} is now {self.now}; version {self.since} is the last that accepts it"
        )

    @property
    def is_due(self) -> bool:
        """Report whether the running version is later than the last that accepts it."""
        return series_of(__version__) > series_of(self.since)

    def warn(self) -> None:
        warnings.warn(self.message, FormerSpelling, stacklevel=2)


def series_of(version: str) -> tuple[int, int]:
    """Return the major and minor number of a version.

    >>> series_of("0.10.2") > series_of("0.9")
    True
    """
    major, minor = version.split(".")[:2]
    return int(major), int(minor)
