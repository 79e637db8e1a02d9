"""The ``recon`` command, with the commands of no capability: ``run``, ``status``, ``purge``.

A module ``run.py`` of this package with a click command ``command`` is ``recon run``; a module in
its folder ``data/`` is a command of ``recon data``.
"""

import click

from recon_cli.console.group import Recon
from recon_cli.version import __version__


@click.group(
    name="recon",
    cls=Recon,
    path="recon",
    package=__package__,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="recon")
def main() -> None:
    """Find what published tables reveal about people, and prove it.

    Begin with published files. `recon init` recognises them and writes a config:

    \b
      recon init tables.xlsx
      recon run
      recon show

    The config is one YAML file (`recon.yaml` in the current folder, or -c FILE). It has a section
    for each stage, and each stage is also a command:

    \b
      release: sf1_2010
      work: work/al
      ingest:
        source: sf1-legacy
        paths: [al2010.sf1.zip]
      reconstruct:
        tables: block+tract

    """  # noqa: D301 - click wants the character itself
