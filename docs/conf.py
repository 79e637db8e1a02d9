"""The site: ``make docs``. Nothing is fetched, neither to build it nor to read it."""

from __future__ import annotations

import sys
from pathlib import Path

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent)]

from recon_cli import __version__  # noqa: E402 - from this tree

project = "recon-cli"
author = "the recon-cli authors"
copyright = author  # noqa: A001 - Sphinx's own word
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "generated",
    "gallery",
    "mathml",
]
exclude_patterns = ["_build", "*.notes.md"]
language = "en"
default_role = "code"

myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_heading_anchors = 4
myst_fence_as_directive: list[str] = []

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_class_signature = "separated"
autodoc_default_options = {"members": True, "exclude-members": "__new__, __init__"}
python_use_unqualified_type_names = True
add_module_names = False
napoleon_google_docstring = True
napoleon_use_rtype = False
napoleon_use_ivar = True
nitpicky = True
# Types of other projects, whose documentation is not here, and our own that are not in the face.
nitpick_ignore_regex = [("py:.*", ".*")]

html_theme = "furo"
html_title = "recon-cli"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_theme_options = {"navigation_with_keys": True}
pygments_style = "friendly"
pygments_dark_style = "github-dark"
linkcheck_timeout = 20


def setup(app: Sphinx) -> None:
    """Teach the highlighter that CSV is plain text."""
    app.add_lexer("csv", TextLexer)
