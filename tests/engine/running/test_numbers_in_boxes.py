"""Operations on numbers: what is done for floats gives what is done for any value, to the last bit,
whatever boxes the numbers are in."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import pytest

from gradcli.diagnostics import Source, Span
from gradcli.engine.execution import new_run
from gradcli.engine.operations import apply as applying
from gradcli.engine.operations.apply import apply
from gradcli.engine.trace.run import Run, Settings
from gradcli.engine.trace.tape import Site
from gradcli.engine.trace.windows import STRIDE
from gradcli.engine.values.boxes import Dual
from gradcli.ops import OPS
from gradcli.ops.op import Op

from ...ops.exact import REAL, moving, points
from ..programs import failure, outputs

SETTINGS = Settings("float64", "cpu", 0, None, None, False)
SPAN = Span(Source("<test>", ""), 0, 0)
BELOW, ABOVE = 1, 2  # the level of tangents, and that of the trace outside of them
EDGES = {
    "div": (1.0, 0.0),
    "sqrt": (0.0,),
    "log": (0.0,),
    "pow": (0.0, 0.0),
    "mul": (1e200, 1e200),
    "tan": (0.0,),
}


def boxed(run: Run, kind: str, x: float, k: int) -> Any:
    """A number as it is, traced, with a tangent, or both."""
    value = Dual(x, 0.5 - k, BELOW) if kind in "db" else x
    return run.trace.leaf(value, -1 - k) if kind in "tb" else value


def done(op: Op, point: tuple[float, ...], kinds: tuple[str, ...], general: bool) -> str:
    """What an operation gives, and what it leaves on the trace."""
    run = new_run(SETTINGS, {})
    run.level = run.trace.level = ABOVE
    site, values = (
        Site(op, SPAN),
        tuple(
            [boxed(run, kind, x, k) for k, (kind, x) in enumerate(zip(kinds, point, strict=True))]
        ),
    )
    y = _applied(run, site, values, general)
    records = run.trace.segment.records if run.trace.segment is not None else []
    kept = [
        (flat[0].op.name, flat[0].operands, *flat[1:3], _numbers(flat[3], flat[4]), flat[5])
        for flat in _each(records)
    ]
    return repr((y[:2] if type(y) is tuple else y, kept))


def _applied(run: Run, site: Site, values: tuple[Any, ...], general: bool) -> Any:
    """What `apply` gives; `general`: by what it does for any value."""
    with pytest.MonkeyPatch.context() as patch:
        if general:
            patch.setattr(applying, "apply_to_floats", lambda *given: None)
        return apply(run, site, values)


def _each(records: list[Any]) -> list[list[Any]]:
    return [records[k : k + STRIDE] for k in range(0, len(records), STRIDE)]


def _numbers(a: Any, b: Any) -> list[Any]:
    return list(a) if type(a) is tuple else [a] if b is None else [a, b]


@pytest.mark.parametrize("op", [op for op in REAL if op.passes_floats], ids=lambda op: op.name)
def test_numbers_in_boxes(op: Op) -> None:
    choices = [
        ("f", "t", "d", "b") if k in moving(op) else ("f",)
        for k in range(len(op.signature.operands))
    ]
    for point in [*points(op)[:3], *([EDGES[op.name]] if op.name in EDGES else [])]:
        for kinds in product(*choices):
            assert done(op, point, kinds, general=False) == done(op, point, kinds, general=True), (
                point,
                kinds,
            )


@pytest.mark.parametrize(
    "name", ["add", "mul", "div", "pow", "leaky_relu", "elu", "maximum", "atan2"]
)
def test_ints_among_them(name: str) -> None:
    for kinds in [
        ("i", "f"),
        ("f", "i"),
        ("i", "t"),
        ("d", "i"),
        ("i", "b"),
        ("i", "d"),
        ("t", "i"),
    ]:
        point = tuple([k + 1 if kind == "i" else 0.5 + k for k, kind in enumerate(kinds)])
        assert done(OPS[name], point, kinds, general=False) == done(
            OPS[name], point, kinds, general=True
        ), kinds


@pytest.mark.parametrize(("levels", "traced"), [((1, 3), False), ((3, 3), True)])
def test_tangents_of_several_levels_and_above_the_trace(
    levels: tuple[int, int], traced: bool
) -> None:
    def given(run: Run) -> tuple[Any, ...]:
        values: list[Any] = [Dual(1.5, 0.5, levels[0]), Dual(2.5, -1.0, levels[1])]
        return run.trace.leaf(2.0, -1) if traced else values[0], values[1]

    found = []
    for general in (True, False):
        run = new_run(SETTINGS, {})
        run.level, run.trace.level = 3, 2
        site, values = Site(OPS["mul"], SPAN), given(run)
        y = _applied(run, site, values, general)
        found.append(re.sub(" object at 0x[0-9a-f]+", "", repr(y)))
    assert found[0] == found[1]
    assert "along" in found[0]


def test_what_is_paused_has_no_tangent() -> None:
    run = new_run(SETTINGS, {})
    run.level, run.paused = 1, 1
    assert apply(run, Site(OPS["mul"], SPAN), (Dual(1.5, 1.0, 1), 2.0)) == 3.0


def test_ints_overflow_in_states() -> None:
    assert outputs("frozen n = 4; n :+= 3; output n") == {"n": 7}
    assert failure("frozen n = 9223372036854775807; n :+= 1").code == "E305"
    assert failure("frozen n = -9223372036854775807; n :-= 2").code == "E305"
