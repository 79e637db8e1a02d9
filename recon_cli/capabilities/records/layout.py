"""Packaged layouts of record files: the publisher's names of columns and codes.

A layout is a YAML file in ``layouts/``. ``place`` names the columns that form a unit's
geoid, with the digits of each; ``columns``, ``values``, ``joined`` and ``only`` are those of a
`Translation`; ``numbered`` has the number of a feature's first value if its values are numbered
in order; and ``highest`` a file's greatest number: those above the release's last value mean it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from importlib import resources
from typing import Any

from recon_cli.capabilities.records.files import Translation, known_columns
from recon_cli.errors import ConfigError
from recon_cli.schema import Release, Value
from recon_cli.strict_yaml import parse_yaml

_FOLDER = resources.files(__package__) / "layouts"


def layout_names() -> tuple[str, ...]:
    """Return the names of the packaged layouts.

    >>> layout_names()
    ('mdf_2010', 'mdf_units', 'ppmf_pl')
    """
    names = (entry.name for entry in _FOLDER.iterdir())
    return tuple(sorted(name.removesuffix(".yaml") for name in names if name.endswith(".yaml")))


def given_translation(
    release: Release,
    *,
    layout: str | None,
    columns: Mapping[str, str],
    values: Mapping[str, Mapping[str, Value | None]],
    sheet: str | None,
    others: Collection[str] = (),
) -> Translation:
    """Return the names and codes that a config gives a file, added to those of the file's layout.

    Args:
        layout: A packaged layout; None for the release's own names and codes.
        columns: See `Translation`, also for ``values`` and ``sheet``.
        others: Columns beyond the release's that the file may have.

    Raises:
        ConfigError: There is no such layout, column or value; the message begins with the key.
    """
    packaged = Translation() if layout is None else record_layout(layout, release)
    given = replace(
        packaged,
        columns={**packaged.columns, **columns},
        values={**packaged.values, **values},
        sheet=sheet,
    )
    given.check(release, others)
    return given


def record_layout(name: str, release: Release) -> Translation:
    """Return a packaged layout as a translation into the columns that a release has.

    Raises:
        ConfigError: There is no such layout; the message begins with the key.
    """
    if name not in layout_names():
        raise ConfigError(f"layout: no layout {name!r} (there is {', '.join(layout_names())})")
    text = (_FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
    found: Any = parse_yaml(text, source=name).data
    known = known_columns(release)
    columns = {header: column for header, column in found["columns"].items() if column in known}
    values: dict[str, dict[str, Value | None]] = {
        column: dict(codes) for column, codes in found["values"].items() if column in known
    }
    for column, first in found.get("numbered", {}).items():
        if column in known:
            values[column] = _numbered(release, column, first)
    for column, highest in found.get("highest", {}).items():
        last = release.features[release.feature_index[column]].values[-1]
        beyond = range(int(last) + 1, highest + 1)
        values.setdefault(column, {}).update({str(number): last for number in beyond})
    joined = {column: parts for column, parts in found.get("joined", {}).items() if column in known}
    joined[release.geoid_column] = found["place"]
    return Translation(columns, values, joined=joined, only=found.get("only", {}))


def _numbered(release: Release, column: str, first: int) -> dict[str, Value | None]:
    """Map numbers, with and without a leading zero, to a feature's values in order."""
    values = release.features[release.feature_index[column]].values
    codes: dict[str, Value | None] = {}
    for number, value in enumerate(values, first):
        codes |= {str(number): value, f"{number:02}": value}
    return codes
