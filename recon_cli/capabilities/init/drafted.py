"""The draft of a schema and a mapping, as it is collected table by table."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence

import numpy as np

from recon_cli.arrays import IntArray
from recon_cli.capabilities.init.conditions import Condition, Key, cell_of, key_of
from recon_cli.capabilities.init.features import Features
from recon_cli.capabilities.init.lines import Part
from recon_cli.capabilities.init.open_question import OpenQuestion
from recon_cli.capabilities.init.schema_draft import TableDraft
from recon_cli.capabilities.init.structure import Structure
from recon_cli.capabilities.init.unplaced_lines import ask_some, ask_unplaced
from recon_cli.sources.read.row_labels import PART_OF
from recon_cli.sources.read.row_labels import Path as Words
from recon_cli.sources.read.table_reading import NAMELESS


class Drafted:
    """Collect the features, tables and labels of a draft, with doubts and questions.

    Attributes:
        labels: Axis → label → what it counts.
        leave_out: Headers of columns and rows that are not used.
        paths: Text of a row's place → the names of the place, the outermost first.
        cells: Table → what it counts, and of which places.
        table_of: Part of a file → its table.
        totals: Table → place → its people.
        joined: Names of parts that sums join with columns of other parts.
        missing: How many counts have no row, of files with a row per count.
        doubts: Assumptions, a sentence each.
        asked: Headers and labels that questions are about.
    """

    def __init__(self) -> None:
        self.features = Features()
        self.tables: list[TableDraft] = []
        self.labels: dict[str, dict[str, Condition]] = {}
        self.leave_out: dict[str, str] = {}
        self.paths: dict[str, Words] = {}
        self.cells: dict[str, tuple[frozenset[Key], frozenset[Hashable]]] = {}
        self.table_of: dict[str, str] = {}
        self.totals: dict[str, dict[Hashable, float]] = {}
        self.joined: set[str] = set()
        self.missing = 0
        self.doubts: list[str] = []
        self.questions: list[OpenQuestion] = []
        self.asked: set[str] = set()

    def rows_of(self, part: Part) -> list[Words]:
        """Return the path of the place of each row of a wide table."""
        return [self.paths[PART_OF.join(path)] for path in part.table.rows]

    def conditions(
        self,
        structure: Structure,
        crossed: Iterable[Condition] = (),
        tables: Mapping[int, int] | None = None,
    ) -> dict[int, Condition]:
        """Add the features of a structure to the schema; return the condition of each line."""
        self.doubts += structure.doubts
        return self.features.conditions(structure, crossed, tables)

    def add_table(self, cells: Sequence[Condition], part: Part, places: Sequence[Hashable]) -> None:
        """Add a table, or add the places of a part to a known table with all of its cells."""
        keys = frozenset(map(key_of, cells))
        own = frozenset(places)
        for name, (known, taken) in self.cells.items():
            is_some = part.table.sheet_place is not None and 2 * len(keys & known) > len(known)
            if (keys == known or (is_some and keys < known)) and not own & taken:
                self._note_lacking(len(known - keys), len(known), part)
                self.cells[name] = known, taken | own
                self.table_of[part.name] = name
                return
        name = part.published
        if not name or name in self.cells:
            name = f"TABLE{len(self.tables) + 1}"
        self.cells[name] = keys, own
        self.table_of[part.name] = name
        used = dict.fromkeys(feature for cell in cells for feature in cell)
        width = max(3, len(str(len(cells))))
        self.tables.append(
            TableDraft(
                name,
                f"{name}_{'#' * width}",
                self.features.forms_of(used),
                {},
                [cell_of(cell) for cell in cells],
                title="" if part.table.sheet_place else part.document.sheet or "",
            )
        )

    def _note_lacking(self, lacking: int, every: int, part: Part) -> None:
        """Note the counts of a table that the sheet of a place lacks."""
        if lacking:
            self.missing += lacking
            self.doubts.append(
                f"what {lacking:,} of {every:,} counts are that {part.name!r} does not have: they "
                "are taken as counts that are not published (zeros: `ingest.absent: zero`)"
            )

    def note_totals(
        self,
        part: Part,
        places: Sequence[Hashable],
        counts: Sequence[int],
        rows: Sequence[int] | None = None,
    ) -> None:
        """Note how many people a table has in each place, as far as it prints these numbers.

        Args:
            places: The place of each row.
            counts: Position of the part's count of everybody; empty without one.
            rows: The rows to use; all by default.
        """
        if part.name in self.joined and not counts:
            return  # its people are those of a column of another table
        found = self.totals.setdefault(self.table_of[part.name], {})
        for at in counts:
            chosen = slice(None) if rows is None else list(rows)
            numbers = part.numbers
            low, known = numbers.low[chosen, at], numbers.known[chosen, at]
            told = zip(places, low.tolist(), known.tolist(), strict=True)
            found |= {place: number for place, number, is_known in told if is_known}

    def note_missing(self, places: Sequence[str], which: IntArray) -> None:
        """Note the missing rows of places: counts that other places of their level have.

        Args:
            places: The place of each row.
            which: The number of what each row counts.
        """
        depth = np.array([len(self.paths[place]) for place in places])
        place = np.unique(np.array(places), return_inverse=True)[1]
        every = missing = 0
        for level in np.unique(depth).tolist():
            own = depth == level
            full = len(np.unique(place[own])) * len(np.unique(which[own]))
            every += full
            missing += full - len(np.unique(place[own] * (which.max() + 1) + which[own]))
        if missing:
            self.missing += missing
            self.doubts.append(
                f"what {missing:,} of {every:,} counts are that have no row: they are taken as "
                "counts that are not published (zeros: `ingest.absent: zero`)"
            )

    def each_once(
        self, lines: Iterable[int], conditions: Mapping[int, Condition], labels: Sequence[str]
    ) -> list[int]:
        """Return the first of lines that count the same; leave the others out of the draft."""
        first: dict[Key, int] = {}
        for line in lines:
            same = first.setdefault(key_of(conditions[line]), line)
            if same != line:
                self.leave_out[labels[line]] = ""
                self.doubts.append(
                    f"whether {labels[line]!r} counts the same as {labels[same]!r}: so it reads, "
                    "and it is left out"
                )
        return list(first.values())

    def say(self, axis: str, label: str, condition: Condition, sheet: str) -> None:
        """Note what a label counts; for one sheet alone if the label of another sheet differs."""
        before = self.labels.setdefault(axis, {}).get(label)
        if before is None or before == condition:
            self.labels[axis][label] = condition
            return
        self.labels.setdefault(f"{axis} of {sheet}", {})[label] = condition

    def ask_unplaced(self, structure: Structure, headers: Sequence[str]) -> None:
        """Ask about the unplaced lines, and leave them out until the user answers."""
        self.questions += ask_some(structure, headers)
        if not structure.unplaced:
            return
        names = [headers[i] for i in structure.unplaced]
        self.leave_out |= dict.fromkeys(names, "")
        shown = ", ".join(repr(name or NAMELESS) for name in names)
        self.doubts.append(f"what {shown} count: they are left out")
        # What is asked of some may tell of all, and one question about them is enough.
        is_asked = all(any(repr(name) in each.text for each in self.questions) for name in names)
        if not (self.asked & {*names} or is_asked):
            self.questions.append(ask_unplaced(structure, headers))
