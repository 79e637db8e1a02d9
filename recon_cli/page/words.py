"""Numbers and names as people read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from recon_cli.plurals import plural
from recon_cli.schema import Release
from recon_cli.store.manifest import Manifest


@dataclass(frozen=True)
class Words:
    """A release's own words.

    Attributes:
        unit: What a geounit of the finest level is called (``block``).
        columns: Histogram column → what it is called.
        is_study: Whether the 2010 study is compared with: only then its own words are used.
        person: What one record is about (``person``, ``household``, ``stay``).
    """

    unit: str
    units: str
    columns: dict[str, str]
    is_study: bool = False
    person: str = "person"
    people: str = "people"

    @property
    def is_human(self) -> bool:
        """Whether records are about people, and not about households, stays and the like."""
        return self.person == "person"

    @property
    def nobody(self) -> str:
        """None of them."""
        return "nobody" if self.is_human else f"no {self.person}"

    @property
    def everybody(self) -> str:
        """All of them."""
        return "everybody" if self.is_human else f"all {self.people}"

    @property
    def somebody(self) -> str:
        """One of them."""
        return "somebody" if self.is_human else f"a {self.person}"

    @property
    def who(self) -> str:
        """The pronoun that refers to them."""
        return "who" if self.is_human else "that"

    @property
    def whom(self) -> str:
        """The pronoun after a preposition."""
        return "whom" if self.is_human else "which"

    @property
    def live(self) -> str:
        """What they do in a place."""
        return "live" if self.is_human else "are"

    @property
    def variability(self) -> str:
        """What the largest difference of another solution is called."""
        return "solvar" if self.is_study else "variability"

    @property
    def zero(self) -> str:
        """What a unit has that no other solution differs in."""
        return "zero solvar" if self.is_study else "no variability"

    @property
    def modal(self) -> str:
        """People whose values are the most frequent."""
        people = self.people
        return f"modal {people}" if self.is_study else f"{people} like most of their {self.unit}"

    @property
    def nonmodal(self) -> str:
        """People whose values are not the most frequent."""
        people = self.people
        return (
            f"nonmodal {people}" if self.is_study else f"{people} unlike most of their {self.unit}"
        )

    def panel(self, name: str) -> str:
        """Who is in a panel of the rates, to begin a line with."""
        nonmodal, modal = capitalized(self.nonmodal), capitalized(self.modal)
        named = {
            "all": capitalized(self.everybody),
            "nonmodal": nonmodal,
            "modal": modal,
            "nonmodal_unique": f"{nonmodal}, and alone",
        }
        return named.get(name, name)

    def numbered(self, number: str, title: str) -> str:
        """A title, with the number of the study's table where it is compared with."""
        return f"{number}. {title}" if self.is_study else title

    def listed(self, columns: Sequence[str]) -> str:
        """Columns in a sentence."""
        return enumerate_words([self.columns.get(name, name) for name in columns])


def words_of(release: Release, *, is_study: bool = False) -> Words:
    """The words of a release; a coarsened feature is called by the feature's name."""
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
    """A text that begins a sentence; other capitals stay.

    >>> capitalized("no MDF record")
    'No MDF record'
    """
    return text[:1].upper() + text[1:]


def enumerate_words(names: Sequence[str]) -> str:
    """Names in a sentence.

    >>> enumerate_words(["sex"]), enumerate_words(["sex", "age", "race"])
    ('sex', 'sex, age and race')
    """
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def count(value: float | None) -> str:
    """A whole number; a dash where there is none.

    >>> count(12345.0), count(None)
    ('12,345', '–')
    """
    return "–" if value is None else f"{value:,.0f}"


def percent(value: float | None) -> str:
    """A percentage without its sign; 0.0 and 100.0 only where it is that, a dash for none.

    >>> percent(12.345), percent(0.01), percent(99.99), percent(100.0), percent(None)
    ('12.3', '<0.1', '>99.9', '100.0', '–')
    """
    if value is None:
        return "–"
    if 0 < value < 0.05:
        return "<0.1"
    return ">99.9" if 99.95 <= value < 100 else f"{value:.1f}"


def percentage(part: float, whole: float) -> str:
    """A share in percent.

    >>> percentage(1, 3), percentage(3, 3), percentage(0, 5)
    ('33.3%', '100%', '0%')
    >>> percentage(999_999, 1_000_000), percentage(1, 100_000)
    ('more than 99.9%', 'less than 0.1%')
    """
    text = percent(percent_of(part, whole) or 0.0)
    spoken = {"100.0": "100", "0.0": "0", ">99.9": "more than 99.9", "<0.1": "less than 0.1"}
    return f"{spoken.get(text, text)}%"


def size_label(label: str) -> str:
    """A size class with a dash that reads as "to".

    >>> size_label("10-49")
    '10–49'
    """
    return label.replace("-", "–")


def of_units(number: int, words: Words) -> str:
    """A number of geounits.

    >>> of_units(1, Words("block", "blocks", {})), of_units(2000, Words("block", "blocks", {}))
    ('1 block', '2,000 blocks')
    """
    return f"{number:,} {words.unit if number == 1 else words.units}"


def of_people(number: int, words: Words) -> str:
    """A number of those that records are about.

    >>> stays = Words("ward", "wards", {}, person="stay", people="stays")
    >>> of_people(1, stays), of_people(2000, stays)
    ('1 stay', '2,000 stays')
    """
    return f"{number:,} {words.person if number == 1 else words.people}"


def stopped_words(manifest: Manifest) -> tuple[str, ...]:
    """What is true of a stage that was stopped before its end; nothing of another."""
    if manifest.stopped is None:
        return ()
    command = f"`recon {manifest.stage}`"
    return (
        f"**{command} was {manifest.stopped.words}.** What is said of those stands. The rest is "
        f"undecided, and not safe; the next {command} or `recon run` goes on from there.",
    )


def percent_of(part: float, whole: float) -> float | None:
    """A share as a number in percent; None of nothing.

    >>> percent_of(1, 4), percent_of(0, 0)
    (25.0, None)
    """
    return 100 * part / whole if whole else None


def agreement(compared: int, within: int, unbounded: int) -> str:
    """How far records agree with the published cells that they were compared with.

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
    """`agreement` of the totals of ``microdata/``, as far as the version that made them says."""
    if "cells_within" not in totals:
        return "none contradicted"
    return agreement(totals["cells_compared"], totals["cells_within"], totals["cells_unbounded"])
