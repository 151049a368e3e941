"""Markdown of linrep, that of the site's ledger and of findings and proofs, as HTML of the page."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from itertools import groupby

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markupsafe import Markup, escape

from linrep.report import mathml

_BADGE = re.compile(r"\[([\w ]+)\]\{\.badge \.\w+\}")
_FORMULA = "$$"  # at both ends of a line of its own


def badge(verdict: str) -> Markup:
    """Return a verdict in its colour."""
    return Markup('<span class="badge {}">{}</span>').format(verdict.split()[0], verdict)


class _Renderer(RendererHTML):
    """Formulas in plain letters are set; links lead to what is on the page, and nowhere else."""

    def text(self, tokens, index, options, env):
        plain = _BADGE.split(tokens[index].content)
        return "".join(
            badge(part) if place % 2 else mathml.prose(part) for place, part in enumerate(plain)
        )

    def code_inline(self, tokens, index, options, env):
        name = tokens[index].content
        code = Markup("<code>{}</code>").format(name)
        return str(
            Markup('<a href="#{}">{}</a>').format(name, code) if name in env["ids"] else code
        )

    def fence(self, tokens, index, options, env):
        label = "Code that reproduces it"
        return (
            f'<pre class="scroll" tabindex="0" role="group" aria-label="{label}">'
            f"<code>{escape(tokens[index].content)}</code></pre>\n"
        )

    def link_open(self, tokens, index, options, env):
        target = str(tokens[index].attrGet("href"))
        env.setdefault("links", []).append(target[:1] == "#" and target[1:] in env["ids"])
        return str(Markup('<a href="{}">').format(target)) if env["links"][-1] else ""

    def link_close(self, tokens, index, options, env):
        return "</a>" if env["links"].pop() else ""

    def table_open(self, tokens, index, options, env):
        return '<div class="scroll" tabindex="0" role="group" aria-label="Table"><table>'

    def table_close(self, tokens, index, options, env):
        return "</table></div>\n"


_MARKDOWN = MarkdownIt("commonmark", {"html": False}, renderer_cls=_Renderer)
_MARKDOWN.enable("table").disable("image")


def inline(text: str) -> Markup:
    """Return a line of Markdown as HTML."""
    return Markup(_MARKDOWN.renderInline(text, {"ids": ()}))


def html(lines: Iterable[str], ids: Collection[str] = ()) -> Markup:
    """Return lines of Markdown as HTML; what is shown at `ids` can be led to."""
    parts = []
    for is_formula, some in groupby(lines, lambda line: line.startswith(_FORMULA)):
        if is_formula:
            parts += [_formula(line.strip("$")) for line in some]
        else:
            parts.append(Markup(_MARKDOWN.render("\n".join(some), {"ids": ids})))
    return Markup("").join(parts)


def _formula(latex):
    """Return MathML, or the source where it cannot be converted: a user's claims may be plain."""
    try:
        shown = mathml.formula(latex)
    except mathml.Unreadable:
        shown = Markup("<code>{}</code>").format(latex)
    label = Markup('tabindex="0" role="group" aria-label="Statement"')
    return Markup('<div class="formula scroll" {}>{}</div>').format(label, shown)
