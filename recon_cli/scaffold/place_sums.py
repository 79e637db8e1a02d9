"""Whether places of a sheet with a row a count add up: totals among them count people again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import polars as pl

from recon_cli.arrays import BoolArray, FloatArray
from recon_cli.scaffold.survey import Survey, counted_rows, number_of, texts_of
from recon_cli.sources.formats.count_sheet import CountSheet, cell_text
from recon_cli.sources.tabular.sheet import ROW
from recon_cli.statement.suppression import threshold_of

#: Counts of a sheet that are added up; of more it is said that they are not.
MOST_COUNTS: Final = 3_000_000
#: Places that are compared with those beside them.
_MOST_PLACES: Final = 1_000
#: Exact counts above zero that have to agree before a sum is no chance.
_FEWEST: Final = 3
#: Uncertainty of all counts together, as a share of them, that leaves a sum no chance either.
_SHARE: Final = 0.1


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
        for coarse, fine in pairwise(sorted(set(lengths.tolist()))):
            for whole in np.flatnonzero(lengths == coarse).tolist():
                inside = (lengths == fine) & _begin(self.places, self.places[whole])
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


def _begin(places: Sequence[str], prefix: str) -> BoolArray:
    return np.array([place.startswith(prefix) for place in places])


def _are_equal(one: tuple[FloatArray, FloatArray], other: tuple[FloatArray, FloatArray]) -> bool:
    """Whether intervals may be of the same counts, and hardly by chance."""
    (low, high), (least, greatest) = one, other
    if not ((least <= high) & (low <= greatest)).all():
        return False
    exact = (low == high) & (least == greatest) & (low > 0)
    width = float((high - low + greatest - least).sum())
    return int(exact.sum()) >= _FEWEST or width < _SHARE * float(low.sum())
