"""Formulas in plain letters get their indices and powers, as in the report; code stays as it is.

Pages on the papers write ``κ^4`` and ``v_i``; titles that are only searched or listed stay plain.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

from docutils import nodes
from markupsafe import escape
from sphinx.transforms import SphinxTransform

from linrep.report.mathml import prose

#: Pages with formulas in plain letters. On others a name may look like one.
PAGES = re.compile(
    r"index|gallery|fedrep|flute|perfedsi|pflmf|figures|notation|gram|(findings|proofs|ledger)(/.*)?"
)
_SUPERSCRIPT = ("<sup>", "</sup>")


# Named as docutils names them, since its visitors go by the names of classes.
class subscript(nodes.subscript):
    """An index, which plain text has behind an underscore."""

    def astext(self):
        return f"_{super().astext()}"


class superscript(nodes.superscript):
    """A power, which plain text has behind a caret."""

    def astext(self):
        return f"^{super().astext()}"


_SCRIPTS = {"sub": subscript, "sup": superscript}
_SET = tuple(_SCRIPTS.values())
_LEFT = (nodes.literal, nodes.FixedTextElement, nodes.math, nodes.raw, nodes.comment, *_SET)


class Typeset(SphinxTransform):
    default_priority = 870  # before titles are collected

    def apply(self, **kwargs):
        for opening in list(self.document.findall(nodes.raw)):
            _merge(opening)
        if PAGES.fullmatch(self.env.docname):
            for text in list(self.document.findall(nodes.Text)):
                html = prose(str(text))
                if html != escape(str(text)) and not _is_left(text):
                    text.parent.replace(text, typeset(html))


def _merge(opening):
    """Put what is between the tags of a power, as Markdown has them, into a node."""
    if opening.astext() != _SUPERSCRIPT[0]:
        return
    content = opening.next_node(nodes.Text, descend=False, siblings=True)
    closing = content and content.next_node(nodes.raw, descend=False, siblings=True)
    if closing and closing.astext() == _SUPERSCRIPT[1]:
        opening.parent.remove(content)
        opening.parent.remove(closing)
        opening.parent.replace(opening, superscript("", content.astext()))


def _is_left(node):
    while node := node.parent:
        if isinstance(node, _LEFT):
            return True
    return False


def typeset(html):
    """Return the HTML of a sentence as nodes."""
    return _children(ElementTree.fromstring(f"<p>{html}</p>"))


def _children(element):
    found = [nodes.Text(element.text)] if element.text else []
    for child in element:
        found.append(_SCRIPTS[child.tag]("", "", *_children(child)))
        if child.tail:
            found.append(nodes.Text(child.tail))
    return found


def _plain_titles(app, env):
    """Let the search and the window show titles as text: they show tags as they are."""
    for name, title in env.longtitles.items():
        if any(title.findall(lambda node: isinstance(node, _SET))):
            env.longtitles[name] = nodes.title("", title.astext())


def setup(app):
    app.add_transform(Typeset)
    app.connect("env-updated", _plain_titles)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
