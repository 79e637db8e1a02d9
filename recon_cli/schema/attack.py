"""What an attacker of a release links on, and what a link tells him."""

from __future__ import annotations

from dataclasses import dataclass

from recon_cli.errors import SchemaError


@dataclass(frozen=True)
class AttackKeys:
    """The columns of a linking attack, within one geounit of the finest level.

    Attributes:
        exact: What a pair of records shares in the first pass (``sex, age``).
        binned: What it shares in the second, coarser pass (``sex, agebin``).
        gains: What the attacker learns from the source of a link (``race, hispanic``).
    """

    exact: tuple[str, ...]
    binned: tuple[str, ...]
    gains: tuple[str, ...]

    def __post_init__(self) -> None:
        for name in ("exact", "binned", "gains"):
            columns = getattr(self, name)
            if not columns:
                raise SchemaError(f"attack.{name}: at least one column is expected")
            if len(set(columns)) != len(columns):
                raise SchemaError(f"attack.{name}: {', '.join(columns)}: a column is named twice")

    @property
    def columns(self) -> tuple[str, ...]:
        """All of them, each once."""
        return tuple(dict.fromkeys((*self.exact, *self.binned, *self.gains)))

    @property
    def lists(self) -> dict[str, list[str]]:
        """As a schema and a recipe have them."""
        return {name: list(getattr(self, name)) for name in ("exact", "binned", "gains")}
