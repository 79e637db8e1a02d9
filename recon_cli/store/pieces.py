"""Cutting partitions into pieces of neighbouring regions.

So a county of millions need not fit into memory, nor occupy one worker while the others wait. The
cuts depend on the geounits alone, so files are the same for any number of workers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from recon_cli.errors import StageError
from recon_cli.schema import Level, Release
from recon_cli.store.files import json_bytes
from recon_cli.store.folder import Folder
from recon_cli.store.piece import Piece, Span

if TYPE_CHECKING:
    import polars as pl

PIECES = "_pieces.json"
#: About how many people a worker takes at a time, unless the config says otherwise.
PIECE_PEOPLE = 100_000


def cut(
    release: Release,
    partition: str,
    units: pl.DataFrame,
    people: int,
    *,
    whole: Level | None = None,
) -> list[Piece]:
    """Cut a partition into pieces of whole regions.

    Args:
        partition: Its geoid prefix.
        units: One row per geounit of the finest level: ``geoid``, ``population``.
        people: The most that a piece should hold; a region with more is a piece of its own.
        whole: Level of the geounits that are never cut; default the regions.
    """
    import polars as pl  # slow to load, and not needed to read a manifest

    in_order = units if units["geoid"].is_sorted() else units.sort("geoid")
    region = (whole or release.region).enclosing(pl.col("geoid"))
    regions = (  # numbered runs are grouped in a tenth of the time of texts
        in_order.select(region.alias("region"), pl.col("population").cast(pl.Int64).fill_null(0))
        .with_columns(run=pl.col("region").rle_id().set_sorted())
        .group_by("run", maintain_order=True)
        .agg(pl.col("region").first(), units=pl.len(), people=pl.col("population").sum())
    )
    total = int(regions["people"].sum())
    is_cut = release.geography.is_nested and total > people and regions.height > 1
    if not is_cut:
        return [Piece(partition, units=units.height, people=total)]
    # As few pieces as fit, of about the same size.
    goal = total / -(-total // people)
    number = ((regions["people"].cum_sum() - regions["people"] / 2) // goal).cast(pl.Int64)
    cuts = regions.group_by(number.alias("number"), maintain_order=True).agg(
        pl.col("region").first(), pl.col("units").sum(), pl.col("people").sum()
    )
    starts = cuts["region"].to_list()
    bounds = [None, *starts[1:], None]
    return [
        Piece(partition, i, len(starts), Span(bounds[i], bounds[i + 1]), row[2], row[3])
        for i, row in enumerate(cuts.iter_rows())
    ]


def pieces_bytes(pieces: Iterable[Piece]) -> bytes:
    """Serialise the cut of every partition as JSON."""
    found: dict[str, list[dict[str, object]]] = {}
    for piece in pieces:
        found.setdefault(piece.partition, []).append(
            {"start": piece.span.start, "units": piece.units, "people": piece.people}
        )
    return json_bytes(found)


def read_pieces(geounits: Folder) -> list[Piece]:
    """Read the cut stored beside ``geounits``, sorted by geoid.

    Raises:
        StageError: It is missing or damaged.
    """
    try:
        found: Mapping[str, list[dict[str, object]]] = json.loads(geounits.read_extra(PIECES))
        return [piece for name, rows in found.items() for piece in _pieces(name, rows)]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StageError(
            f"{geounits.path / PIECES} is damaged ({error}); run `{geounits.command} --force`"
        ) from error


def _pieces(partition: str, rows: list[dict[str, object]]) -> list[Piece]:
    starts = [None if row["start"] is None else str(row["start"]) for row in rows]
    stops = [*starts[1:], None]
    return [
        Piece(
            partition,
            number,
            len(rows),
            Span(starts[number], stops[number]),
            int(str(row["units"])),
            int(str(row["people"])),
        )
        for number, row in enumerate(rows)
    ]
