"""Geoids for places that have names and no codes; and whether places of a sheet add up.

Totals among the places of a sheet with a row a count would count people again.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from recon_cli.arrays import FloatArray
from recon_cli.capabilities.init.axes import slug
from recon_cli.capabilities.init.survey import Survey, counted_rows, number_of, texts_of
from recon_cli.errors import SourceError
from recon_cli.sources.formats.count_sheet import CountSheet, cell_text
from recon_cli.sources.formats.layout import PART_OF, WHOLE, is_all_places
from recon_cli.sources.tabular.sheet import ROW
from recon_cli.sources.tidy_file import GEOID
from recon_cli.statement.suppression import threshold_of

#: More names than anybody would check.
_MOST: Final = 5_000
#: Counts of a sheet that are added up; of more it is said that they are not.
MOST_COUNTS: Final = 3_000_000
#: Places that are compared with those beside them.
_MOST_PLACES: Final = 1_000
#: Exact counts above zero that have to agree before a sum is no chance.
_FEWEST: Final = 3
#: Uncertainty of all counts together, as a share of them, that leaves a sum no chance either.
_SHARE: Final = 0.1


def draft_geoids(places: pl.Series, *, said: bool) -> Mapping[str, str] | None:
    """What stands for each place → a geoid; None where they are codes already.

    Codes are of one length, or begin with those of the places that they are parts of. All places
    together, if one name says so, are ``A``, and each of the others ``A`` and a number.

    Args:
        said: Whether the column's header says that they are codes: then some digits are enough.
    """
    if not 0 < len(places) <= _MOST:
        return None
    whole = [name for name in places if is_all_places(name)]
    if not whole and _are_codes(places):
        return None
    if said and places.str.contains("[0-9]").any() and places.str.contains(GEOID).all():
        return None
    parts = [name for name in places if name not in whole]
    if len(whole) > 1 or not parts:
        return None
    digits = len(str(len(parts)))
    numbered = {name: f"A{number:0{digits}}" for number, name in enumerate(parts, 1)}
    return {**dict.fromkeys(whole, "A"), **numbered}


def nested_geoids(sheets: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """What stands for each place of laid-out sheets → a geoid that begins with its parent's.

    A sheet that says nothing of parents has the places of the others, by their names.

    Args:
        sheets: What messages call a sheet → its places.

    Raises:
        SourceError: A name in such a sheet is of several places of the others, or of none.
    """
    paths: dict[str, list[tuple[str, ...]]] = {
        label: [() if text == WHOLE else tuple(text.split(PART_OF)) for text in texts]
        for label, texts in sheets.items()
    }
    deepest = {label: max(map(len, own), default=0) for label, own in paths.items()}
    most = max(deepest.values())
    known = {path for label, own in paths.items() if deepest[label] == most for path in own}
    known |= {path[:n] for path in known for n in range(1, len(path))}
    same: dict[str, tuple[str, ...]] = {}
    for label, texts in sheets.items():
        for text, path in zip(texts, paths[label], strict=True):
            same[text] = path
            if deepest[label] == most or path in known or not path:
                continue
            found = [each for each in known if each[-len(path) :] == path]
            if len(found) != 1:
                what = "of several places: " + ", ".join(
                    PART_OF.join(each) for each in sorted(found)[:3]
                )
                raise SourceError(
                    f"{label}: {text!r} is {what if found else 'in no other sheet'}; say in every "
                    "sheet what places are part of, or name the sheets to read (`recon init "
                    "--sheet`)"
                )
            same[text] = found[0]
    numbers: dict[tuple[str, ...], str] = {(): "A"}
    every = known | set(same.values())
    for depth in range(1, most + 1):
        level = sorted(path for path in every if len(path) == depth)
        digits = len(str(max(Counter(path[:-1] for path in level).values(), default=1)))
        for outer, siblings in itertools.groupby(level, key=lambda path: path[:-1]):
            for number, path in enumerate(siblings, start=1):
                numbers[path] = f"{numbers[outer]}{number:0{digits}}"
    return {text: numbers[same[text]] for text in sorted(same, key=lambda t: (same[t], len(t)))}


def coded_geoids(codes: Sequence[str], *, said: bool) -> dict[str, str]:
    """Geoids in place of codes that cannot be geoids as they are; empty if all can be.

    All places together have no code: then every geoid is ``A`` and the code.

    Args:
        said: Whether the header says that they are geoids: then they are, of whatever form.
    """
    series = pl.Series("geoid", sorted({*codes} - {WHOLE}), dtype=pl.String)
    if not (_are_codes(series) or (said and series.str.contains(GEOID).all())):
        return nested_geoids({"": codes})
    return {WHOLE: "A", **{code: f"A{code}" for code in series}} if WHOLE in codes else {}


def levels_of(lengths: Sequence[int], said: Sequence[str], *, has_whole: bool) -> dict[int, str]:
    """Length → name of each level of drafted geoids.

    Args:
        said: What the files call places, the largest first.
        has_whole: Whether the shortest is all places together.
    """
    finest = sorted(set(lengths), reverse=True)
    names = [slug(each) for each in reversed(said)] or ["place"]
    names += ["area", *(f"area_{n}" for n in range(2, len(finest) + 1))]
    if has_whole:
        names[len(finest) - 1] = "region" if "region" not in names[: len(finest) - 1] else "whole"
    found: dict[int, str] = {}
    for length, name in zip(finest, names, strict=False):
        taken = set(found.values())
        found[length] = name if name and name not in taken else f"level_{length}"
    return found


def _are_codes(places: pl.Series) -> bool:
    """Whether places' texts nest as geoids do.

    Numbers of several lengths do so by chance, 12 with 1: then places without any part tell.
    """
    if not places.str.contains(GEOID).all():
        return False
    lengths = places.str.len_chars()
    by_length = [places.filter(lengths == length) for length in lengths.unique().sort()]
    is_number = places.str.contains("^[0-9]+$").all()
    for coarse, fine in itertools.pairwise(by_length):
        parents = fine.str.slice(0, len(coarse[0]))
        if parents.is_in(coarse.implode()).mean() < 0.5:  # type: ignore[operator]
            return False
        if is_number and not coarse.is_in(parents.implode()).all():
            return False
    return True


@dataclass(frozen=True)
class PlaceSums:
    """The counts of places, as far as they are known.

    Attributes:
        places: Geoids, in order of appearance.
        rows: The first row of each.
        cells: What is counted, in the sheet's words.
        low: (places × cells) at least.
        high: At most, or infinite.
    """

    places: Sequence[str]
    rows: Sequence[int]
    cells: Sequence[str]
    low: FloatArray
    high: FloatArray

    @classmethod
    def of(cls, sheet: CountSheet, survey: Survey, base: int | None) -> PlaceSums | None:
        """Of a sheet with dimensions; None where a cell has several rows.

        Args:
            base: What counts look rounded to.
        """
        codes = [cell_text(each.code).fill_null("") for each in sheet.dimensions]
        mark = survey.thousands
        frames = []
        for batch in counted_rows(sheet):
            for column in sheet.counts:
                own = [pl.lit(column.header)] * (len(sheet.counts) > 1)
                cell = pl.concat_str([*codes, *own], separator=", ")
                frames.append(
                    batch.select(ROW, "geoid", cell=cell, text=texts_of(sheet, column.at))
                )
        found = pl.concat(frames).drop_nulls("geoid").filter(pl.col("text") != "")
        if found.select("geoid", "cell").is_duplicated().any():
            return None
        below = {text: threshold_of(text) for text in found["text"].unique()}
        least = {text: float(most - 1) for text, most in below.items() if most is not None}
        away = 0 if base is None else base - 1
        number = number_of(pl.col("text"), mark).cast(pl.Float64)
        most = pl.col("text").replace_strict(least, default=np.inf, return_dtype=pl.Float64)
        found = found.with_columns(
            low=pl.max_horizontal(number - away, 0.0).fill_null(0.0),
            high=(number + away).fill_null(most) if least else (number + away).fill_null(np.inf),
        )
        places = found.group_by("geoid", maintain_order=True).agg(pl.col(ROW).first())
        cells = found["cell"].unique(maintain_order=True)
        at = tuple(
            found[name].replace_strict(known, np.arange(len(known))).to_numpy()
            for name, known in (("geoid", places["geoid"]), ("cell", cells))
        )
        low = np.zeros((len(places), len(cells)))
        high = np.full(low.shape, np.inf)
        low[at], high[at] = found["low"].to_numpy(), found["high"].to_numpy()
        return cls(places["geoid"].to_list(), places[ROW].to_list(), cells.to_list(), low, high)

    def questions(self, sheet: CountSheet, geoids: Mapping[str, str]) -> Iterator[str]:
        """For the first place of a level whose parts have more, or that is a sum of others of it.

        Args:
            geoids: Drafted: what stands for a place → its geoid.
        """
        names = {geoid: name for name, geoid in geoids.items()}
        said = [repr(names.get(place, place)) for place in self.places]
        lengths = np.array([len(place) for place in self.places])
        for coarse, fine in itertools.pairwise(sorted(set(lengths.tolist()))):
            for whole in np.flatnonzero(lengths == coarse).tolist():
                is_part = [place.startswith(self.places[whole]) for place in self.places]
                inside = (lengths == fine) & np.array(is_part)
                more = self.low[inside].sum(axis=0) - self.high[whole]
                if (more > 0).any():
                    cell = int(np.argmax(more > 0))
                    yield (
                        f"{sheet.sheet.where(self.rows[whole])}: {said[whole]} has "
                        f"{self.high[whole, cell]:,.0f} ({self.cells[cell]}), and its "
                        f"{inside.sum():,} parts at least "
                        f"{self.low[inside, cell].sum():,.0f} together: places may be of "
                        "several levels, or a count is wrong"
                    )
                    break
        for length in sorted(set(lengths.tolist())):
            yield from self._sums_beside(sheet, np.flatnonzero(lengths == length).tolist(), said)

    def _sums_beside(
        self, sheet: CountSheet, places: Sequence[int], said: Sequence[str]
    ) -> Iterator[str]:
        """A question for a place of one level that is a sum of others of the same level."""
        if len(places) < _FEWEST:
            return
        low, high = self.low[places], self.high[places]
        people = low.sum(axis=1)
        most = int(np.argmax(people))
        others = np.delete(np.arange(len(places)), most)
        times = round(people[others].sum() / people[most]) if people[most] else 0
        ends = low[others].sum(axis=0), high[others].sum(axis=0)
        if times and _are_equal((times * low[most], times * high[most]), ends):
            what = "all others together" + " (more than once)" * (times > 1)
            yield self._taken_for_places(sheet, places[most], said, what)
            return
        for at in range(len(places) if len(places) <= _MOST_PLACES else 0):
            for run in (np.arange(at + 1, len(places)), np.arange(at - 1, -1, -1)):
                ends = np.cumsum(low[run], axis=0), np.cumsum(high[run], axis=0)
                able = ((ends[0] <= high[at]) & (ends[1] >= low[at])).all(axis=1)
                for last in np.flatnonzero(able[1:]).tolist():
                    if _are_equal((low[at], high[at]), (ends[0][last + 1], ends[1][last + 1])):
                        first, end = sorted((places[run[0]], places[run[last + 1]]))
                        what = f"{said[first]} to {said[end]} together"
                        yield self._taken_for_places(sheet, places[at], said, what)
                        return

    def _taken_for_places(
        self, sheet: CountSheet, place: int, said: Sequence[str], what: str
    ) -> str:
        return (
            f"{sheet.sheet.where(self.rows[place])}: {said[place]} has the counts of {what}: it is "
            "taken as a place beside them, and its people are counted again; leave such rows out "
            "(mapping.where), or give places geoids that begin with those of what they are part of "
            "(mapping.geoids)"
        )


def _are_equal(one: tuple[FloatArray, FloatArray], other: tuple[FloatArray, FloatArray]) -> bool:
    """Whether intervals may be of the same counts, and hardly by chance."""
    (low, high), (least, greatest) = one, other
    if not ((least <= high) & (low <= greatest)).all():
        return False
    exact = (low == high) & (least == greatest) & (low > 0)
    width = float((high - low + greatest - least).sum())
    return int(exact.sum()) >= _FEWEST or width < _SHARE * float(low.sum())
