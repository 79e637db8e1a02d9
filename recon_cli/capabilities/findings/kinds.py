"""The kinds of disclosure by which a page may judge."""

from __future__ import annotations

from typing import Literal

Disclosure = Literal["attribute", "identity", "record"]
