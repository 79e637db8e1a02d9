"""The options that every command over a run shares, and the `Run` made from them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial, wraps
from pathlib import Path
from typing import Any

import click

from recon_cli.config import RunConfig, load_config
from recon_cli.config.keys import Key, named_keys, top_keys
from recon_cli.console.output import console
from recon_cli.console.signals import VERBOSITY
from recon_cli.pipeline.run import ALL_PIECES, NO_PIECES, Run, Shard
from recon_cli.progress import ConsoleReporter, Reporter, SilentReporter


class GivenPath(click.Path):
    """A path that must not be empty, because an empty path is the current folder."""

    def __init__(self, **kinds: bool) -> None:
        super().__init__(path_type=Path, **kinds)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("an empty path; the current folder is '.'", param, ctx)
        return super().convert(value, param, ctx)


class ConfiguredCommand(click.Command):
    """A command that reads config keys; its help lists those that are no options of it.

    Attributes:
        sections: The sections that it reads, besides the keys at the top.
    """

    def __init__(self, *args: Any, sections: tuple[str, ...] = (), **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.sections = sections

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the options, then the config keys."""
        super().format_options(ctx, formatter)
        options = {str(each.name) for each in self.params}
        keys = [
            key
            for section in self.sections
            for key in named_keys(section)
            if key.name.replace(".", "__") not in options
        ]
        with formatter.section("Config keys"):
            top = ", ".join(key.name for key in top_keys())
            as_options = [name for name in self.sections if any(f"{name}__" in o for o in options)]
            also = f"; the options above set those of {as_options[0]}" if as_options else ""
            formatter.write_text(f"{top}{also}")
            if keys:
                formatter.write_paragraph()
                formatter.write_dl([(key.name, _said(key, self.sections[0])) for key in keys])


def _said(key: Key, section: str) -> str:
    """Describe a key; a section other than ``section`` may be left out with all its keys."""
    needed = "required" if key.name.startswith(f"{section}.") else "required with its section"
    default = needed if key.is_required else key.default and f"default: {key.default}"
    return f"{key.meaning.replace('``', '`')}{f'  [{default}]' if default else ''}"


#: A file to write: no folder.
OUTPUT_FILE = GivenPath(dir_okay=False)


@dataclass(frozen=True)
class RunOptions:
    """The values of the shared options.

    Attributes:
        settings: ``key.path=value``, in order.
        workers: Processes.
        verbosity: -1 with ``-q``, else how often ``-v`` was given.
        shard: Shard of the work, ``K/N``; `MERGE` computes nothing, and publishes.
    """

    config: Path | None = None
    work: Path | None = None
    settings: tuple[str, ...] = ()
    workers: int | None = None
    verbosity: int = 0
    shard: str | None = None

    def setting(
        self, **values: str | float | Path | Sequence[str] | Sequence[float] | None
    ) -> RunOptions:
        """Add settings, ``section__key=value``; None keeps the config's value."""
        added = [
            f"{name.replace('__', '.')}={_yaml(value)}"
            for name, value in values.items()
            if value is not None
        ]
        return replace(self, settings=(*self.settings, *added))

    def sharded(self, shard: str | None, *, force: bool) -> RunOptions:
        """Add the shard that ``--shard`` asks for.

        Raises:
            click.UsageError: ``--force`` would undo what the other shards do.
        """
        if shard is not None and force:
            raise click.UsageError("--shard and --force exclude each other")
        return replace(self, shard=shard)

    def load(self) -> RunConfig:
        return load_config(
            self.config, settings=self.settings, work=self.work, workers=self.workers
        )

    def run(self, *, force: bool = False) -> Run:
        """Load the config and the release."""
        config = self.load()
        release = config.load_release()
        shard = ALL_PIECES
        if self.shard == MERGE:
            shard = NO_PIECES
        elif self.shard is not None:
            shard = Shard.parse(self.shard)
        return Run(config, release, self.reporter_on_terminal(), force, shard)

    def reporter_on_terminal(self, place: str = "") -> Reporter:
        """Return a reporter for the terminal; ``place`` numbers the stage, as ``2/5``."""
        if self.verbosity < 0:
            return SilentReporter()
        return ConsoleReporter(partial(console, stderr=True), self.verbosity > 0, place)


def run_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the shared options, as its first argument."""

    @wraps(function)
    def with_options(
        *,
        config: Path | None,
        work: Path | None,
        settings: tuple[str, ...],
        workers: int | None,
        verbose: int,
        quiet: bool,
        **others: Any,
    ) -> None:
        if verbose and quiet:
            raise click.UsageError("-v and -q exclude each other")
        verbosity = -1 if quiet else verbose
        click.get_current_context().meta[VERBOSITY] = verbosity
        function(RunOptions(config, work, settings, workers, verbosity), **others)

    for option in reversed(_SHARED):
        with_options = option(with_options)
    return with_options


_SHARED: tuple[Callable[[Callable[..., None]], Callable[..., None]], ...] = (
    click.option(
        "-c",
        "--config",
        type=GivenPath(),
        help="The run's YAML file.  [default: recon.yaml]",
    ),
    click.option(
        "--work", type=GivenPath(file_okay=False), help="Work folder; overrides the config's."
    ),
    click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="KEY=VALUE",
        help="Set a config key, as in reconstruct.seed=7. Repeatable.",
    ),
    click.option(
        "--workers", type=click.IntRange(min=1), help="Processes.  [default: one per core]"
    ),
    click.option("-v", "--verbose", count=True, help="Show more; -vv shows tracebacks."),
    click.option("-q", "--quiet", is_flag=True, help="No progress and no summary."),
)

#: The shard of `recon run --merge`: no pieces.
MERGE = "merge"
shard_option = click.option(
    "--shard",
    metavar="K/N",
    help="Work on the K-th of N shards; when all are done, complete the stage with "
    "`recon run --merge`.",
)
force_option = click.option("--force", is_flag=True, help="Run again what is up to date.")


def _yaml(value: str | float | Path | Sequence[str] | Sequence[float]) -> str:
    """Quote a value as YAML text (JSON strings are YAML)."""
    return json.dumps(str(value) if isinstance(value, str | Path) else value)


def tables_value(text: str | None) -> str | tuple[str, ...] | None:
    """Parse ``P1,P12`` as a list of tables; keep ``block+tract``, a selection by level, as text."""
    if text is None:
        return None
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    return names if "," in text else text
