"""``check:`` rules about the published tables, and how many violations each allows."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, model_validator

from recon_cli.config.model import ConfigModel, Names, Section
from recon_cli.errors import ConfigError
from recon_cli.schema import Release

#: What a rule can be about, as its key.
RULES: Final = ("recovered", "certain_records", "disclosed", "interval")
#: Those of people, whose limit may be a share.
_OF_PEOPLE: Final = ("certain_records", "disclosed")


class Recovered(ConfigModel):
    """Withheld counts that the others settle, of a size.

    Attributes:
        from_: The least of these counts.
        below: Counts from here on may be known.
        published: Whether counts of this size that are published as they are count as well;
            zeros never do.
    """

    from_: Annotated[int, Field(alias="from", ge=0)] = 1
    below: Annotated[int, Field(ge=1)]
    published: bool = True

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if self.from_ >= self.below:
            raise ValueError(f"from: less than below ({self.below}) is expected")
        return self


class CertainRecords(ConfigModel):
    """Records that are in every solution.

    Attributes:
        columns: Of the release's histogram; default those that the tables show.
    """

    columns: Names | None = None


class Disclosed(ConfigModel):
    """People of whom known columns settle another one.

    Attributes:
        kind: Which disclosure, as in ``disclosures/``.
        known: At most so many columns of a person are known.
    """

    kind: Literal["attribute", "identity", "inferential"] = "attribute"
    known: Annotated[int, Field(ge=0)]


class Interval(ConfigModel):
    """Suppressed, rounded or left out counts of which too little is left open.

    Attributes:
        at_least: The greatest possible count less the least, in each.
    """

    at_least: Annotated[int, Field(ge=1)]


class Rule(ConfigModel):
    """One rule: what is counted, and how much of it is allowed.

    Attributes:
        recovered: Withheld counts that the others settle.
        certain_records: Records that are in every solution.
        disclosed: People of whom known columns settle another one.
        interval: Withheld counts of which too little is left open.
        most: So many are allowed.
        share: So many of all people are allowed, from 0 to 1; for people only.
    """

    recovered: Recovered | None = None
    certain_records: CertainRecords | None = None
    disclosed: Disclosed | None = None
    interval: Interval | None = None
    most: Annotated[int, Field(ge=0)] | None = None
    share: Annotated[float, Field(ge=0, le=1, strict=False)] | None = None

    @model_validator(mode="before")
    @classmethod
    def _bare(cls, value: Any) -> Any:
        """``certain_records:`` with nothing behind it is a rule with its defaults."""
        if not isinstance(value, dict):
            return value
        return {key: {} if each is None and key in RULES else each for key, each in value.items()}

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        named = [name for name in RULES if getattr(self, name) is not None]
        if len(named) != 1:
            raise ValueError(f"exactly one of {', '.join(RULES)} is expected")
        if (self.most is None) == (self.share is None):
            raise ValueError("a limit is expected: most, or share for people")
        if self.share is not None and self.name not in _OF_PEOPLE:
            raise ValueError(f"{self.name} has no share; give most")
        return self

    @property
    def name(self) -> str:
        """Which of `RULES` it is."""
        return next(name for name in RULES if getattr(self, name) is not None)


class Check(Section):
    """The section ``check``.

    Attributes:
        rules: Each with one of ``recovered``, ``certain_records``, ``disclosed`` and ``interval``,
            and a limit, ``most`` or ``share``.
    """

    rules: Annotated[tuple[Rule, ...], Field(strict=False, min_length=1)]

    def check(self, release: Release) -> None:
        """Refuse columns that are not in the histogram."""
        for number, rule in enumerate(self.rules):
            named = rule.certain_records.columns if rule.certain_records is not None else None
            for column in named or ():
                if column not in release.histogram:
                    raise ConfigError(
                        f"rules[{number}].certain_records.columns: no column {column!r} in the "
                        f"histogram (columns: {', '.join(release.histogram)})"
                    )
