"""A plot as a page of HTML that stands by itself: the picture, and in words where curves aren't
smooth."""

from __future__ import annotations

from xml.etree.ElementTree import Element, fromstring

from ..tasks.plot.results import Plot
from .page import document, tag
from .plots import label, marks

_STYLE = """
body { margin: 0 auto; max-width: 60rem; padding: 1rem; font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.25rem; overflow-wrap: anywhere; }
svg { background: white; display: block; height: auto; max-width: 100%; }
"""


def page(plot: Plot, picture: bytes) -> str:
    """The page with the picture, an SVG of our own."""
    shown = [label(plot, curve) for curve in plot.curves] or [c.label for c in plot.contours]
    by = " and ".join(axis.label for axis in plot.axes)
    said = [*marks(plot), *plot.notes]
    return document(
        f"{plot.file}: {', '.join(shown)}",
        _STYLE,
        tag("h1", f"{', '.join(shown)} over {by}"),
        _inline(picture),
        tag("ul", *(tag("li", line) for line in said)) if said else None,
        tag("p", tag("code", plot.file)),
    )


def _inline(picture: bytes) -> Element:
    """An SVG file as an element of a page, in which names have no namespace."""
    svg = fromstring(picture)
    for element in svg.iter():
        element.tag = _plain(element.tag)
        element.attrib = {_plain(name): value for name, value in element.attrib.items()}
    for metadata in svg.findall("metadata"):
        svg.remove(metadata)
    return svg


def _plain(name: str) -> str:
    return name.rpartition("}")[2]
