"""Statements of a user on how counts were published: suppressed, rounded, of which places."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, get_args

from recon_cli.errors import ConfigError
from recon_cli.statement.rounding import Rounded
from recon_cli.statement.suppression import Suppressed

Rounding = Literal["nearest", "random", "controlled", "none"]


@dataclass(frozen=True)
class Declared:
    """Statement of a user on how counts were published.

    Attributes:
        rules: Text in place of counts → the rule by which these are suppressed; under None the
            rule of all other texts.
        rounding: How counts that look rounded were rounded; ``none``: they are exact.
        lists_all: Whether the files list every place.
    """

    rules: Mapping[str | None, Suppressed] = field(default_factory=dict)
    rounding: Rounding | None = None
    lists_all: bool = False

    @classmethod
    def of(
        cls,
        below: Sequence[str],
        rounded: Rounding | None,
        *,
        complementary: bool,
        zeros: bool,
        all_places: bool,
        protecting: Sequence[str] = (),
    ) -> Declared:
        """Return the statement that flags make.

        Args:
            below: ``5`` for all texts, ``c=5`` for the text ``c``, ``=5`` for blanks.
            protecting: Texts that stand in place of counts to protect others.

        Raises:
            ConfigError: A rule of suppression has no threshold, or none above 1.
        """
        if not below and (complementary or zeros):
            flag = "--complementary" if complementary else "--zeros"
            raise ConfigError(f"{flag}: say below which number counts are suppressed: --below N")
        flagged: Literal["positive", "may-be-zero"] = "may-be-zero" if zeros else "positive"
        rules: dict[str | None, Suppressed] = {}
        for text in below:
            marker, is_of_one, number = text.rpartition("=")
            if not number.isdecimal() or int(number) < 2:
                raise ConfigError(
                    f"--below {text}: say a number above 1, or a text and a number, such as c=5"
                )
            rules[marker if is_of_one else None] = Suppressed(
                below=int(number), flagged=flagged, complementary=complementary
            )
        rules |= {marker: Suppressed(flagged=flagged) for marker in protecting}
        return cls(rules, rounded, all_places)

    def rule_of(self, marker: str) -> Suppressed | None:
        """Return the rule by which a text stands in place of counts; None where it is unknown."""
        return self.rules.get(marker, self.rules.get(None))

    def within(self, markers: Sequence[str]) -> Declared:
        """Return the statement with its rule of all texts restricted to some markers."""
        rule = self.rules.get(None)
        if rule is None:
            return self
        rules: dict[str | None, Suppressed] = dict.fromkeys(markers, rule)
        rules |= {marker: own for marker, own in self.rules.items() if marker is not None}
        return replace(self, rules=rules)

    def with_flags(self, flags: str) -> tuple[Declared, str]:
        """Return the statement with an answer's rounding, and the other flags of the answer.

        Example:
            >>> declared, rest = NOTHING_DECLARED.with_flags("--rounded none --count 'Of age'")
            >>> declared.rounding, rest
            ('none', "--count 'Of age'")
        """
        words = shlex.split(flags)
        if "--rounded" not in words:
            return self, flags
        at = words.index("--rounded")
        (how,) = (each for each in get_args(Rounding) if each == words[at + 1])
        return replace(self, rounding=how), shlex.join([*words[:at], *words[at + 2 :]])

    @property
    def below(self) -> int:
        """Return the greatest declared threshold; 0 if there is none."""
        return max((rule.below or 0 for rule in self.rules.values()), default=0)

    def rounded_to(self, base: int) -> Rounded:
        """Return the law of counts rounded to a base: as the user says, else the widest."""
        if self.rounding is None or self.rounding == "none":
            return Rounded(base=base)
        return Rounded(base=base, how=self.rounding)


NOTHING_DECLARED: Final = Declared()
