"""Reference pages that cannot be stale: ``<!-- generated: commands -->`` becomes Markdown.

The text comes from the code itself when the site is built.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from commands import describe_commands
from configuration import describe_config
from exit_codes import describe_exit_codes
from former import describe_former
from notebook import run_notebook
from release_schema import describe_schema, packaged_schema
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.typing import ExtensionMetadata

MARKER = re.compile(r"^<!-- generated: ([a-z0-9_-]+) -->$", re.MULTILINE)

NOTEBOOK = Path(__file__).parent.parent / "protect_a_clinic.ipynb"

WRITERS: Mapping[str, Callable[[], str]] = {
    "commands": describe_commands,
    "config": describe_config,
    "exit-codes": describe_exit_codes,
    "former": describe_former,
    "schema": describe_schema,
    "sf1_2010": lambda: packaged_schema("sf1_2010"),
    "notebook": lambda: run_notebook(NOTEBOOK),
    "clinic_visits": lambda: packaged_schema("clinic_visits"),
}


def expand(text: str) -> str:
    """Put the generated parts in their places.

    Raises:
        KeyError: A marker names no part.
    """
    return MARKER.sub(lambda found: WRITERS[found[1]](), text)


def _on_read(_app: Sphinx, _page: str, source: list[str]) -> None:
    source[0] = expand(source[0])


def _outdated(app: Sphinx, env: BuildEnvironment, *_sets: set[str]) -> list[str]:
    """Pages with generated parts are read again, whatever their own age."""
    pages = sorted(env.found_docs)
    return [page for page in pages if MARKER.search(Path(app.env.doc2path(page)).read_text())]


def setup(app: Sphinx) -> ExtensionMetadata:
    """Listen to pages as they are read."""
    app.connect("source-read", _on_read)
    app.connect("env-get-outdated", _outdated)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
