"""Why small blocks have too few unique people: ``python -m benchmarks.alike FOLDER``.

A nation of a million people (seed 1) is generated as packaged, and once more with householders of a
block who are no more alike in age than any (`ages.alike` of zero). Who is alone in the block with
sex and agebin is counted among everybody, and then only if data-defined, in percent of everybody.
Beside that stand what the 2010 study published, and, where a file is given, real records.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import polars as pl

import recon_cli as recon
from recon_cli.lab.calibration.study import load_study
from recon_cli.markdown import markdown_table
from recon_cli.score.sizes import Sizes

RUN = "release: sf1_2010\nwork: {name}\nseed: 1\nsynth: {{people: 1000000{parameters}}}\n"
PACKAGED = Path(recon.__file__).parent / "synth" / "nation_2010.yaml"
STUDY = load_study()
SIZES = Sizes(STUDY.lower)
RELEASE = recon.load_release("sf1_2010")
PLACE = RELEASE.geoid_column


def generated(folder: Path, name: str, parameters: str = "") -> pl.DataFrame:
    """The people of a nation."""
    (folder / f"{name}.yaml").write_text(RUN.format(name=name, parameters=parameters))
    command = [sys.executable, "-m", "recon_cli", "data", "synth", "-c", f"{name}.yaml", "-q"]
    subprocess.run(command, cwd=folder, check=True)
    return pl.read_parquet(folder / name / "persons" / "**/*.parquet", hive_partitioning=False)


def uniques(people: pl.DataFrame) -> pl.DataFrame:
    """By size class the share of everybody who is unique, and of those who are defined, too."""
    tagged = recon.tag_records(RELEASE, people, unique={"binned": ["sex", "agebin"]})
    if "data_defined" not in people.columns:
        tagged = tagged.with_columns(data_defined=pl.lit(value=True))
    is_unique, defined = pl.col("unique_binned"), pl.col("data_defined").cast(pl.Boolean)
    return (
        tagged.with_columns(number=SIZES.number(pl.len().over(PLACE)))
        .group_by("number")
        .agg(everybody=100 * is_unique.mean(), defined=100 * (is_unique & defined).mean())
        .sort("number")
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--records", type=Path, help="real records, with geoid_block, sex, agebin")
    options = parser.parse_args(arguments)
    folder: Path = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    text = PACKAGED.read_text()
    none = ", ".join("0" for _ in SIZES.lowest)
    (folder / "unlike_nation.yaml").write_text(
        re.sub(r"^  alike: \[.*", f"  alike: [{none}]", text, flags=re.MULTILINE)
    )
    packaged = uniques(generated(folder, "packaged"))
    unlike = uniques(generated(folder, "unlike", ", parameters: unlike_nation.yaml"))
    columns = {
        "published, data-defined": STUDY.classes["unique_defined"],
        "generated, everybody": packaged["everybody"],
        "data-defined": packaged["defined"],
        "unlike, everybody": unlike["everybody"],
        "data-defined ": unlike["defined"],
    }
    if options.records is not None:
        real = uniques(pl.read_parquet(options.records))
        columns["real records, everybody"] = real["everybody"].extend_constant(
            None, unlike.height - real.height
        )
    rows = [
        [label, *("–" if value is None else f"{value:.1f}" for value in values)]
        for label, *values in zip(STUDY.classes["label"], *columns.values(), strict=True)
    ]
    print(markdown_table(["size", *columns], rows, 1))  # noqa: T201


if __name__ == "__main__":
    main()
