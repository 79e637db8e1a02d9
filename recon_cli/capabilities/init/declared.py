"""Declare how counts were published, as a user says it: suppressed, rounded, which places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from recon_cli.errors import ConfigError
from recon_cli.statement.rounding import Rounded
from recon_cli.statement.suppression import Suppressed

Rounding = Literal["nearest", "random", "controlled", "none"]


@dataclass(frozen=True)
class Declared:
    """Statement of a user on how counts were published.

    Attributes:
        rule: By what rule counts are suppressed; None where that is unknown.
        rounding: How counts that look rounded are; ``none``: they are exact.
        lists_all: Whether the files list every place.
    """

    rule: Suppressed | None = None
    rounding: Rounding | None = None
    lists_all: bool = False

    @classmethod
    def of(
        cls,
        below: int | None,
        rounded: Rounding | None,
        *,
        complementary: bool,
        zeros: bool,
        all_places: bool,
    ) -> Declared:
        """Return what flags say.

        Raises:
            ConfigError: A rule of suppression has no threshold.
        """
        if below is None and (complementary or zeros):
            flag = "--complementary" if complementary else "--zeros"
            raise ConfigError(f"{flag}: say below which number counts are suppressed: --below N")
        if below is None:
            return cls(None, rounded, all_places)
        flagged: Literal["positive", "may-be-zero"] = "may-be-zero" if zeros else "positive"
        rule = Suppressed(below=below, flagged=flagged, complementary=complementary)
        return cls(rule, rounded, all_places)

    def rounded_to(self, base: int) -> Rounded:
        """Return the law of counts that are all multiples of a base; the widest by default."""
        if self.rounding is None or self.rounding == "none":
            return Rounded(base=base)
        return Rounded(base=base, how=self.rounding)


NOTHING_DECLARED: Final = Declared()
