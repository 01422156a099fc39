"""A wrong rule of any entry of the op table is caught, and blamed on that operation; right ones are
not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import special

from gradcli.diagnostics import Source, Span
from gradcli.engine.execution import new_run, running
from gradcli.engine.operations.rules import Language, Value
from gradcli.engine.replay.history import History
from gradcli.engine.replay.value_trace import ValueTrace
from gradcli.engine.trace.run import Settings
from gradcli.engine.trace.tape import Site
from gradcli.ops import OPS
from gradcli.ops.op import Op
from gradcli.ops.registry import replaced
from gradcli.tasks.check.blame import Doubt, wrong_steps
from gradcli.tasks.check.checking import check
from gradcli.tasks.check.results import Check, CheckOptions
from gradcli.tasks.programs import parse_program

from ..ops.exact import REAL, points
from ..ops.structural_calls import CALLS, movable
from .mutations import KINDS, MUTATIONS, is_green, passing
from .planting import planted

Case = tuple[Op, int, list[Any], dict[str, Any]]

APART = {"part"}  # no rule of its own: a result of an op with several


def _cases() -> list[Case]:
    """Every operand with a rule of every entry, at a point."""
    found: dict[tuple[str, int], Case] = {}
    for op in REAL:
        for k in range(len(op.partials)):
            if op.partials[k] is not None:
                found[op.name, k] = op, k, list(points(op)[0]), {}
    for op, operands, options in CALLS:
        for k in movable(op, operands):
            if op.name not in APART:
                found.setdefault(
                    (op.name, 0 if op.signature.variadic else k), (op, k, operands, options)
                )
    return list(found.values())


CASES = _cases()
IDS = [f"{op.name}-{k}" for op, k, _, _ in CASES]


def doubts(op: Op, k: int, operands: list[Any], options: dict[str, Any]) -> list[Doubt]:
    """What is blamed in a history of this operation alone, where operand `k` moves."""
    run = new_run(Settings(), {}, keeps_all=True)
    run.trace = ValueTrace()
    m = Language(run, Site(OPS["add"], Span(Source("<test>", "x"), 0, 1)))
    leaf = run.trace.leaf(operands[k])
    with running():
        y = m.call(
            op.name, tuple(Value(leaf if j == k else v, m) for j, v in enumerate(operands)), options
        )
        parts = [part.v for part in (y if type(y) is list else [y]) if type(part.v) is tuple]
        return wrong_steps(History(run, parts, [leaf[1]]))


@pytest.mark.parametrize(("op", "k", "operands", "options"), CASES, ids=IDS)
def test_right_rules_are_not_blamed(
    op: Op, k: int, operands: list[Any], options: dict[str, Any]
) -> None:
    assert doubts(op, k, operands, options) == []


@pytest.mark.parametrize(("op", "k", "operands", "options"), CASES, ids=IDS)
def test_wrong_rules_are_blamed(
    op: Op, k: int, operands: list[Any], options: dict[str, Any]
) -> None:
    for name in ("factor", "sign", "missing"):
        mutation = MUTATIONS[name]
        with planted(op, mutation, k):
            found = doubts(op, k, operands, options)
        if found == [] and flat(op, k, operands, options):
            continue
        assert [doubt.step.site.op.name for doubt in found] == [op.name], name
        if name == "factor":
            assert found[0].ours / found[0].theirs == pytest.approx(1.001, rel=1e-5)


NEARLY_SINGULAR = np.array([[1.0 - 3.97e-7, 1.0, 0.0], [1.0, 1.00002, -7.8e-8], [0.0, 0.85, 4.0]])
SINGULAR = {
    "inv": [],
    "det": [],
    "logdet": [],
    "solve": [np.array([0.8, 0.8, -1.6])],
    "lstsq": [np.array([0.8, 0.8, -1.6])],
}


@pytest.mark.parametrize("name", SINGULAR)
def test_steps_are_small_enough_for_a_matrix_that_is_nearly_singular(name: str) -> None:
    op, operands = OPS[name], [NEARLY_SINGULAR, *SINGULAR[name]]
    assert doubts(op, 0, operands, {}) == []
    with planted(op, MUTATIONS["factor"], 0):
        assert [doubt.step.site.op.name for doubt in doubts(op, 0, operands, {})] == [name]


@pytest.mark.parametrize("k", [0, 1])
@pytest.mark.parametrize("p", [0.1, 1e-3, 2.4e-12, 1e-200])
def test_a_probability_only_helps_to_compute_the_slope_of_its_quantile(p: float, k: int) -> None:
    """By itself it changes nothing, as the rule says, which a test of the rule alone has to
    find."""
    assert doubts(OPS["quantile_slope"], k, [float(special.ndtri(p)), p], {}) == []


def flat(op: Op, k: int, operands: list[Any], options: dict[str, Any]) -> bool:
    """Whether the derivative is 0 at this point, so that no factor makes it wrong: a constant added
    to it does."""
    with planted(op, lambda m, value, x: value + 1.0, k):
        return doubts(op, k, operands, options) != []


# ---- through the whole of `check` ----------------------------------------------------------------

NUMERIC = CheckOptions(methods=("complex", "differences", "taylor"))


def run(text: str, options: CheckOptions = NUMERIC) -> Check:
    return check(parse_program(Source("<test>", text)), {}, options)


def text_of(op: Op, k: int, operands: list[Any]) -> str:
    """A program in which an op is one of several operations on the way."""
    names = [
        f"x{j}" if op.partials[j] is not None else repr(int(v)) for j, v in enumerate(operands)
    ]
    lines = [f"var x{j} = {v!r}" for j, v in enumerate(operands) if op.partials[j] is not None]
    if op.infix.startswith("unary"):
        call = f"{op.infix[-1]}({names[0]})"
    else:
        call = f" {op.infix} ".join(names) if op.infix else f"{op.name}({', '.join(names)})"
    return "\n".join(
        [
            *lines,
            "before = 1.0 + x0 * 0.5" if "x0" in names else "before = 1.5",
            f"y = {call}",
            "f = y * before",
        ]
    )


PUBLIC = [(op, k, operands) for op, k, operands, _ in CASES if op.elementwise and not op.internal]


@pytest.mark.parametrize(
    ("op", "k", "operands"), PUBLIC, ids=[f"{op.name}-{k}" for op, k, _ in PUBLIC]
)
def test_check_catches_wrong_rules(op: Op, k: int, operands: list[Any]) -> None:
    text = text_of(op, k, operands)
    right = run(text)
    assert [f for f in right.findings if f.verdict == "disagree"] == []
    with planted(op, MUTATIONS["factor"], k):
        found = run(text)
    if op.name in ("mul", "add"):  # which the rest of the program has, too
        assert found.blamed[0].operation == op.infix
        return
    if flat(op, k, operands, {}):
        return
    assert {f.verdict for f in found.findings if f.variable == f"x{k}"} >= {"disagree"}
    (blamed,) = found.blamed
    assert (blamed.operation, blamed.span.line) == (op.infix or op.name, text.count("\n"))
    assert blamed.factor == pytest.approx(1.001, rel=1e-5)


def test_a_rule_that_is_wrong_on_one_side_is_caught_there() -> None:
    tanh = OPS["tanh"]
    rule = tanh.partials[0]
    assert rule is not None

    def one_sided(m: Any, y: Any, x: Any) -> Any:
        return m.where(x < 0, 1.001, 1.0) * rule(m, y, x)

    with replaced("tanh", partials=(one_sided,)):
        below, above = run("var x = -0.4; y = tanh(x)"), run("var x = 0.4; y = tanh(x)")
    assert below.counts()[1] == 1
    assert below.blamed[0].operation == "tanh"
    assert above.counts() == (1, 0, 0)
    assert above.blamed == []


def test_the_first_of_several_wrong_operations_is_named() -> None:
    with planted(OPS["sin"], MUTATIONS["sign"]), planted(OPS["exp"], MUTATIONS["factor"]):
        found = run("var x = 0.3\na = exp(x)\nb = sin(a)\ny = exp(b)")
    assert [(b.operation, b.span.line) for b in found.blamed] == [("exp", 2)]


def test_a_hot_expression_is_blamed_on_its_operation() -> None:
    """Where it has become one compound operation, the name is still that in the source."""
    text = (
        "var x = 0.3\ns = 0.1\nfor i in range(200) {\n    s = 0.5 * s + sin(x * s + i)\n}\noutput s"
    )
    assert run(text).counts()[1] == 0
    with planted(OPS["sin"], MUTATIONS["factor"]):
        found = run(text)
    assert [(b.operation, b.span.line, b.span.text) for b in found.blamed] == [
        ("sin", 4, "sin(x * s + i)")
    ]


# ---- every kind of mistake, everywhere -----------------------------------------------------------

EVERY = {
    "table": 19,
    "programs": 6,
    "arrays": 1,
}  # of so many one is checked here; `python -m tests.tasks.mutations` checks all
SLICES = 6


@pytest.mark.parametrize("part", range(SLICES))
@pytest.mark.parametrize("kind", EVERY)
def test_no_wrong_rule_passes(kind: str, part: int) -> None:
    mutants = list(KINDS[kind]())[:: EVERY[kind]][part::SLICES]
    found = list(passing(mutants, [bool(part % 2)]))
    assert len(found) >= len(mutants) / 3
    assert [(mutant.name, fault) for mutant, fault in found if fault] == []


@pytest.mark.parametrize("kind", ["programs", "arrays"])
def test_the_right_rules_pass(kind: str) -> None:
    right = dict.fromkeys(mutant.right for mutant in list(KINDS[kind]())[:: EVERY[kind]])
    assert [text for text in right if not is_green(run(text)) and "0.0\n" not in text] == []
