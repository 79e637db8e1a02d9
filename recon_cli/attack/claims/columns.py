"""The columns that claims speak of: every feature that a published cell tells apart."""

from __future__ import annotations

from collections.abc import Sequence

from recon_cli.coverage import Coverage
from recon_cli.errors import ConfigError
from recon_cli.schema import Release, Table


def claim_columns(release: Release, tables: Sequence[Table], coverage: Coverage) -> tuple[str, ...]:
    """The columns of claims, whatever the schema's ``histogram`` leaves out.

    The histogram columns of each feature that a published cell of ``tables`` tells apart; of a
    feature without one, the coarsest of its microdata columns.
    """
    seen = release.distinguished_by(
        cell for pattern in coverage for _, cell in pattern.published_cells(tables)
    )
    columns: list[str] = []
    for f in sorted(seen):
        name = release.features[f].name
        of_feature = [c for c in release.histogram if release.column_groups(c).feature == name]
        if not of_feature:
            others = [c for c in release.microdata if release.column_groups(c).feature == name]
            of_feature = [min(others, key=lambda c: len(release.column_groups(c).labels))]
        columns += dict.fromkeys(of_feature)
    return tuple(columns)


def require_columns(release: Release, tables: Sequence[Table], coverage: Coverage) -> None:
    """Refuse tables that tell no column apart: they say how many there are, and no more.

    Raises:
        ConfigError: Nothing could be claimed.
    """
    if not claim_columns(release, tables, coverage):
        names = ", ".join(table.name for table in tables)
        raise ConfigError(
            f"claims: no published cell of {names} tells any column of {release.name!r} apart, so "
            "nothing can be claimed; use further tables"
        )
