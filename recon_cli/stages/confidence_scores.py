"""Confidence against the truth: what `recon score` makes of ``confidence/``."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from recon_cli.attack.linkage.key_encoding import column_codes
from recon_cli.attack.linkage.specification import CEF, HDF
from recon_cli.pipeline.run import Run
from recon_cli.pipeline.stages import CONFIDENCE
from recon_cli.schema import Release
from recon_cli.score.confidence import CALIBRATION, calibration, sum_confidence
from recon_cli.score.rates import Rules
from recon_cli.score.sums import concat
from recon_cli.sources.records import RecordFile
from recon_cli.stages.linkage_inputs import open_linkage_inputs
from recon_cli.store import Folder, open_folder
from recon_cli.store.manifest import MANIFEST


def open_confidence(run: Run) -> Folder | None:
    """The folder ``confidence/``; None if there is none."""
    if not (run.work / "confidence" / MANIFEST).is_file():
        return None
    return open_folder(run.work, CONFIDENCE, "confidence")


def calibrate_confidence(
    run: Run, folder: Folder, rules: Rules, *, resamples: int, seed: int
) -> pl.DataFrame:
    """Mean confidence beside the share that is right, for the CEF and, if there is one, the HDF.

    Args:
        folder: ``confidence/``.
        rules: Coverage, disclosure control.
        resamples: Of geounits.
        seed: Of the resamples.

    Returns:
        As `recon_cli.score.confidence.calibration`.

    Raises:
        SourceError: A truth cannot be read, or holds values that the schema does not know.
    """
    files = open_linkage_inputs(run).files
    frames = [pl.DataFrame(schema=CALIBRATION)]
    for name in (CEF, HDF):
        if name not in files:
            continue
        present = files[name].slices()
        sums = []
        for partition in folder.partitions:
            rows = folder.read(partition)
            key = [each for each in rows.columns if each not in {"certain", "confidence"}]
            truth = rows.select(key).clear()
            if partition in present:
                truth = _truth(run.release, files[name], partition, key)
            sums.append(
                sum_confidence(rows, truth, partition=partition, resamples=resamples, seed=seed)
            )
        frames.append(calibration(concat(sums), name, rules))
    return pl.concat(frames)


def _truth(release: Release, file: RecordFile, partition: str, key: Sequence[str]) -> pl.DataFrame:
    """The columns of ``key`` of the records of one partition, as microdata have them."""
    place, *columns = key
    needed = [place]
    for column in columns:
        feature = release.features[release.feature_index[release.column_groups(column).feature]]
        needed += [column, feature.name, *feature.options]
    records = file.read(partition, list(dict.fromkeys(needed)))
    found = [records[place].cast(pl.String)]
    for column in columns:
        groups = release.column_groups(column)
        labels = pl.Series(column, list(groups.labels), dtype=groups.dtype)
        found.append(labels.gather(column_codes(release, records, column, file.name)))
    return pl.DataFrame(found)
