"""A trace as a drawing in SVG where there is no Graphviz: grandalf places its nodes in layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element, tostring

from ..diagnostics import Diagnostic, GradcliError, printable
from ..tasks.traced import Traced
from .page import tag
from .style import Style
from .trace_graphs import Edge, edges_of, nodes_of

MOST = 300  # nodes, for which grandalf takes seconds
NEARER = 0.55  # of an edge: its label is closer to where it ends
LETTER, LINE, PAD = 7.3, 16, 8  # pixels of a monospaced font of size 12
BESIDE, BELOW, SPACE = 30, 50, 30  # between nodes, and between components

Point = tuple[float, float]


class Node(NamedTuple):
    """What stands in a node, and whether it is a source or a target."""

    name: str
    lines: list[str]
    is_source: bool
    is_target: bool

    @property
    def width(self) -> float:
        return max(map(len, self.lines)) * LETTER + 2 * PAD

    @property
    def height(self) -> float:
        return len(self.lines) * LINE + 2 * PAD


class Drawn(NamedTuple):
    """Where the middle of each node is, by name, and the way of each edge; in a rectangle of this
    size."""

    middles: dict[str, Point]
    ways: list[list[Point]]
    width: float
    height: float


class _View:
    """What grandalf asks of a vertex, and where it puts its place."""

    def __init__(self, w: float, h: float) -> None:
        self.w, self.h = w, h
        self.xy: Point = (0.0, 0.0)


class _Way:
    """The same of an edge."""

    def __init__(self) -> None:
        self.points: list[Point] = []

    def setpath(self, points: Sequence[Point]) -> None:
        self.points = list(points)


def svg(traced: Traced, style: Style) -> str:
    """The graph as a picture. Raises GradcliError (E001) where it has too many nodes."""

    def node(name: str, lines: list[str], is_source: bool, is_target: bool) -> list[Node]:
        return [Node(name, [line for line in lines if line], is_source, is_target)]

    def box(name: str, label: str, inner: list[Node]) -> list[Node]:
        return [n._replace(lines=[*n.lines, label]) for n in inner]

    nodes = {n.name: n for n in nodes_of(traced, style, node, box)}
    if len(nodes) > MOST:
        message = f"{len(nodes):,} operations are too many for a picture without Graphviz"
        help = "choose a part by --of and --wrt, or install Graphviz"
        raise GradcliError(Diagnostic("E001", message, help=help))
    edges = list(edges_of(traced, style))
    drawn = _laid_out(nodes, [edge for edge in edges if not edge.is_earlier])
    ways = iter(drawn.ways)
    lines = [(e, _way(e, nodes, _back(drawn, e) if e.is_earlier else next(ways))) for e in edges]
    content = [
        *(_arrow(edge, way) for edge, way in lines),
        *(_box(node, *drawn.middles[name]) for name, node in nodes.items()),
        *(_said(edge, way) for edge, way in lines if edge.label),
    ]
    return _picture(printable(traced.file), content, drawn)


def _picture(title: str, content: list[Element], drawn: Drawn) -> str:
    head = tag(
        "marker",
        tag("path", d="M0,0 L8,4 L0,8 z"),
        id="arrow",
        markerWidth=8,
        markerHeight=8,
        refX=8,
        refY=4,
        orient="auto",
    )
    picture = tag(
        "svg",
        tag("title", title),
        tag("defs", head),
        tag("rect", width=drawn.width, height=drawn.height, fill="white"),
        *content,
        xmlns="http://www.w3.org/2000/svg",
        width=drawn.width,
        height=drawn.height,
        **{"font-family": "monospace", "font-size": "12", "text-anchor": "middle"},
    )
    return tostring(picture, encoding="unicode") + "\n"


def _box(node: Node, x: float, y: float) -> Element:
    left, top = x - node.width / 2, y - node.height / 2
    shape = tag(
        "rect",
        x=f"{left:.1f}",
        y=f"{top:.1f}",
        width=f"{node.width:.1f}",
        height=f"{node.height:.1f}",
        rx=node.height / 2 if node.is_source else 2,
        fill="white",
        stroke="black",
        **{"stroke-width": 2.5 if node.is_target else 1},
    )
    first = top + PAD + 12
    lines = [
        tag("text", line, x=f"{x:.1f}", y=f"{first + k * LINE:.1f}")
        for k, line in enumerate(node.lines)
    ]
    return tag("g", shape, *lines)


def _way(edge: Edge, nodes: dict[str, Node], middles: list[Point]) -> list[Point]:
    """From below the first node to above the second, or the other way round."""
    (x0, y0), *between, (x1, y1) = middles
    down = 1 if y1 > y0 else -1
    start = (x0, y0 + down * nodes[edge.start].height / 2)
    end = (x1, y1 - down * nodes[edge.end].height / 2)
    return [start, *between, end]


def _arrow(edge: Edge, way: list[Point]) -> Element:
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in way)
    line = tag("polyline", points=points, fill="none", stroke="black", marker_end="url(#arrow)")
    if edge.is_earlier:
        line.set("stroke-dasharray", "4 3")
    return line


def _said(edge: Edge, way: list[Point]) -> Element:
    (x0, y0), (x1, y1) = way[-2:]
    x, y = (a + NEARER * (b - a) for a, b in ((x0, x1), (y0, y1)))
    text = tag("text", edge.label, x=f"{x:.1f}", y=f"{y + 4:.1f}")
    text.attrib |= {"font-size": "11", "stroke": "white", "stroke-width": "4"}
    text.attrib |= {"paint-order": "stroke"}
    return text


def _back(drawn: Drawn, edge: Edge) -> list[Point]:
    """The way of an edge from an earlier iteration, beside those of this one."""
    (x0, y0), (x1, y1) = start, end = drawn.middles[edge.start], drawn.middles[edge.end]
    return [start, ((x0 + x1) / 2 + BESIDE, (y0 + y1) / 2), end]


def _laid_out(nodes: dict[str, Node], edges: list[Edge]) -> Drawn:
    """Places in layers, from the sources down; the parts that nothing connects stand side by
    side."""
    from grandalf.graphs import Edge as Link
    from grandalf.graphs import Graph, Vertex
    from grandalf.layouts import SugiyamaLayout

    vertices: dict[str, Any] = {name: Vertex(name) for name in nodes}
    for name, vertex in vertices.items():
        vertex.view = _View(nodes[name].width, nodes[name].height)
    links: list[Any] = [Link(vertices[e.start], vertices[e.end]) for e in edges]
    for link in links:
        link.view = _Way()
    left, height = SPACE / 2, 0.0
    middles: dict[str, Point] = {}
    for part in Graph(list(vertices.values()), links).C:
        layout = SugiyamaLayout(part)
        layout.xspace, layout.yspace = BESIDE, BELOW
        layout.init_all(roots=[v for v in part.sV if not v.e_in()])
        layout.draw(3)
        views = [(v.data, *v.view.xy, v.view.w, v.view.h) for v in part.sV]
        x = left - min(x - w / 2 for _, x, _, w, _ in views)
        y = SPACE / 2 - min(y - h / 2 for _, _, y, _, h in views)
        middles |= {name: (vx + x, vy + y) for name, vx, vy, _, _ in views}
        for link in part.sE:
            link.view.points = [(px + x, py + y) for px, py in link.view.points]
        left = max(vx + w / 2 for _, vx, _, w, _ in views) + x + SPACE
        height = max(height, max(vy + h / 2 for _, _, vy, _, h in views) + y + SPACE / 2)
    return Drawn(middles, [link.view.points for link in links], round(left, 1), round(height, 1))
