"""Features under construction, and the values that each line of counts has of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from recon_cli.capabilities.init.label_words import shared, without_ends
from recon_cli.capabilities.init.names import canonical
from recon_cli.capabilities.init.proposal.lattice import Lattice
from recon_cli.sources.formats.vocabulary import is_total
from recon_cli.sources.read.row_labels import Path
from recon_cli.sources.read.words import Sense, is_word

#: Position of a feature → positions of its values.
Values = Mapping[int, frozenset[int]]


@dataclass(frozen=True)
class DraftedFeature:
    """A feature that is drafted from counts.

    Attributes:
        name: Its name in the headers; empty where they have none.
        labels: Its values as they are printed.
        rest: Label of the people with none of the values; empty where everybody has one.
        has_total: Whether some line counts all of its values.
    """

    name: str
    labels: tuple[str, ...]
    rest: str = ""
    has_total: bool = True


@dataclass
class LineFeatures:
    """Features under construction, and the values that each line counts.

    Attributes:
        labels: The words of each line, outermost first.
        lattice: The sums among the lines.
        subsets: Line → a line whose people it counts some of.
        values: Line → position of a feature → positions of the values that the line counts; all
            values of an absent feature.
        doubts: Assumptions that no number shows, a sentence each.
    """

    labels: Mapping[int, Path]
    lattice: Lattice
    subsets: Mapping[int, int]
    features: list[DraftedFeature] = field(default_factory=list)
    values: dict[int, dict[int, frozenset[int]]] = field(default_factory=dict)
    doubts: list[str] = field(default_factory=list)

    def words(self, line: int) -> str:
        """Return the words of a line as one text."""
        return " ".join(self.labels.get(line, ()))

    def quoted(self, lines: Sequence[int]) -> str:
        """Return the words of the first four lines, quoted for a sentence."""
        return ", ".join(repr(self.words(line)) for line in lines[:4])

    def values_of(self, line: int | None) -> Values:
        """Return the values that a line counts; an empty mapping (all values) if none are known."""
        return {} if line is None else self.values.get(line, {})

    def add_below(self, line: int, values: Values) -> None:
        """Add values to a line, its parts and the lines that count some of these."""
        for each in self._below(line):
            self.values[each] = {**values, **self.values.get(each, {})}

    def add_each(self, lines: Sequence[int], whole: int | None) -> None:
        """Add a feature for each line that counts some of a whole's people, or some of all."""
        path = () if whole is None else self.labels.get(whole, ())
        for line in lines:
            label = self.told(line, path)
            values = {**self.values_of(whole), len(self.features): frozenset((0,))}
            self.features.append(DraftedFeature("", (label,), f"not {label}"))
            self.add_below(line, values)

    def add_apart(self, lines: Sequence[int], whole: int) -> None:
        """Add a feature whose values are lines that exclude each other, among a whole."""
        if not lines:
            return
        name, short = shared([self.labels.get(line, ()) for line in lines], ())
        number = len(self.features)
        self.features.append(DraftedFeature(name, tuple(without_ends(short)), "other"))
        for place, line in enumerate(lines):
            self.add_below(line, {**self.values_of(whole), number: frozenset((place,))})

    def add_peers(self, lines: Sequence[int]) -> None:
        """Add a feature whose values are lines without a printed total."""
        name, short = shared([self.labels.get(line, ()) for line in lines], ())
        short = without_ends(short)
        number = len(self.features)
        self.features.append(DraftedFeature(name, tuple(short), has_total=False))
        shown = ", ".join(map(repr, short[:4])) + ", …" * (len(short) > 4)
        self.doubts.append(
            f"whether somebody is in none or several of {shown}: no total shows it, and everybody "
            "is taken to be in one"
        )
        for place, line in enumerate(lines):
            for each in self._below(line):
                own = self.values.setdefault(each, {})
                own[number] = own.get(number, frozenset()) | {place}

    def told(self, line: int, whole: Path) -> str:
        """Return the words of a line that its whole lacks, without *total* and *of which*."""
        words = self.labels.get(line, ())
        own = [word for word in words if word not in whole]
        told = [w for w in own if not (is_total(w) or is_word(w, Sense.OF_WHICH))] or own
        return " ".join(told) or " ".join(words[-1:]) or str(line)

    def value_called(self, label: str) -> tuple[int, int] | None:
        """Return the positions of the feature with shown sums and the value that have this label.

        Where stars hide a sum, a line counts what other lines with its label count.
        """
        for number, feature in enumerate(self.features):
            names = [canonical(each) for each in feature.labels]
            if not feature.rest and canonical(label) in names:
                return number, names.index(canonical(label))
        return None

    def _below(self, line: int) -> set[int]:
        """Return a line, its parts at every depth, and the lines that count some of these."""
        below = set(self._parts_below(line))
        return below | {each for each in self.subsets if self.subsets[each] in below}

    def _parts_below(self, line: int) -> Iterator[int]:
        waiting, seen = [line], set[int]()
        while waiting:
            each = waiting.pop()
            if each in seen:
                continue
            seen.add(each)
            yield each
            for own in self.lattice.sums:
                if own.line == each:
                    waiting += own.of
