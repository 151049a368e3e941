"""Formulas as MathML, which browsers draw themselves: no script, no font, no network."""

from docutils import nodes
from math_core import LatexError, LatexToMathML
from sphinx.util import logging

from linrep.report.mathml import Unreadable, formula

LOGGER = logging.getLogger(__name__)
CONVERTER = LatexToMathML()


def _inline(translator, node):
    try:
        translator.body.append(
            CONVERTER.convert_with_local_state(node.astext(), displaystyle=False)
        )
    except LatexError as error:
        LOGGER.warning("%s cannot be converted: %s", node.astext(), error, location=node)
    raise nodes.SkipNode


def _block(translator, node):
    try:
        translator.body.append(f'<div class="math">{formula(node.astext())}</div>')
    except Unreadable as error:
        LOGGER.warning("%s", error, location=node)
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
