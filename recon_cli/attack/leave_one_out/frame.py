"""What is concluded about people who were left out, as a frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from recon_cli.arrays import IntArray
from recon_cli.attack.leave_one_out.batch import BatchComparison
from recon_cli.attack.leave_one_out.modes import ModalValues
from recon_cli.schema import Release

#: What is known of a record: everything or something; nothing, because its unit is open or
#: quarantined.
KNOWN, OPEN, QUARANTINED = 0, 2, 3
_STATUSES = ("complete", "partial", "open", "quarantined")
_DECISIONS = ("settled", "settled_without", "certain", "certain_without")


@dataclass(frozen=True)
class LeftOut:
    """People who were left out, a row for each record.

    Attributes:
        geoids: Of their units.
        groups: (rows × histogram columns) the places of their values.
        gain: Their gained values as one number.
        people: How many have the record.
        unknown: `KNOWN`, or why nothing is.
    """

    geoids: pl.Series
    groups: IntArray
    gain: IntArray
    people: IntArray
    unknown: IntArray


def left_out_schema(release: Release, columns: Sequence[str]) -> pl.Schema:
    """The columns of `recon_cli.attack.leave_one_out.partition.leave_out_with_plan`."""
    schema = pl.Schema({release.geoid_column: pl.String})
    schema.update({name: release.column_groups(name).dtype() for name in columns})
    schema.update({"people": pl.Int32(), "population": pl.Int32(), "modal": pl.Boolean()})
    schema.update(dict.fromkeys(("chance", "chance_without"), pl.Float64()))
    schema.update(dict.fromkeys(_DECISIONS, pl.Boolean()))
    schema.update({"status": pl.String(), "seconds": pl.Float64()})
    return schema


def left_out_frame(
    left_out: LeftOut, comparison: BatchComparison, columns: Sequence[str], modes: ModalValues
) -> pl.DataFrame:
    """One row for each record.

    Args:
        left_out: Who was left out.
        comparison: What is concluded, in the same order; ignored where nothing is known.
        columns: The histogram columns.
        modes: The gained values of the units.
    """
    release = modes.release
    is_known = left_out.unknown == KNOWN
    both = (comparison.included, comparison.left_out)
    decisions = np.stack([*(each.is_settled for each in both), *(each.is_certain for each in both)])
    undecided = (decisions < 0).any(axis=0)
    status = np.where(is_known, undecided.astype(np.int64), left_out.unknown)
    values: dict[str, Any] = {
        release.geoid_column: left_out.geoids,
        "people": left_out.people,
        "population": modes.population(left_out.geoids),
        "modal": modes.are_modal(left_out.geoids, left_out.gain),
        "status": pl.Series(_STATUSES).gather(status),
        "seconds": comparison.deterministic_time.round(6),
    }
    for name, each in zip(("chance", "chance_without"), both, strict=True):
        values[name] = pl.Series(each.chance).set(pl.Series(~is_known), None)
    answers = pl.Series([False, True, None])
    for name, row in zip(_DECISIONS, decisions, strict=True):
        values[name] = answers.gather(np.where(is_known & (row >= 0), row, 2))
    for at, name in enumerate(columns):
        groups = release.column_groups(name)
        labels = pl.Series(name, list(groups.labels), dtype=groups.dtype)
        values[name] = labels.gather(left_out.groups[:, at])
    schema = left_out_schema(release, columns)
    return pl.DataFrame(
        [pl.Series(name, values[name]).cast(dtype) for name, dtype in schema.items()]
    )
