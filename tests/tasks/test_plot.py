"""`plot` as a function: where curves are evaluated, and that nothing is joined across a jump or a
pole."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gradcli.diagnostics import GradcliError, Source
from gradcli.tasks.evaluation import Options
from gradcli.tasks.plot.plotting import Request, plot
from gradcli.tasks.plot.ranges import parse_axis, parse_family
from gradcli.tasks.plot.results import Curve, Plot, round_values
from gradcli.tasks.programs import parse_program


def plotted(text: str, *over: str, **wanted: object) -> Plot:
    axes = tuple(map(parse_axis, over))
    node = parse_program(Source("<expr>", text), [axis.name for axis in axes] + ["a"])
    return plot(node, {}, Options(), Request(axes, **wanted))  # type: ignore[arg-type]


def curve(text: str, over: str = "x=-3:3", order: int = 0) -> Curve:
    found = plotted(text, over, order=max(order, 1))
    return next(c for c in found.curves if c.order == order)


def crosses(found: Curve, place: float) -> bool:
    """Whether a line of the curve goes through the place."""
    return any(piece.x[0] < place - 1e-9 < place + 1e-9 < piece.x[-1] for piece in found.pieces)


PLACES = st.floats(-2.9, 2.9).map(lambda x: round(x, 4))


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(
        [
            ("1 / (x - {c})", "pole"),
            ("1 / (x - {c})**2", "pole"),
            ("-(x - {c})**(-3)", "pole"),
            ("log(abs(x - {c}))", "pole"),
            ("tan(x - {c} + pi / 2)", "pole"),
            ("sin(x) if x < {c} else 2 + x", "jump"),
            ("floor(0.1 * (x - {c})) + x", "jump"),
            ("sign(x - {c}) * 3", "jump"),
            ("atan(1 / (x - {c}))", "jump"),
        ]
    ),
    PLACES,
    st.sampled_from([1e-6, 1.0, 1e6]),
)
@example(("1 / (x - {c})", "pole"), 2.5448, 1.0)  # 2e-7 from a sample
@example(("1 / (x - {c})", "pole"), -0.2444, 1e-6)
def test_no_line_goes_through_a_jump_or_a_pole(
    kind: tuple[str, str], place: float, size: float
) -> None:
    text, mark = kind
    found = plotted(f"{size!r} * ({text.format(c=f'({place})')})", "x=-3:3", order=1)
    for c in found.curves:
        assert not crosses(c, place), (c.label, c.order)
    marks = [m for m in found.curves[0].marks if abs(m.x - place) < 1e-9]
    assert [m.kind for m in marks] == [mark]


@settings(max_examples=25, deadline=None)
@given(PLACES, st.floats(0.1, 100), st.floats(-3, 3))
def test_a_kink_is_marked_on_the_value_and_tears_the_derivative(
    place: float, size: float, slope: float
) -> None:
    found = plotted(f"{size} * abs(x - ({place})) + {slope} * x", "x=-3:3", order=1)
    value, derivative = found.curves
    assert [(m.kind, round(m.x, 9)) for m in value.marks] == [("kink", place)]
    assert len(value.pieces) == 1
    assert [(m.kind, round(m.x, 9)) for m in derivative.marks] == [("jump", place)]
    assert not crosses(derivative, place)


@pytest.mark.parametrize(
    "text",
    [
        "x**3 - x",
        "tanh(1000 * x)",
        "sin(40 * x) * exp(x)",
        "exp(-100 * (x - 0.3)**2)",
        "sin(x) / x",
        "x * relu(x)**2",
        "1e12 + x",
        "2.0",
        "cbrt(x)",
        "sqrt(1 + x**2) * 1e-200",
    ],
)
def test_what_is_continuous_is_one_piece_without_marks(text: str) -> None:
    found = curve(f"{text} + 0 * x")
    assert [m for m in found.marks if m.kind != "kink"] == []
    (piece,) = found.pieces
    assert (piece.x[0], piece.x[-1]) == (-3.0, 3.0)


@pytest.mark.parametrize(
    ("text", "function"),
    [
        ("x**3 - x", lambda x: x**3 - x),
        ("sin(20 * x)", lambda x: math.sin(20 * x)),
        ("tanh(50 * x)", lambda x: math.tanh(50 * x)),
        ("exp(x)", math.exp),
    ],
)
def test_lines_are_close_to_the_curve(text: str, function: Callable[[float], float]) -> None:
    found = plotted(text, "x=-3:3", order=0, tolerance=1 / 500).curves[0]
    (piece,) = found.pieces
    points = list(zip(piece.x, piece.y, strict=True))
    span = max(piece.y) - min(piece.y)
    for (x0, y0), (x1, y1) in pairwise(points):
        assert y0 == pytest.approx(function(x0), rel=1e-12, abs=1e-12)
        assert abs((y0 + y1) / 2 - function((x0 + x1) / 2)) < span / 250
    assert len(points) < 3000


def test_derivatives_are_those_of_the_program() -> None:
    found = plotted("x**4", "x=-2:2", order=3)
    for order, expected in ((1, 4.0), (2, 12.0), (3, 24.0)):
        (piece,) = found.curves[order].pieces
        assert piece.y[piece.x.index(1.0)] == expected


def test_points_are_evaluated_at_once_and_no_more_than_asked_for() -> None:
    found = plotted("sin(1000 * x)", "x=0:10", order=0, budget=500)
    assert sum(len(piece.x) for piece in found.curves[0].pieces) <= 500


@pytest.mark.parametrize("text", ["floor(x)", "ceil(x)", "x % 1", "sign(x + 2) + sign(x - 2)"])
def test_no_line_goes_up_a_jump_at_an_end_of_the_range(text: str) -> None:
    for piece in curve(text, "x=-2:2").pieces:
        rises = [abs(b - a) for a, b in pairwise(piece.y)]
        assert max(rises, default=0.0) < 0.1, piece


@pytest.mark.parametrize("text", ["1 / (x - 1)", "log(abs(x - 1))", "0.1 / (x - 1)**3", "tan(x)"])
def test_a_pole_hides_no_kink(text: str) -> None:
    value, derivative = plotted(f"abs(x) + {text}", "x=-3:3").curves
    assert ("kink", 0.0) in [(m.kind, m.x) for m in value.marks]
    assert not crosses(derivative, 0.0)


LONG = "sum(sin(x * linspace(1.0, 9.0, 1000))) + 1e3 * floor(2 * x)"


def test_a_program_that_takes_long_is_evaluated_at_fewer_points() -> None:
    found = plotted(LONG, "x=-3:3")
    assert found.evaluations < 500
    (note,) = found.notes
    assert "--points 100000 draws it more closely" in note
    more = plotted(LONG, "x=-3:3", budget=100_000)
    assert more.evaluations > 3 * found.evaluations
    assert not plotted("sin(9 * x) + floor(2 * x)", "x=-3:3").notes


def test_no_line_goes_through_a_jump_that_nobody_had_the_time_to_look_into() -> None:
    value = plotted(LONG, "x=-3:3").curves[0]
    assert not any(crosses(value, k / 2) for k in range(-5, 6))


CONVERGES = """var x = 0.0
y = 1.5 + 0.1 * tanh(x)
for i in range(12) { y = y - (y**2 - 3) / (2 * y) }
output y"""


def test_what_converges_is_a_constant() -> None:
    for text in (CONVERGES, "1e5 + 1e-12 * sin(1e9 * x)"):
        found = plotted(text, "x=-3:3").curves[0]
        assert found.marks == []
        assert found.limits is not None
        assert found.limits[0] == found.limits[1]


def test_a_derivative_varies_by_itself() -> None:
    derivative = curve("1e11 + sin(x)", order=1)
    assert derivative.limits == pytest.approx((-1, 1), abs=0.02)


def test_a_curve_ends_where_its_values_do() -> None:
    found = curve("sqrt(x) + sqrt(1 - x)")
    (piece,) = found.pieces
    assert piece.x[0] == pytest.approx(0, abs=1e-9)
    assert piece.x[-1] == pytest.approx(1, abs=1e-9)
    assert found.marks == []


def test_branches_without_a_derivative_have_zero() -> None:
    found = curve("x if x > 0 else 0.0", order=1)
    assert [set(piece.y) for piece in found.pieces] == [{0.0}, {1.0}]


def test_poles_do_not_set_the_scale() -> None:
    low, high = curve("1 / x + 5").limits or (0, 0)
    assert 0 < low < 5 < high < 12


def test_places_are_found_in_any_range_that_has_floats_enough() -> None:
    for over, expected in (("x=1e12:1e12+3", [1e12 + 1, 1e12 + 2]), ("x=-1e-9:1e-9", [0.0])):
        found = plotted("floor(x)", over, order=0).curves[0]
        assert [(m.kind, m.x) for m in found.marks] == [("jump", x) for x in expected]
        assert len(found.pieces) == len(expected) + 1
    with pytest.raises(GradcliError, match="too few floats"):
        plotted("x**2", "x=1:1.000000000001")


@pytest.mark.parametrize("text", ["floor(x) + x", "1 / (x - 1)", "abs(x - 1)"])
def test_single_precision(text: str) -> None:
    axis = parse_axis("x=0.3:1.9")
    node = parse_program(Source("<expr>", text), ["x"])
    found = plot(node, {}, Options(dtype="float32"), Request((axis,), order=1))
    assert [m.x for m in found.curves[0].marks] == pytest.approx([1.0], abs=1e-4)
    assert not any(p.x[0] < 0.999 and p.x[-1] > 1.001 for p in found.curves[1].pieces)


def test_families_and_several_outputs() -> None:
    text = "var x = 0.0; var a = 1.0; y = a * x; z = y**2; output y; output z"
    found = plotted(text, "x=0:1", family=parse_family("a=1, 2"))
    assert [(c.label, c.member, c.order) for c in found.curves] == [
        (label, member, order)
        for member in ("a = 1", "a = 2")
        for label in ("y", "z")
        for order in (0, 1)
    ]


def test_expectations_of_the_program_hold_at_its_own_values_only() -> None:
    found = plotted("var x = 1.0; y = x**2; expect y == 1.0; output y", "x=-1:1")
    assert found.notes == []
    assert len(found.curves[0].pieces[0].x) > 100


def test_rows_that_fail_are_left_out() -> None:
    text = "var x = 0.0; y = [1.0, 2.0, 3.0]; z = y[int64(x)] * x; output z"
    found = plotted(text, "x=0:5")
    assert found.curves[0].pieces[-1].x[-1] < 3.001
    assert any("some points have no value" in note for note in found.notes)


@pytest.mark.parametrize("text", ["1 / (x - y)", "1.0 * x + 0 * y if x > y else y + 9"])
def test_no_line_of_a_contour_goes_through_a_jump_or_a_pole(text: str) -> None:
    (found,) = plotted(text, "x=-2:2", "y=-1:3", grid=61).contours
    assert found.torn
    lines = [s for line in found.lines for s in line.pieces]
    assert lines
    assert all((s.x0 > s.y0) == (s.x1 > s.y1) for s in lines)


def test_a_contour_has_its_level_and_the_gradient() -> None:
    (found,) = plotted("x**2 + 3 * y", "x=-2:2", "y=-1:3", grid=41).contours
    assert found.torn == []
    for line in found.lines:
        for s in line.pieces:
            assert s.x0**2 + 3 * s.y0 == pytest.approx(line.level, abs=0.01)
    assert found.along is not None
    assert found.along[0][7][3] == 2 * found.x[3]
    assert found.along[1][7][3] == 3.0


def test_elements_have_ranges() -> None:
    text = "var x = [1.0, 2.0]; y = x[0]**2 * x[1]; output y"
    (value, slope) = plotted(text, "x[0]=-1:1").curves
    assert value.pieces[0].y[-1] == 2.0
    assert slope.pieces[0].y[-1] == 4.0
    (found,) = plotted(text, "x[0]=-1:1", "x[1]=0:1", grid=11).contours
    assert found.along is not None
    assert found.along[1][10][10] == 1.0


@pytest.mark.parametrize(
    ("text", "over", "says"),
    [
        ("x", ["x=1"], "expected NAME=LOW:HIGH"),
        ("x", ["x=2:1"], "is empty"),
        ("x", ["x=nan:1"], "isn't finite"),
        ("x", ["x=0:inf"], "isn't finite"),
        ("x", ["x=0:true"], "isn't a number"),
        ("x", ["z=0:1"], "declares no `z`"),
        ("x", ["x=0:1", "x=0:1"], "stands twice"),
        ("x", ["x=0:1", "y=0:1", "z=0:1"], "more than twice"),
        ("x * [1.0, 2.0]", ["x=0:1"], "is an array of shape (2,)"),
        ("log(x)", ["x=-2:-1"], "nothing to plot"),
        ("var x = [1.0]; y = x[0]", ["x[3]=0:1"], "no element `x[3]`"),
    ],
)
def test_what_is_wrong(text: str, over: list[str], says: str) -> None:
    with pytest.raises(GradcliError) as caught:
        plotted(text, *over)
    assert says in caught.value.diagnostics[0].message
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("low", "high", "most", "values"),
    [
        (-3.1, 3.1, 4, [-2, 0, 2]),
        (0, 1, 5, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (5, 5, 3, [5]),
        (-1e-9, 1e-9, 2, [-1e-9, 0, 1e-9]),
    ],
)
def test_round_values(low: float, high: float, most: int, values: list[float]) -> None:
    assert round_values(low, high, most) == pytest.approx(values, abs=1e-15)
