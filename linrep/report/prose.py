"""Findings and proofs, written in Markdown, as HTML."""

from __future__ import annotations

from collections.abc import Collection

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markupsafe import Markup, escape

from linrep.report import mathml


class _Renderer(RendererHTML):
    """Formulas in plain letters are set, claims are links, and links to other pages are not."""

    def text(self, tokens, index, options, env):
        return str(mathml.prose(tokens[index].content))

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
        return ""

    link_close = link_open


_MARKDOWN = MarkdownIt("commonmark", {"html": False}, renderer_cls=_Renderer).disable("image")


def inline(text: str) -> Markup:
    """Return a line of Markdown as HTML."""
    return Markup(_MARKDOWN.renderInline(text, {"ids": ()}))


def html(text: str, ids: Collection[str] = ()) -> Markup:
    """Return Markdown as HTML."""
    return Markup(_MARKDOWN.render(text, {"ids": ids}))
