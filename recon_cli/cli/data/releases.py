"""``recon data releases``."""

from __future__ import annotations

from itertools import groupby

import click

from recon_cli.console.output import show
from recon_cli.plurals import counted
from recon_cli.schema import AreaLevel, Feature, Level, Release, load_release, packaged_releases


@click.command()
@click.argument("name", required=False)
def command(name: str | None) -> None:
    """List the packaged release schemas, or show one.

    NAME is a packaged schema, or the path of a .yaml file.

    \b
    Example:
      recon data releases
      recon data releases sf1_2010
    """  # noqa: D301 - click wants the character itself
    if name is None:
        packaged = [load_release(each) for each in packaged_releases()]
        show("packaged releases", [(each.name, each.title) for each in packaged])
    else:
        _describe(load_release(name))


def _describe(release: Release) -> None:
    geography = release.geography
    cells = sum(len(table.cells) for table in release.tables)
    show(f"{release.name}: {release.title}", [])
    show("features", [(feature.name, _values(feature)) for feature in release.features])
    show(
        "records",
        [
            ("columns", ", ".join((release.geoid_column, *release.microdata))),
            ("compared on", ", ".join(release.histogram)),
        ],
    )
    show(
        "levels, finest first",
        [(level.name, _codes(level) + _roles(release, level.name)) for level in geography.levels],
    )
    show(
        f"{counted(len(release.tables), 'table')}, {counted(cells, 'cell')}",
        [
            (" + ".join(levels), "; ".join(f"{t.name} {len(t.cells)}" for t in tables))
            for levels, tables in groupby(release.tables, key=lambda table: table.levels)
        ],
    )


def _values(feature: Feature) -> str:
    if feature.options:
        return f"one or more of {', '.join(feature.options)}"
    if feature.ordered:
        return f"{feature.values[0]} to {feature.values[-1]}"
    return ", ".join(str(value) for value in feature.values)


def _codes(level: Level) -> str:
    """Describe the geoids of a level.

    >>> _codes(Level("town", 1))
    'geoids of 1 character'
    """
    if isinstance(level, AreaLevel):
        return "codes of a membership file"
    return f"geoids of {level.digits} character{'s' if level.digits > 1 else ''}"


def _roles(release: Release, name: str) -> str:
    roles = [
        role
        for level, role in (
            (release.geography.unit.name, "records are placed here"),
            (release.geography.partition, "files are split by this"),
        )
        if level == name
    ]
    return f" ({'; '.join(roles)})" if roles else ""
