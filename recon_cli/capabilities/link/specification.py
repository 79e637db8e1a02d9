"""The specification of a record linkage: sources, guessers, attacker files, linkage keys."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from recon_cli.capabilities.link.passes import Pass, default_passes, places_of
from recon_cli.errors import ConfigError
from recon_cli.schema import AttackKeys, Level, Release, Table

#: The study's words for the truth, and for the tabulated records.
CEF, HDF = "CEF", "HDF"
#: The attacker file that is the truth's own columns.
CEF_ATKR = "CEF_atkr"
#: The origin of guessers that know nothing but published tables.
TABLES = "tables"


@dataclass(frozen=True)
class Guesser:
    """A source that guesses the gained columns.

    Attributes:
        kind: ``modal`` (MDG) or ``proportional`` (PRG).
        origin: The source of the geounits' values and the records' keys, or `TABLES`.
        leave_one_out: Whether each guess is made from everybody else.

    Raises:
        ConfigError: Nobody can be left out of published tables.
    """

    name: str
    kind: Literal["modal", "proportional"]
    origin: str
    leave_one_out: bool = False

    def __post_init__(self) -> None:
        if self.origin == TABLES and self.leave_one_out:
            raise ConfigError(
                f"guessers.{self.name}: published tables hold no records to leave out"
            )


def default_guessers(origins: Collection[str], *, published: bool) -> tuple[Guesser, ...]:
    """Return MDG and PRG of the HDF; without one of the published tables, else of the truth.

    >>> [guesser.origin for guesser in default_guessers(["CEF"], published=True)]
    ['tables', 'tables']
    """
    origin = HDF if HDF in origins else TABLES if published else CEF
    return (Guesser("MDG", "modal", origin), Guesser("PRG", "proportional", origin))


def default_keys(release: Release) -> AttackKeys:
    """Return the linking columns of the schema.

    Raises:
        ConfigError: The schema has none.
    """
    if release.attack is None:
        raise ConfigError(f"release {release.name!r} does not say what an attacker links on")
    return release.attack


def parent_level(release: Release) -> Level:
    """Return the next coarser level, or the unit if it is the only level."""
    levels = release.geography.levels
    return levels[min(1, len(levels) - 1)]


def guesser_tables(release: Release, tables: Sequence[Table]) -> tuple[Table, ...]:
    """Return the ``tables`` of the finest level, the default for guessers."""
    unit = release.geography.unit.name
    return tuple(table for table in tables if unit in table.levels)


@dataclass(frozen=True)
class LinkageSpecification:
    """The files to link, the same for all partitions.

    Attributes:
        truth: Name of the truth among the sources (``CEF``).
        origins: Names of the sources that have records, the truth first.
        attackers: Names of the attacker files; `from_truth` are the truth's own columns.
        from_truth: Names of the attackers that have no file of their own.
        comparisons: Pairs of origins whose agreement is counted.
        baseline: The origin of the closed forms.
        modes: Origin → its most frequent gained value, over all partitions; a packed number.
        id: Column with a person's identifier.
        data_defined: Column of the truth that is false for records that cannot be linked.
        own_passes: Passes in place of the two by ``keys``; links are then counted by pass.

    Raises:
        ConfigError: A guesser has the name of a source, or guesses from none; a pass cannot be
            made, or two have one name.
    """

    release: Release
    keys: AttackKeys
    truth: str
    origins: tuple[str, ...]
    guessers: tuple[Guesser, ...]
    attackers: tuple[str, ...]
    from_truth: tuple[str, ...]
    comparisons: tuple[tuple[str, str], ...]
    baseline: str
    modes: Mapping[str, int]
    seed: int
    id: str = "pik"
    data_defined: str | None = None
    own_passes: tuple[Pass, ...] = ()

    def __post_init__(self) -> None:
        known = (*self.origins, TABLES)
        names = [each.name for each in self.own_passes]
        for each in self.own_passes:
            each.check(self.release, self.keys)
            if names.count(each.name) > 1:
                raise ConfigError(f"passes.{each.name}: two passes have that name")
        for guesser in self.guessers:
            if guesser.name in known:
                raise ConfigError(f"guessers.{guesser.name}: a source has that name")
            if guesser.origin not in known:
                raise ConfigError(
                    f"guessers.{guesser.name}: no source {guesser.origin!r} "
                    f"(known: {', '.join(known)})"
                )
            if guesser.leave_one_out and self.looks_beyond_units:
                raise ConfigError(
                    f"guessers.{guesser.name}.leave_one_out: a pass by {self.places[-1].name} "
                    "links records of other geounits, of whose people nobody is left out"
                )

    @classmethod
    def of(
        cls,
        release: Release,
        keys: AttackKeys,
        *,
        origins: Sequence[str],
        guessers: Sequence[Guesser],
        attackers: Mapping[str, bool],
        seed: int,
        id: str = "pik",  # noqa: A002 - the config's own word
        data_defined: str | None = None,
        passes: Sequence[Pass] = (),
    ) -> LinkageSpecification:
        """Make a specification that compares every origin with the CEF and the HDF; without modes.

        Args:
            origins: `CEF`, the truth, and the other sources with records.
            attackers: Attacker files, and whether each is the truth's own columns.
        """
        reference = [name for name in (CEF, HDF) if name in origins]
        return cls(
            release=release,
            keys=keys,
            truth=CEF,
            origins=tuple(origins),
            guessers=tuple(guessers),
            attackers=tuple(attackers),
            from_truth=tuple(name for name, own in attackers.items() if own),
            comparisons=tuple(
                (name, other)
                for i, name in enumerate(origins)
                for other in reference
                if other in origins[:i]
            ),
            baseline=guessers[0].origin if guessers else reference[-1],
            modes={},
            seed=seed,
            id=id,
            data_defined=data_defined,
            own_passes=tuple(passes),
        )

    @property
    def passes(self) -> tuple[Pass, ...]:
        return self.own_passes or default_passes(self.release, self.keys)

    @property
    def places(self) -> tuple[Level, ...]:
        """Return the levels that passes look in, finest first."""
        return places_of(self.passes)

    @property
    def looks_beyond_units(self) -> bool:
        return self.places[-1] != self.release.geography.unit

    @property
    def columns(self) -> tuple[str, ...]:
        """Return features and recodes that are linked on or gained."""
        linked = (column for each in self.own_passes for column in each.columns)
        return tuple(dict.fromkeys((*self.keys.columns, *linked)))

    @property
    def beside(self) -> tuple[Guesser | None, Guesser | None]:
        """Return the first modal and the first proportional guesser without leave-one-out."""
        usual = [guesser for guesser in self.guessers if not guesser.leave_one_out]
        modal, proportional = (
            next((guesser for guesser in usual if guesser.kind == kind), None)
            for kind in ("modal", "proportional")
        )
        return modal, proportional

    @property
    def guessed_from(self) -> tuple[str, ...]:
        """Return the origins whose distribution of gained values guessers or closed forms use."""
        origins = (self.truth, self.baseline, *(guesser.origin for guesser in self.guessers))
        return tuple(dict.fromkeys(origins))

    @property
    def used(self) -> tuple[str, ...]:
        """Return the origins to read, including `TABLES` if a guesser uses them."""
        origins = (*self.origins, *(g.origin for g in self.guessers), self.baseline)
        return tuple(dict.fromkeys(origins))
