"""Plurals of levels and of the subjects of records."""

from __future__ import annotations


def plural(name: str) -> str:
    """Return the plural of a level's name, or of the subject of a record.

    >>> plural("block"), plural("county"), plural("class"), plural("person")
    ('blocks', 'counties', 'classes', 'people')
    >>> plural("level_4"), plural("all_places")
    ('level_4_places', 'all_places')
    """
    if name == "person":
        return "people"
    if name.endswith("places"):
        return name
    if name[-1:].isdigit():
        return f"{name}_places"
    if name.endswith("y") and name[-2:-1] not in "aeiou":
        return f"{name[:-1]}ies"
    return f"{name}es" if name.endswith(("s", "x", "ch", "sh")) else f"{name}s"


def counted(number: int, name: str) -> str:
    """Format a number with its noun.

    >>> counted(1, "table"), counted(2015, "person")
    ('1 table', '2,015 people')
    """
    return f"{number:,} {name if number == 1 else plural(name)}"
