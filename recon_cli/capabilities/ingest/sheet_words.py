"""Names of a release's cells in the sheets: the labels by which a mapping reads them."""

from __future__ import annotations

from functools import cached_property

from recon_cli.schema import Release
from recon_cli.schema.description import describe_cell
from recon_cli.sources.formats.assignment import Assigner
from recon_cli.sources.formats.count_sheet import COLUMNS
from recon_cli.sources.formats.mapping import FileMapping
from recon_cli.sources.read.words import Sense, says

#: The mask of each feature of a release.
_Masks = tuple[int, ...]


class SheetWords:
    """Names of cells as in the sheets, or by the schema where no sheet has a label.

    Args:
        release: The schema.
    """

    def __init__(self, release: Release, mapping: FileMapping) -> None:
        self.release = release
        self.mapping = mapping

    @cached_property
    def _labels(self) -> dict[str, dict[_Masks, str]]:
        """Map axes to predicates, and these to their labels; the first of several labels."""
        assigner = Assigner(self.release, self.mapping)
        everybody = [feature.full for feature in self.release.features]
        found: dict[str, dict[_Masks, str]] = {}
        for axis, own in self.mapping.labels.items():
            for label, said in own.items():
                masks = everybody.copy()
                for feature, mask in assigner.condition_of(said, label).items():
                    masks[feature] = mask
                found.setdefault(axis, {}).setdefault(tuple(masks), label)
        return found

    def of(self, table: str, cell: int) -> str:
        """Return the name of a table's cell in the sheets.

        Example:
            A column *Year 9* under *Boys* is ``Boys, Year 9``; of a long file the values of its
            columns are joined: ``Men, 0-14``.
        """
        counted = self.release.table_by_name[table].cells[cell - 1]
        called = self._by_values(counted.masks) or self._by_column(table, counted.masks)
        return ", ".join(
            _without_unit((called or describe_cell(self.release, counted)).split(": "))
        )

    def _by_column(self, table: str, masks: _Masks) -> str:
        """Return the header of the column, that of the table's own sheet first."""
        sheets = [sheet for sheet, own in self.mapping.tables.items() if own == table]
        for axis in (*(f"{COLUMNS} of {sheet}" for sheet in sheets), COLUMNS):
            if header := self._labels.get(axis, {}).get(masks):
                return header
        return ""

    def _by_values(self, masks: _Masks) -> str:
        """Return the values of the dimensions, or the row and the column; empty for one header."""
        everybody = tuple(feature.full for feature in self.release.features)
        of_a_sheet = f"{COLUMNS} of "
        axes = {a: own for a, own in self._labels.items() if not a.startswith(of_a_sheet)}
        if not {*axes} - {COLUMNS}:
            return ""
        words: list[str] = []
        whole: list[str] = []
        told: set[int] = set()
        for axis, labels in axes.items():
            about = {f for own in labels for f in range(len(own)) if own[f] != everybody[f]}
            sought = tuple(mask if f in about else everybody[f] for f, mask in enumerate(masks))
            if sought not in labels and about:
                return ""
            told |= about
            if sought != everybody:
                words.append(labels[sought])
            elif axis != COLUMNS and sought in labels:
                whole.append(labels[sought])
        if any(mask != everybody[f] and f not in told for f, mask in enumerate(masks)):
            return ""
        return ", ".join(words or whole[:1])


def _without_unit(words: list[str]) -> list[str]:
    """Return the words of a header without a unit at its end, such as *Number*."""
    is_unit = len(words) > 1 and len(words[-1].split()) == 1 and says(words[-1], Sense.UNIT)
    return words[:-1] if is_unit else words
