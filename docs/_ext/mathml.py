"""Formulas as MathML, which browsers draw themselves: no script, no font, no network."""

from docutils import nodes
from latex2mathml.converter import convert


def _inline(translator, node):
    translator.body.append(convert(node.astext()))
    raise nodes.SkipNode


def _block(translator, node):
    translator.body.append(f'<div class="math">{convert(node.astext(), display="block")}</div>')
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
