"""``recon data noisy``."""

from __future__ import annotations

from pathlib import Path

import click
import polars as pl

from recon_cli.capabilities.noisy_file.noisy_files import read_product, write_publication
from recon_cli.console.options import GivenPath
from recon_cli.console.output import show, show_table
from recon_cli.schema import load_release


@click.command()
@click.argument("folder", type=GivenPath())
@click.option("--to", type=GivenPath(file_okay=False), required=True, help="Folder to write.")
@click.option(
    "--strategy",
    default="pl94_2020",
    help="Packaged strategy that names the queries, or a .yaml file.  [pl94_2020]",
)
@click.option("--release", default="pl_2020", help="Packaged schema of the records.  [pl_2020]")
@click.option(
    "--without", multiple=True, help="Feature of the strategy that the schema lacks. Repeatable."
)
def command(
    *, folder: Path, to: Path, strategy: str, release: str, without: tuple[str, ...]
) -> None:
    r"""Convert published noisy measurement files to tidy tables.

    FOLDER is a product as published: folders County.parquet, Tract.parquet, Block_Group.parquet and
    Block.parquet, each with a DPQuery/ that has a row for each geounit and query. Writes a file of
    counts for each county, the distribution of each query's noise, and a schema of the queries, as
    `recon protect noise` does; geoids are the codes of the geography that was measured. Queries
    that the strategy lacks, and those of more than 32,767 counts, are left out and named.

    Example:
      recon data noisy US_Person_PL_PROD --to noisy
      recon data noisy US_DHCP_PROD --to noisy \
        --strategy dhc_2020 --release dhc_2020 --without relationship
    """
    product = read_product(folder, load_release(release), strategy, without)
    written = write_publication(product, to)
    rows = [
        (each.level, each.query.name, each.query.size, each.geounits, each.variance**0.5)
        for each in product.queries
    ]
    header = ["level", "query", "cells", "geounits", "σ"]
    show_table(pl.DataFrame(rows, schema=header, orient="row"), header)
    show(
        f"data noisy: wrote {to}",
        [
            ("counties", f"{written.partitions:,}"),
            ("measurements", f"{written.counts:,}"),
            ("  below zero", f"{written.negative:,}"),
            ("left out", ", ".join(product.left_out) or "nothing"),
        ],
    )
    click.echo(f"next: release: {to}/release.yaml, ingest: {{source: tidy, paths: [{to}]}}")
