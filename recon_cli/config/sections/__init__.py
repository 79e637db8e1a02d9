"""One module a section. A new stage adds a module here and nothing else.

A module ``solvar`` defines the section ``solvar`` as its only public `Section` subclass.
"""

from __future__ import annotations

import importlib
import pkgutil

from recon_cli.config.model import Section


def _discover() -> dict[str, type[Section]]:
    found: dict[str, type[Section]] = {}
    for module in pkgutil.iter_modules(__path__):
        members = vars(importlib.import_module(f"{__name__}.{module.name}")).values()
        found[module.name] = next(
            member
            for member in members
            if isinstance(member, type) and issubclass(member, Section) and member is not Section
        )
    return found


#: Section name → its model.
SECTIONS = _discover()
