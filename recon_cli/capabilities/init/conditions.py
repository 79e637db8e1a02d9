"""Conditions: the people whom a label counts, as values of features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

#: Feature → its values, by their keys in the schema; all values of an absent feature.
Condition = Mapping[str, tuple[str, ...]]
#: A key that is equal for two conditions that count the same people.
Key = tuple[tuple[str, tuple[str, ...]], ...]


def key_of(condition: Condition) -> Key:
    """Return a key that is equal for two conditions that count the same people.

    >>> key_of({"sex": ("male",), "age": ("5-9", "0-4")})
    (('age', ('0-4', '5-9')), ('sex', ('male',)))
    """
    return tuple(sorted((name, tuple(sorted(values))) for name, values in condition.items()))


def cell_of(condition: Condition) -> object:
    """Return the people of a condition as a schema writes a cell.

    >>> cell_of({}), cell_of({"sex": ("male",)}), cell_of({"age": ("0-4", "5-9")})
    ('total', {'where': {'sex': 'male'}}, {'where': {'age': ['0-4', '5-9']}})
    """
    if not condition:
        return "total"
    return {"where": values_of(condition)}


def values_of(condition: Condition) -> dict[str, object]:
    """Return a condition as YAML writes it: one value as such, several as a list."""
    return {
        name: values[0] if len(values) == 1 else list(values) for name, values in condition.items()
    }


def distinct(cells: Sequence[Condition]) -> list[Condition]:
    """Return the cells without duplicates."""
    return list({key_of(cell): cell for cell in cells}.values())
