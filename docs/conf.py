"""Sphinx configuration."""

import sys
from importlib.util import find_spec
from pathlib import Path

import linrep

sys.path.insert(0, str(Path(__file__).with_name("_ext")))

project = "linrep"
author = copyright = "The linrep developers"
release = version = linrep.__version__
extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.githubpages",
    "claim_pages",
    "linrep.report.sphinx",
    "mathml",
    "networks_page",
    "networks_text",
    "performance_page",
    "reference",
    "report_page",
    "typeset",
]
# Pages of sources take a quarter of a build, and cannot warn: `make docs SPHINX_ARGS="-t check"`.
if not tags.has("check"):  # noqa: F821 (Sphinx defines it)
    extensions.append("sphinx.ext.viewcode")
html_theme = "furo"
html_title = f"linrep {release}"
html_static_path = ["_static"]
html_css_files = ["linrep.css", "notebooks.css"]  # behind the report's, of linrep.report.sphinx
html_js_files = ["keyboard.js"]
html_search_scorer = str(Path(__file__).parent / "_ext" / "scorer.js")
html_theme_options = {"top_of_page_buttons": []}  # no link to the page's source
html_math_renderer = "mathml"
exclude_patterns = ["_build", "examples", "jupyter_execute", "notebooks/data/README.md", "paper"]
numpydoc_show_class_members = False
myst_enable_extensions = ["attrs_inline", "dollarmath"]
myst_heading_anchors = 3
# Notebooks are kept as text and run whenever the site is built; a cell that raises stops the build.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_render_markdown_format = "myst"  # formulas in what objects show
# Every link into linrep has to lead somewhere; types of other packages are not linked.
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(?!linrep\.).*"), ("py:data", ".*")]
# The texts give types with shapes; signatures are shorter without.
autodoc_typehints = "none"
# torch is optional; without it the reference of networks says so, and nothing links into it.
if find_spec("torch") is None:
    nitpick_ignore_regex.append(("py:.*", r"linrep\.deep.*"))
