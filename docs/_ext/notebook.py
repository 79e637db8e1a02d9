"""A notebook as a page: its cells are run when the site is built, and what they show is put below.

The file in git has no outputs, so that no output can be stale.
"""

from __future__ import annotations

import ast
import io
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any


@cache
def run_notebook(path: Path) -> str:
    """Run the cells of a notebook in an empty folder, and return them with outputs as Markdown.

    Raises:
        Exception: What a cell raises.
    """
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    names: dict[str, Any] = {"__name__": "__main__"}
    parts: list[str] = []
    before = dict(os.environ)
    os.environ["POLARS_FMT_MAX_COLS"] = "12"
    try:
        with tempfile.TemporaryDirectory() as folder, chdir(folder):
            for cell in cells:
                source = "".join(cell["source"])
                if cell["cell_type"] == "markdown":
                    parts.append(source)
                else:
                    parts += [f"```python\n{source}\n```", *_outputs(source, names)]
    finally:
        os.environ.clear()
        os.environ.update(before)
    return "\n\n".join(parts)


def _outputs(source: str, names: dict[str, Any]) -> Iterator[str]:
    """Run a cell; yield what it prints, and the value of its last line."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)  # noqa: S102 - ours
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)  # noqa: S307
    if printed.getvalue():
        yield f"```text\n{printed.getvalue().rstrip()}\n```"
    picture = getattr(value, "_repr_svg_", None)
    if picture is not None:
        yield f"```{{raw}} html\n{picture()}\n```"
    elif value is not None:
        yield f"```text\n{value!r}\n```"
