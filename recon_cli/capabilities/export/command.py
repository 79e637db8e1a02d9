"""``recon export``."""

from __future__ import annotations

import shlex
from functools import partial
from pathlib import Path

import click

from recon_cli.capabilities.export.marked_copies import export_marked
from recon_cli.capabilities.export.published_files import Exported
from recon_cli.capabilities.export.records import export_records
from recon_cli.capabilities.export.safe import Marking
from recon_cli.capabilities.export.suppressed_copies import STARS, export_suppressed
from recon_cli.console.options import ConfiguredCommand, GivenPath, RunOptions, run_options
from recon_cli.console.output import show
from recon_cli.pipeline.run import Run
from recon_cli.pipeline.run_stages import refuse_statistics

_FOLDER, _FILE = GivenPath(file_okay=False), GivenPath(dir_okay=False)


@click.command(cls=ConfiguredCommand, sections=("ingest", "check"))
@run_options
@click.option("--to", type=_FOLDER, help="Write copies with findings marked to this folder.")
@click.option(
    "--suppressed", type=_FOLDER, help="Write suppressed copies, for publication, to this folder."
)
@click.option(
    "--below",
    type=click.IntRange(min=2),
    metavar="N",
    help="With --suppressed: withhold counts under N, and those that would give them away.",
)
@click.option(
    "--mark",
    metavar="TEXT",
    default=STARS.text,
    show_default=True,
    help="With --suppressed: what stands in place of a count.",
)
@click.option(
    "--footnote",
    metavar="TEXT",
    help="With --suppressed: footnote that explains the mark; '' for none.  [default: a sentence]",
)
@click.option(
    "--keep-sheet",
    metavar="NAME",
    multiple=True,
    help="With --suppressed: a sheet without counts that stays as it is, such as notes. "
    "Repeatable.",
)
@click.option(
    "--records", type=_FILE, help="Write records of places with one solution to this file."
)
@click.option("--of", type=GivenPath(), help="With --records: take the records from this file.")
def command(
    options: RunOptions,
    *,
    to: Path | None,
    suppressed: Path | None,
    below: int | None,
    mark: str,
    footnote: str | None,
    keep_sheet: tuple[str, ...],
    records: Path | None,
    of: Path | None,
) -> None:
    r"""Write copies of published workbooks and tables, with findings marked or counts suppressed.

    --to marks the findings of the stages that ran: recovered counts and intervals of `recon
    audit`, certain records, claims and disclosures. A workbook gets colours, comments and a sheet
    of findings; in a text file a count becomes `* [3]` or `* [1 to 4]`, with findings.csv beside
    it. The copy reveals what it marks, and is not for publication.

    --suppressed makes files of true counts publishable: it replaces small counts, and those that
    would give them away, by --mark, which a footnote explains. If `recon protect suppress` has not
    run, it is run first, on the files' own counts. Statistics that the schema declares, and
    percentages that were read, are withheld where they would give a small count away. Numbers that
    were not read, such as means in a sheet, stay; the command lists them. Sheets that were not read
    are left out, except those of --keep-sheet. Formulas become numbers.

    --records writes a workbook of reconstructed records, for regions such as tracts in which every
    unit provably has one solution. It marks each record that is unique on the attacker's keys,
    certain, in a place with too few people, or in a category with too few. What is too few, and the
    national totals of categories, come from the rules of `recon check`. With --of, the records are
    those of another file about the same places. The workbook is not for publication.

    Example:
      recon export -c pupils.yaml --to marked
      recon export -c pupils.yaml --suppressed safe
      recon export -c true.yaml --suppressed safe \
        --below 5 --mark c
      recon export -c al.yaml --records zero.xlsx --of published.parquet
    """
    if to is None and suppressed is None and records is None:
        raise click.UsageError(
            "name a folder or a file: --to marked, --suppressed safe, or --records records.xlsx"
        )
    if of is not None and records is None:
        raise click.UsageError("--of goes with --records")
    is_said = below is not None or footnote is not None or mark != STARS.text or keep_sheet
    if suppressed is None and is_said:
        raise click.UsageError("--below, --mark, --footnote and --keep-sheet go with --suppressed")
    run = options.run()
    publishing = partial(
        export_suppressed, marking=Marking(mark, footnote), below=below, kept=keep_sheet
    )
    for title, write, target in (
        ("export: marked, not for publication", export_marked, to),
        ("export: suppressed", publishing, suppressed),
        ("export: records, not for publication", partial(export_records, others=of), records),
    ):
        if target is None:
            continue
        if target is records:
            refuse_statistics(run.release, "recon export --records")
        made = write(run, target)
        if options.verbosity >= 0:
            facts = [("wrote", "\n".join(map(str, made.files)))]
            facts += [(what, f"{number:,}") for what, number in made.numbers.items()]
            facts += [("note", note) for note in made.notes]
            if target is suppressed:
                facts.append(("audit them", _audit_of(options, run, made)))
            show(title, facts)


def _audit_of(options: RunOptions, run: Run, made: Exported) -> str:
    """Return the commands that audit suppressed copies as they can be published."""
    config = [] if options.config is None else ["-c", str(options.config)]
    paths = f"ingest.paths=[{', '.join(map(str, made.files))}]"
    said = [
        "--work",
        f"{run.work}_published",
        "--set",
        paths,
        "--set",
        f"ingest.protection={made.law}",
    ]
    return "\n".join(shlex.join(["recon", name, *config, *said]) for name in ("ingest", "audit"))
