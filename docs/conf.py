"""Sphinx's configuration: Markdown pages, and a reference that is written before they are read."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

import reference  # noqa: E402

import lanewise  # noqa: E402

project = "lanewise"
copyright = "the lanewise authors"
version = release = lanewise.__version__

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
myst_heading_anchors = 3
suppress_warnings = ["config.cache"]

html_theme = "furo"
html_title = f"lanewise {version}"
python_use_unqualified_type_names = True
add_module_names = False


def setup(app: Any) -> None:
    """Write the reference first."""
    app.connect("builder-inited", lambda _: reference.write())
