"""Find which place is part of which, by sums and by the words beside rows; and their geoids."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from recon_cli.capabilities.init.place_geoids import are_nested, is_geoid, numbered_geoids
from recon_cli.capabilities.init.place_list import (
    Division,
    Overfull,
    PlaceList,
    PlaceSheet,
    Possible,
    PossibleSums,
    SumOfPrinted,
)
from recon_cli.capabilities.init.place_parents import Path, PlaceSum
from recon_cli.capabilities.init.proposal.intervals import Intervals
from recon_cli.errors import SourceError
from recon_cli.sources.read.row_labels import PART_OF


@dataclass
class PlaceTree:
    """Places of several tables, and what they are part of."""

    lists: dict[tuple[Path, ...], PlaceList] = field(default_factory=dict)
    codes: dict[str, str] = field(default_factory=dict)
    alone: list[PlaceSheet] = field(default_factory=list)

    def add(
        self,
        label: str,
        paths: Sequence[Path],
        sums: Sequence[PlaceSum],
        numbers: Intervals,
        codes: Mapping[int, str],
        *,
        columns: Sequence[str] = (),
        base: int = 1,
        totals: Iterable[int] = (),
        apart: Iterable[int] = (),
    ) -> None:
        """Add the places of a table.

        Args:
            label: How messages name the table.
            paths: For each place the names of the places around it, and its own name.
            sums: The places to which other places add up.
            numbers: Places by counts.
            codes: Position of a place → its code.
            columns: The headers of the counts.
            base: What the counts are rounded to.
            totals: Places whose parts are the places beside them, as the user says.
            apart: Places that are no totals, as the user says.
        """
        own = self.lists.setdefault(tuple(paths), PlaceList())
        own.labels.append(label)
        own.sums += sums
        own.numbers.append(numbers)
        own.columns.append(tuple(columns))
        own.base = max(own.base, base)
        own.totals |= {*totals}
        own.apart |= {*apart}
        self.codes |= {PART_OF.join(paths[i]): code for i, code in codes.items()}

    def add_one(self, text: str, code: str) -> None:
        """Add the one place that a table is about."""
        self.alone.append(PlaceSheet("", {text: (text,)}))
        self.codes[text] = code

    def overfull(self) -> Iterator[Overfull]:
        """Yield the places whose parts add up to more than they have."""
        for paths, own in self.lists.items():
            yield from own.overfull(paths)

    def possible(self) -> Iterator[Possible]:
        """Yield the places that may contain all others beside them, by their numbers."""
        for paths, own in self.lists.items():
            yield from own.possible(paths)

    def possible_sums(self) -> Iterator[PossibleSums]:
        """Yield the places without parts that loose places may be the parts of."""
        for paths, own in self.lists.items():
            yield from own.possible_sums(paths)

    def sums_of_printed(self) -> Iterator[SumOfPrinted]:
        """Yield the places whose printed parts alone add up to them."""
        for paths, own in self.lists.items():
            yield from own.sums_of_printed(paths)

    def divisions(self) -> Iterator[Division]:
        """Yield the places that are divided in two ways, each into all of their people.

        The parts of two tables together add up to more than the place; or the tables share no part,
        and have different numbers for a place of one name.
        """
        for paths, own in self.lists.items():
            yield from own.second_divisions(paths)
        told = [(own.labels[0], own.wholes(paths)) for paths, own in self.lists.items()]
        for (one, first), (other, second) in itertools.combinations(told, 2):
            for path in first.keys() & second.keys():
                a, b = first[path], second[path]
                both = sum({**a.parts, **b.parts}.values())
                rest = [tuple(x.parts.keys() - y.parts.keys()) for x, y in ((a, b), (b, a))]
                is_twice = a.number == b.number and both > a.number + a.slack + b.slack
                are_others = a.number != b.number and a.parts.keys().isdisjoint(b.parts)
                if all(rest) and (is_twice or are_others):
                    parts = (tuple(sorted(part[-1] for part in own)) for own in rest)
                    yield Division(a.text, (one, other), (next(parts), next(parts)))
        for (paths, own), (places, again) in itertools.combinations(self.lists.items(), 2):
            if own.has_people_of(again, own.tops(paths), again.tops(places)):
                shown = own.outermost(paths), again.outermost(places)
                yield Division("", (own.labels[0], again.labels[0]), shown)

    def paths(self) -> dict[str, Path]:
        """Map the text of each place to the names of the places around it, and its own name.

        In a sheet that does not say parents, a name stands for that place of the other sheets.

        Raises:
            SourceError: Several places of the other sheets have such a name.
        """
        told = (sheet for paths, own in self.lists.items() for sheet in own.sheets(paths))
        sheets = _named_alike([*told, *self.alone])
        most = max(sheet.depth for sheet in sheets)
        known = {path for sheet in sheets if sheet.depth == most for path in sheet.paths.values()}
        known |= {path[:n] for path in known for n in range(1, len(path))}
        same: dict[str, Path] = {}
        for sheet in sheets:
            for text, path in sheet.paths.items():
                same[text] = _among(known, path, sheet, most)
        return same

    # --- geoids -----------------------------------------------------------------------------

    def geoids(self) -> dict[str, str]:
        """Map the text of each place to a geoid that begins with its parent's geoid.

        Raises:
            SourceError: As `paths`.
        """
        same = self.paths()
        known = dict.fromkeys(path[:n] for path in same.values() for n in range(1, len(path)))
        every = dict.fromkeys((*known, *same.values()))
        coded = self._coded(same, every)
        numbers = numbered_geoids(every) if coded is None else coded
        rows = {path: text for text, path in same.items()}
        alone = {PART_OF.join(path): numbers[path] for path in every if path not in rows}
        return {**{text: numbers[path] for text, path in same.items()}, **alone}

    def _coded(
        self, same: Mapping[str, Path], every: Mapping[Path, None]
    ) -> dict[Path, str] | None:
        """Return the codes of the files, where they can be geoids; else None."""
        codes = {same[text]: code for text, code in self.codes.items()}
        if not all(map(is_geoid, codes.values())):
            codes = {}  # what stands beside codes of places is what people call them
        rest = [path for path in every if path]
        if not codes and all(is_geoid(path[-1]) for path in rest):
            codes = {path: path[-1] for path in rest}
        own = [codes.get(path, "") for path in rest]
        is_told = all(map(is_geoid, own)) and len(set(own)) == len(own)
        if not rest or not is_told or not are_nested(codes, rest):
            return None
        if () not in every:
            return {path: codes[path] for path in rest}
        whole = codes.get((), "")
        if is_geoid(whole) and all(code.startswith(whole) for code in own) and whole not in own:
            return codes
        return {(): "A", **{path: f"A{codes[path]}" for path in rest}}


def _named_alike(sheets: Sequence[PlaceSheet]) -> list[PlaceSheet]:
    """Return sheets in which a place has the path of a sheet whose words say its parents.

    Other sheets show parents by sums alone, and name a region by the words of its row.
    """
    told: dict[str, set[Path]] = {}
    for sheet in sheets:
        for text, path in sheet.paths.items() if sheet.says_parents else ():
            told.setdefault(text.rpartition(PART_OF)[2], set()).add(path)
    found = []
    for sheet in sheets:
        own = dict(sheet.paths)
        for text, path in own.items() if told and not sheet.says_parents else ():
            if len(said := told.get(text, {path})) > 1:
                raise _ambiguous(sheet, text, said)
            own[text] = next(iter(said))
        found.append(PlaceSheet(sheet.label, own))
    return found


def _ambiguous(sheet: PlaceSheet, name: str, places: Iterable[Path]) -> SourceError:
    what = ", ".join(PART_OF.join(each) for each in sorted(places)[:3])
    return SourceError(
        f"{sheet.label}: {name!r} is of several places: {what}; say in every sheet what places are "
        "part of, or name the sheets to read (`recon init --sheet`)"
    )


def _among(known: set[Path], path: Path, sheet: PlaceSheet, most: int) -> Path:
    """Return the only known path that ends in a sheet's path; that path itself if none does."""
    if sheet.depth == most or path in known or not path:
        return path
    found = sorted(each for each in known if each[-len(path) :] == path)
    if len(found) > 1:
        raise _ambiguous(sheet, path[-1], found)
    return found[0] if found else path
