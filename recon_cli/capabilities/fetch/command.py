"""``recon fetch``."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from recon_cli.capabilities.fetch.catalogue import DEFAULT_RELEASE, load_catalogue
from recon_cli.capabilities.fetch.census_api import SITE, ApiOrder, ask, queries
from recon_cli.capabilities.fetch.delivery import Delivery, Order, deliver
from recon_cli.capabilities.fetch.options import Fetch
from recon_cli.config import DEFAULT_FILE
from recon_cli.console.options import ConfiguredCommand, GivenPath, RunOptions, run_options
from recon_cli.console.output import show
from recon_cli.pipeline.run import Run


@click.command(cls=ConfiguredCommand, sections=("fetch",))
@click.argument("states", nargs=-1, metavar="[STATE]...")
@click.option("--tables", help="Tables to request from the Census Bureau's API: P1,P12.")
@click.option("--levels", help="With --tables: block, block_group, tract.  [default: all]")
@click.option("--all", "everything", is_flag=True, help="Download all files of the release.")
@run_options
@click.option("--to", type=GivenPath(file_okay=False), help="Folder to write to.  [default: data]")
@click.option("--mirror", help="Address in place of the publisher's, with the same folders.")
@click.option("--release", help="Release to download.  [default: the config's, or sf1_2010]")
@click.option("--force", is_flag=True, help="Download again, and record the checksum anew.")
def command(
    options: RunOptions,
    *,
    states: tuple[str, ...],
    tables: str | None,
    levels: str | None,
    everything: bool,
    to: Path | None,
    mirror: str | None,
    release: str | None,
    force: bool,
) -> None:
    r"""Download published files from the publisher's site.

    STATE is an abbreviation, a name or a number: al, Alabama, 01. An interrupted
    download is resumed. A file gets its final name once it is complete and checked; its SHA-256 is
    written to sha256sums.txt beside it, and compared the next time. A file that you put there
    yourself is checked and recorded. No config is needed.

    With --tables, STATE is the five-digit code of a county, whose tables are requested from the
    Census Bureau's API. The key is read from the environment (CENSUS_API_KEY).

    Example:
      recon fetch al
      recon fetch AL "New York" 72 --to /data/sf1
      recon fetch --all --mirror https://host/sf1
      recon fetch 34021 --tables P1,P12 \
        --release dhc_2020
    """
    if everything == bool(states):
        raise click.UsageError("say which STATE, such as al, Alabama or 01; or --all")
    if levels and not tables:
        raise click.UsageError("--levels goes with --tables")
    said = options.setting(fetch__to=to, fetch__mirror=mirror, release=release)
    run = _with_release(said).run(force=force)
    wanted = run.config.section(Fetch)
    if tables:
        if everything:
            raise click.UsageError("with --tables, name counties")
        _fetch_tables(run, wanted, states, tables.split(","), levels.split(",") if levels else ())
        return
    catalogue = load_catalogue(run.release.name)
    parts = catalogue.parts if everything else [catalogue.find(state) for state in states]
    order = Order(run.release, catalogue, wanted.to, wanted.mirror, force, run.reporter)
    deliveries = [deliver(order, part) for part in dict.fromkeys(parts)]
    if options.verbosity >= 0:
        _report(deliveries)


def _fetch_tables(
    run: Run, wanted: Fetch, counties: Sequence[str], tables: Sequence[str], levels: Sequence[str]
) -> None:
    order = ApiOrder(wanted.to, wanted.mirror or SITE, force=run.force, reporter=run.reporter)
    asked = queries(run.release, tables, levels, counties)
    paths = [ask(order, query) for query in asked]
    show(f"fetch: {len(paths)} files", [("folder", str(wanted.to)), ("release", run.release.name)])
    click.echo(f"next: recon init {shlex.join(map(str, paths))} --release {run.release.name}")


def _with_release(options: RunOptions) -> RunOptions:
    """Use the default release if there is no config file and no release is set."""
    if options.config is not None or Path(DEFAULT_FILE).exists():
        return options
    return replace(options, settings=(f"release={DEFAULT_RELEASE}", *options.settings))


def _report(deliveries: list[Delivery]) -> None:
    words = {
        "fetched": "downloaded",
        "unchanged": "there already, unchanged",
        "found": "was there; checked and recorded",
    }
    for each in deliveries:
        show(
            f"{each.part.name}: {words[each.how]}",
            [
                ("file", str(each.path)),
                ("size", f"{each.size / 1e6:,.1f} MB"),
                ("sha256", each.digest),
            ],
        )
    paths = [each.path for each in deliveries]
    if len(paths) > 3:
        paths = [paths[0].parent]  # a folder stands for the files in it
    click.echo(f"next: recon init {shlex.join(map(str, paths))}")
