"""Layouts after real publications, by what they are about."""

from __future__ import annotations

from typing import Final

from ..drawing import Archetype
from .census import CENSUS
from .health import HEALTH
from .justice import JUSTICE
from .labour import LABOUR
from .schools import SCHOOLS

#: All archetypes, by name.
ARCHETYPES: Final[dict[str, Archetype]] = {
    archetype.name: archetype for archetype in (*CENSUS, *SCHOOLS, *HEALTH, *JUSTICE, *LABOUR)
}
