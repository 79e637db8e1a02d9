"""Numbers and names, formatted for readers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from recon_cli.plurals import plural
from recon_cli.schema import Release


@dataclass(frozen=True)
class Words:
    """The nouns of a release.

    Attributes:
        unit: Name of a geounit of the finest level (``block``).
        columns: Histogram column → its name for readers.
        is_study: Whether the 2010 study is compared with: only then its own words are used.
        person: Subject of one record (``person``, ``household``, ``stay``).
    """

    unit: str
    units: str
    columns: dict[str, str]
    is_study: bool = False
    person: str = "person"
    people: str = "people"

    @property
    def is_human(self) -> bool:
        """Report whether records are about people, and not about households, stays and the like."""
        return self.person == "person"

    @property
    def nobody(self) -> str:
        return "nobody" if self.is_human else f"no {self.person}"

    @property
    def everybody(self) -> str:
        return "everybody" if self.is_human else f"all {self.people}"

    @property
    def somebody(self) -> str:
        return "somebody" if self.is_human else f"a {self.person}"

    @property
    def who(self) -> str:
        """Return the relative pronoun: who or which."""
        return "who" if self.is_human else "that"

    @property
    def whom(self) -> str:
        """Return the relative pronoun after a preposition: whom or which."""
        return "whom" if self.is_human else "which"

    @property
    def live(self) -> str:
        """Return the verb for being in a place."""
        return "live" if self.is_human else "are"

    @property
    def variability(self) -> str:
        """Return the name of the largest difference of another solution."""
        return "solvar" if self.is_study else "variability"

    @property
    def zero(self) -> str:
        """Return the name of the units in which no other solution differs."""
        return "zero solvar" if self.is_study else "no variability"

    @property
    def modal(self) -> str:
        """Name people with the most frequent values."""
        people = self.people
        return f"modal {people}" if self.is_study else f"{people} like most of their {self.unit}"

    @property
    def nonmodal(self) -> str:
        """Name people without the most frequent values."""
        people = self.people
        return (
            f"nonmodal {people}" if self.is_study else f"{people} unlike most of their {self.unit}"
        )

    def panel(self, name: str) -> str:
        """Name the people of a panel of rates, at the beginning of a line."""
        nonmodal, modal = capitalized(self.nonmodal), capitalized(self.modal)
        named = {
            "all": capitalized(self.everybody),
            "nonmodal": nonmodal,
            "modal": modal,
            "nonmodal_unique": f"{nonmodal}, and alone",
        }
        return named.get(name, name)

    def numbered(self, number: str, title: str) -> str:
        """Number a title as the study's table, where results are compared with a study."""
        return f"{number}. {title}" if self.is_study else title

    def listed(self, columns: Sequence[str]) -> str:
        """List columns in a sentence."""
        return enumerate_words([self.columns.get(name, name) for name in columns])


def words_of(release: Release, *, is_study: bool = False) -> Words:
    """Return the words of a release; a coarsened feature keeps the feature's name."""
    name = release.geography.unit.name
    columns = {}
    for column in release.histogram:
        feature = release.column_groups(column).feature
        shown = feature.replace("_", " ")
        columns[column] = shown if feature == column else f"{shown} group"
    unit, units = (each.replace("_", " ") for each in (name, plural(name)))
    person, people = (each.replace("_", " ") for each in (release.record, plural(release.record)))
    return Words(unit, units, columns, is_study, person, people)


def capitalized(text: str) -> str:
    """Capitalise the first letter, and keep other capitals.

    >>> capitalized("no MDF record")
    'No MDF record'
    """
    return text[:1].upper() + text[1:]


def enumerate_words(names: Sequence[str]) -> str:
    """Join names for a sentence.

    >>> enumerate_words(["sex"]), enumerate_words(["sex", "age", "race"])
    ('sex', 'sex, age and race')
    """
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def count(value: float | None) -> str:
    """Format a whole number; a dash for None.

    >>> count(12345.0), count(None)
    ('12,345', '–')
    """
    return "–" if value is None else f"{value:,.0f}"


def percent(value: float | None) -> str:
    """Format a percentage without its sign; 0.0 and 100.0 only if exact, a dash for None.

    >>> percent(12.345), percent(0.01), percent(99.99), percent(100.0), percent(None)
    ('12.3', '<0.1', '>99.9', '100.0', '–')
    """
    if value is None:
        return "–"
    if 0 < value < 0.05:
        return "<0.1"
    return ">99.9" if 99.95 <= value < 100 else f"{value:.1f}"


def percentage(part: float, whole: float) -> str:
    """Format a share in percent.

    >>> percentage(1, 3), percentage(3, 3), percentage(0, 5)
    ('33.3%', '100%', '0%')
    >>> percentage(999_999, 1_000_000), percentage(1, 100_000)
    ('more than 99.9%', 'less than 0.1%')
    """
    text = percent(percent_of(part, whole) or 0.0)
    spoken = {"100.0": "100", "0.0": "0", ">99.9": "more than 99.9", "<0.1": "less than 0.1"}
    return f"{spoken.get(text, text)}%"


def signed(points: float) -> str:
    """Format points with their sign; a minus as wide as a plus.

    >>> signed(1.25), signed(-3)
    ('+1.2', '−3.0')
    """
    return f"{points:+.1f}".replace("-", "\u2212")


def size_label(label: str) -> str:
    """Write a size class with an en dash.

    >>> size_label("10-49")
    '10–49'
    """
    return label.replace("-", "–")


def of_units(number: int, words: Words) -> str:
    """Format a number of geounits.

    >>> of_units(1, Words("block", "blocks", {})), of_units(2000, Words("block", "blocks", {}))
    ('1 block', '2,000 blocks')
    """
    return f"{number:,} {words.unit if number == 1 else words.units}"


def of_people(number: int, words: Words) -> str:
    """Format a number of records by their subject.

    >>> stays = Words("ward", "wards", {}, person="stay", people="stays")
    >>> of_people(1, stays), of_people(2000, stays)
    ('1 stay', '2,000 stays')
    """
    return f"{number:,} {words.person if number == 1 else words.people}"


def percent_of(part: float, whole: float) -> float | None:
    """Return a share in percent; None if the whole is 0.

    >>> percent_of(1, 4), percent_of(0, 0)
    (25.0, None)
    """
    return 100 * part / whole if whole else None


def agreement(compared: int, within: int, unbounded: int) -> str:
    """Describe how far records agree with the published cells that they were compared with.

    >>> agreement(846, 0, 0), agreement(846, 393, 12)
    ('all equal', '441 equal, 393 within what their law allows, 12 that nothing bounds')
    """
    if not within and not unbounded:
        return "all equal"
    parts = (
        (compared - within - unbounded, "equal"),
        (within, "within what their law allows"),
        (unbounded, "that nothing bounds"),
    )
    return ", ".join(f"{number:,} {what}" for number, what in parts if number)


def agreement_of(totals: Mapping[str, int]) -> str:
    """Describe the agreement in the totals of ``microdata/``, as far as it was recorded."""
    if "cells_within" not in totals:
        return "none contradicted"
    return agreement(totals["cells_compared"], totals["cells_within"], totals["cells_unbounded"])
