"""``recon protect``: a command for each of `recon_cli.protections`."""

from __future__ import annotations

import click

from recon_cli.cli._stage import stage_command
from recon_cli.pipeline.stages import PROTECT

_STAGES = {stage.short_name: stage for stage in PROTECT}


class ProtectCommands(click.Group):
    """A command for each protection, made of what its stage declares."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Their names."""
        return list(_STAGES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command of one protection."""
        return stage_command(_STAGES[cmd_name]) if cmd_name in _STAGES else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Their purposes; none of their modules is imported."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, each.purpose) for name, each in _STAGES.items()])


@click.group(cls=ProtectCommands)
def command() -> None:
    """Protect records or their counts before they are published.

    \b
    Example:
      recon protect swap -c nation.yaml
      recon protect round -c nation.yaml
      recon protect suppress -c clinic.yaml
    """  # noqa: D301 - click wants the character itself
