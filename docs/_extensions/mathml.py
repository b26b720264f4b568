"""Formulas as MathML, which browsers show by themselves: no script, nothing to fetch.

Docutils translates TeX; what it does not know is an error of the build, not an empty place on a page.
"""

from __future__ import annotations

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml
from sphinx.errors import ExtensionError
from sphinx.util.math import get_node_equation_number

BAR = '<mo stretchy="false">|</mo>'
CLOSE_BAR = '<mo stretchy="false" lspace="0" rspace="0">|</mo>'  # of |m|: browsers would set it as "such that"


def _translated(tex: str, as_block: bool) -> str:
    try:
        return latex2mathml.tex2mathml(tex.strip(), as_block=as_block).replace(BAR, CLOSE_BAR)
    except MathError as problem:
        raise ExtensionError(f"formula {tex!r}: {problem}") from problem


def inline(translator, node: nodes.math) -> None:
    translator.body.append(_translated(node.astext(), False))
    raise nodes.SkipNode


def block(translator, node: nodes.math_block) -> None:
    translator.body.append(translator.starttag(node, "div", CLASS="formula"))
    translator.body.append(_translated(node.astext(), True))
    if node["number"]:
        translator.body.append(f'<span class="eqno">({get_node_equation_number(translator, node)})</span>')
    translator.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
