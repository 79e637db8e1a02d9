"""Stages, protections and further commands, as the capabilities declare them.

The order of a run follows from ``reads`` and ``folders``; see `recon_cli.pipeline.order`.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from recon_cli import capabilities
from recon_cli.protections import ProtectionMethod
from recon_cli.stage import Command, Stage, private_folder


def _declared() -> Iterator[Stage | ProtectionMethod | Command]:
    for name in capabilities.CAPABILITIES:
        package = f"{capabilities.__name__}.{name}"
        for value in vars(importlib.import_module(package)).values():
            if isinstance(value, Stage | ProtectionMethod | Command) and value.package == package:
                yield value


def _as_stage(method: ProtectionMethod) -> Stage:
    private = (f"{private_folder(method.name)}/{kept}" for kept in method.private)
    return Stage(
        f"protect {method.name}",
        reads=method.reads,
        folders=(*method.folders, *private),
        section=method.name,
        package=method.package,
        purpose=method.purpose,
        public=method.folders,
        uses_statistics=method.uses_statistics,
    )


_DECLARED: Final = tuple(_declared())
STAGES: Final[tuple[Stage, ...]] = tuple(
    _as_stage(each) if isinstance(each, ProtectionMethod) else each
    for each in _DECLARED
    if not isinstance(each, Command)
)
#: Commands that are no stages.
COMMANDS: Final = tuple(each for each in _DECLARED if isinstance(each, Command))
#: Name → protection, in the order of a run.
PROTECTIONS: Final[Mapping[str, ProtectionMethod]] = MappingProxyType(
    {each.name: each for each in _DECLARED if isinstance(each, ProtectionMethod)}
)


def stage_named(short_name: str) -> Stage:
    """Return the stage with this short name.

    Raises:
        ValueError: There is none.
    """
    by_name = {stage.short_name: stage for stage in STAGES}
    if short_name not in by_name:
        raise ValueError(f"no capability declares the stage {short_name!r}")
    return by_name[short_name]
