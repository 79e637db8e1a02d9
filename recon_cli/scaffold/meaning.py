"""What each column of counts was taken for, header by header, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from recon_cli.schema import Release
from recon_cli.schema.description import describe_condition
from recon_cli.sources.formats.codes import cells_by_code


def meanings(release: Release) -> dict[str, str]:
    """Code of a cell → whom it counts: ``sex girls, year 7``; ``everybody`` of a total."""
    found = {}
    for code, (table, number) in cells_by_code(release).items():
        cell = release.table_by_name[table].cells[number - 1]
        words = (
            describe_condition(feature, mask)
            for feature, mask in zip(release.features, cell.masks, strict=True)
        )
        found[code] = ", ".join(filter(None, words)) or "everybody"
    return found


def grid_lines(mapping: Mapping[str, object], release: Release) -> Iterator[str]:
    """The first columns of each file and the last, and what they were taken for."""
    said = meanings(release)
    by_file = mapping.get("columns_of", {"": mapping.get("columns", {})})
    assert isinstance(by_file, Mapping)  # noqa: S101 - `recon_cli.scaffold.drafting` wrote it
    for name, columns in by_file.items():
        read = {header: code for header, code in columns.items() if code is not None}
        ends = list(read.items())
        if not ends:
            continue
        shown = [
            f"{header!r} is {said[code]}" for header, code in dict([*ends[:2], *ends[-1:]]).items()
        ]
        more = f" … ({len(ends)} columns)" * (len(ends) > len(shown))
        yield f"{f'{name}: ' * bool(name)}{', '.join(shown)}{more}"
