"""Sphinx configuration."""

from importlib.util import find_spec

import linrep

project = "linrep"
author = copyright = "The linrep developers"
release = version = linrep.__version__
extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
]
html_theme = "furo"
html_title = f"linrep {release}"
html_static_path = ["_static"]
html_css_files = ["notebooks.css"]
exclude_patterns = ["_build", "jupyter_execute"]
autosummary_generate = True
numpydoc_show_class_members = False
myst_enable_extensions = ["dollarmath"]
# Notebooks are kept as text and run whenever the site is built; a cell that raises stops the build.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_render_markdown_format = "myst"  # formulas in what objects show
suppress_warnings = ["myst.xref_missing"]
# torch is optional; without it the reference of networks shows names and texts all the same.
autodoc_mock_imports = [name for name in ("torch",) if find_spec(name) is None]
