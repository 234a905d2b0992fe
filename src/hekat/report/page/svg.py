"""Turns a matplotlib figure into SVG text that stands inside a page and takes its colours from the page's style."""

from __future__ import annotations

import html
import io
import re
from typing import TYPE_CHECKING

from hekat.errors import HekatError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Figures are drawn in these otherwise unused colours; each becomes a CSS variable of the page, so that one drawing
# suits light, dark and paper.
INK = "#010101"
RULE = "#020202"
ENCRYPTED = "#030303"
PLAIN = "#040404"
ALONE = "#050505"
PARTIES = "#060606"
AGGREGATOR = "#070707"
BOUND = "#080808"
PAPER = "#090909"
# For curves or parts that have no meaning of their own to share with another plot.
SERIES = ("#0a0a0a", "#0b0b0b", "#0c0c0c", "#0d0d0d", "#0e0e0e", "#0f0f0f")
_VARIABLES = {
    INK: "ink",
    RULE: "rule",
    ENCRYPTED: "encrypted",
    PLAIN: "plain",
    ALONE: "alone",
    PARTIES: "parties",
    AGGREGATOR: "aggregator",
    BOUND: "bound",
    PAPER: "page",
    **{colour: f"series-{number}" for number, colour in enumerate(SERIES, 1)},
}


def new_figure(width_in: float, height_in: float) -> Figure:
    """An empty transparent figure. Raises HekatError where matplotlib is not installed."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise HekatError(
            "the report's plots need matplotlib",
            expected="matplotlib 3.9 or newer",
            got="no usable matplotlib in this Python",
            cure="pip install 'hekat[report]'",
        ) from error
    figure = Figure(figsize=(width_in, height_in), layout="constrained", facecolor="none")
    FigureCanvasAgg(figure)
    return figure


def to_inline_svg(figure: Figure, name: str, description: str) -> str:
    """The figure as an <svg> element; ids begin with `name`, which must differ between the figures of a page.

    Letters are drawn as paths, so that no font is asked for. The same figure always gives the same text.
    """
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->\s*", "", text, flags=re.DOTALL)
    text = _rename_ids(text, name)
    for colour, variable in _VARIABLES.items():
        text = text.replace(colour, f"var(--{variable})")
    return _open_tag(text, description)


def _rename_ids(text: str, name: str) -> str:
    """Number all ids in order: matplotlib's own repeat from figure to figure or are random."""
    numbers = {old: f"{name}-{number}" for number, old in enumerate(dict.fromkeys(re.findall(r'\bid="([^"]+)"', text)))}
    text = re.sub(r'\bid="([^"]+)"', lambda found: f'id="{numbers[found[1]]}"', text)
    text = re.sub(r'(xlink:href|href)="#([^"]+)"', lambda found: f'href="#{numbers.get(found[2], found[2])}"', text)
    return re.sub(r"url\(#([^)]+)\)", lambda found: f"url(#{numbers.get(found[1], found[1])})", text)


def _open_tag(text: str, description: str) -> str:
    end = text.index(">")
    view = re.search(r'viewBox="[^"]+"', text[:end])
    assert view is not None  # matplotlib always writes one
    label = html.escape(description, quote=True)
    return f'<svg role="img" aria-label="{label}" {view[0]} xmlns="http://www.w3.org/2000/svg">{text[end + 1 :]}'
