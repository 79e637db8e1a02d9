"""Columns of the frames in which published counts travel."""

from __future__ import annotations

import polars as pl

#: ``tables/``: one row per non-zero published count; ``cell`` is 1-based, as published.
COUNTS = pl.Schema({"geoid": pl.String, "table": pl.String, "cell": pl.Int16, "count": pl.Int32})

#: ``tables/`` of a release that is not exact: one row per count, but for published zeros whose law
#: proves them. ``count`` is null where it is suppressed; the true count lies from ``low`` to
#: ``high`` (null: open); ``law`` is the law's place in `recon_cli.statement.Protection.laws`, null
#: where the source gave the interval.
STATEMENTS = pl.Schema([*COUNTS.items(), ("low", pl.Int32), ("high", pl.Int32), ("law", pl.Int8)])

#: What a source says of a geounit; ``pattern`` is an index into the coverage.
GEOUNITS = pl.Schema({"geoid": pl.String, "level": pl.String, "pattern": pl.Int16})
