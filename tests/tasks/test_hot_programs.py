"""Programs that run again and again: kernels answer as the interpreter does."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.engine import program_calls
from gradcli.engine.backends.tiers import HEAT, INTERPRETED, NATIVE, WRITTEN, only
from gradcli.engine.execution import Execution

from ..engine.lowering.loop_programs import FUNCTIONS, LOOPS
from ..engine.lowering.loop_programs import HEAD as LOOP_HEAD
from ..engine.lowering.region_cases import HEAD as CASE_HEAD
from ..engine.lowering.region_cases import PROGRAMS, STEPS_BACK
from ..engine.lowering.region_programs import HEAD, Writer
from .answers import NUMBER, answers

AT_ONCE = HEAT._replace(
    work=1, work_each=0, instructions=0, instructions_each=0, instructions_first=0
)
POINTS: list[dict[str, Any]] = [{}, {"x": 1.5, "y": 0.3}, {"x": -0.3, "y": 2}, {"y": -2.0}, {}]
LOOP_POINTS: list[dict[str, Any]] = [{}, {}, {"x": 0.7, "w": 0.4}, {"w": 0.4, "x": 0.7}]
CASE_POINTS: list[dict[str, Any]] = [{}, {"x": 0.4}, {"x": 1.1}, {"x": 1}, {}]


def compare(
    source: str, points: Sequence[Mapping[str, Any]], tier: int = WRITTEN, **options: Any
) -> bool:
    """Whether there was a kernel: values to the last bit; of gradients, sums may be added up in
    another order."""
    program = gradcli.load(source=source)
    with only(INTERPRETED):
        expected = answers(program.with_options(**options), points)
    hot = program.with_options(**options)
    with only(tier, AT_ONCE):
        found = answers(hot, points)
    for a, b in zip(found, expected, strict=True):
        assert a[:2] == b[:2]
        assert NUMBER.sub("", a[2]) == NUMBER.sub("", b[2])
        numbers = ([float(n) for n in NUMBER.findall(each[2])] for each in (a, b))
        np.testing.assert_allclose(*numbers, rtol=1e-10, atol=1e-13)
    assert hot._hot is not None
    return hot._hot.has_kernels


NOT_TAKEN = "branch_not_taken"
VECTOR = "var x\nvar w = [1.0, 2.0, 3.0]\n"
TAKEN = {
    "var x\ny = x*x": [{"x": 3.0}, {"x": -1.5}, {"x": 2}, {"x": np.float64(0.1)}],
    "x**2 * sin(y)": [{"x": 3.0, "y": 0.5}, {"y": 1.5, "x": -2.0}],
    f"{HEAD}fn f(a) = a*n + x\nfn g(f, a) {{ return f(f(a)) }}\noutput g(f, x), g(f, y)": POINTS,
    f"{HEAD}z = x if x > 1.0 else y*x\nif z > y {{ z = z*y }} else {{ z = -z*y }}\nz": POINTS,
    f"{HEAD}s = 0.0\nfor i in range(n) {{ s = s*x + y*i }}\noutput s": [*POINTS, {"n": 5}, {"n": 9}],
    f"{HEAD}fn f(a) = a*a*x*y\noutput a = grad(f)(x)\noutput b = f(y)\noutput k = 2*n": POINTS,
    f"{VECTOR}output a = sum(x*w)\noutput b = x*w - 1.0\noutput c = [x[0]*w[2], w]\noutput d = {{e: w*x[1]}}": [
        {"x": [0.5, 1.5, 2.0]},
        {"x": np.array([0.1, -0.5, 2.5]), "w": [1.0, 2.0, 3]},
        {"x": [[1.0, 2.0, 3.0], [0.5, 0.2, 0.1]]},
        {"x": np.array([[1.0, 2.0, 3.0], [0.1, -0.1, 0.2]])},
    ],
    f"{VECTOR}s = 0.0\nfor i in range(100) {{ s = s + x[i]*w[i % 3] }}\noutput s, x[3]*w[0]": [
        {"x": np.linspace(0.0, 1.0, 100)},
        {"x": np.linspace(-1.0, 1.0, 100)},
    ],
    f"{HEAD}fn f(k, a) {{ if k > 5.0 {{ return a }}; return f(k*2.0, a*x) + f(k + 3.0, a) }}\ny*f(y + 1.1, x)":
    [{"x": 1.5, "y": 0.3}, {"x": -0.3, "y": 2}],
    f"{HEAD}expect x > 1.0, \"too small\"\nexpect x*y ~= y*x within (rtol = 1e-12)\noutput x*y\nexpect [x, y]*2 ~= [x, y] + [x, y]":
    [{"x": 1.5, "y": 0.3}, {"x": 2.5}],
    f"{HEAD}output digamma(x)*y, y*digamma(x + 2.0)": [{}, {"x": 0.5}],
}  # fmt: skip


@pytest.mark.parametrize("tier", [WRITTEN, NATIVE])
@pytest.mark.parametrize("mode", ["reverse", "auto"])
@pytest.mark.parametrize("source", TAKEN)
def test_kernels_answer_as_the_interpreter(source: str, mode: str, tier: int) -> None:
    assert compare(source, [*TAKEN[source], *TAKEN[source]], tier, mode=mode)


@pytest.mark.parametrize("tier", [WRITTEN, NATIVE])
@pytest.mark.parametrize("mode", ["auto", "forward"])
@pytest.mark.parametrize(
    "outputs",
    [
        "v*x, [x*v, x], sin(x), reshape(v, [5, 6])*x",
        "array([sin(x*i) for i in range(90)]), x*ones([3, 2]), ones(3)",
        "w*x, outer(w, w*x), {p: w, q: [x, w[0]]}, ones(20)*w[1], [x, 2]*[1, w[0]]",
    ],
)
def test_tangents_of_arrays_are_added_up(outputs: str, mode: str, tier: int) -> None:
    head = "var x\nv = linspace(0.0, 1.0, 30)\n" + "var w = [1.0, 2.0, 0.5]\n" * ("w" in outputs)
    points = [{"x": x} for x in (0.5, 1.5, -2.0)]
    assert compare(f"{head}output {outputs}", points * 2, tier, mode=mode)


@pytest.mark.parametrize("mode", ["reverse", "forward"])
@pytest.mark.parametrize("loop", [loop for loop in LOOPS if "nothing" not in loop])
def test_loops(loop: str, mode: str) -> None:
    compare(f"{LOOP_HEAD}{FUNCTIONS}{loop}\noutput s", LOOP_POINTS, mode=mode)


@pytest.mark.parametrize("source", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_what_regions_are_tried_with(source: str) -> None:
    compare(CASE_HEAD + source, CASE_POINTS)


@pytest.mark.parametrize("source", STEPS_BACK)
def test_errors_are_the_interpreter_s(source: str) -> None:
    compare(CASE_HEAD + source, CASE_POINTS)


OF_LIST = "fn f(a) { return a*a } backward (d) { return d*[2.0, 1.0, 0.5][int64(a)] }"
OF_MATRIX = "fn f(a) { return a*a } backward (d) { return solve([[1.0, a], [a, 1.0]], [d, d])[0] }"
FAILING_RULES = {
    OF_LIST: ["f(x)", "f(x)*detach(x)", "x + detach(f(x))", "grad(f)(x)*x", "sum([f(x + 0.01*k) for k in range(40)])"],
    OF_MATRIX: ["f(x)", "grad(fn(a) = a*f(a))(x)"],
}  # fmt: skip


@pytest.mark.parametrize("mode", ["reverse", "forward"])
@pytest.mark.parametrize("rule", FAILING_RULES)
def test_a_rule_may_fail(rule: str, mode: str) -> None:
    """A kernel steps back there: a program is all that runs."""
    points = [{"x": x} for x in (0.5, 1.5, 3.5, 0.25, 1.0, -5.0, 2.5)]
    for result in FAILING_RULES[rule]:
        assert compare(f"var x\n{rule}\noutput y = {result}", points, mode=mode)


EMPTY = [
    "sum(a) + x", "min(a)", "max(a)", "mean(a)", "prod(a) * x", "norm(a) + x", "argmin(a)", "any(a)", "all(a)", "count_nonzero(a)",
    "logsumexp(a)", "softmax(a)", "cumsum(a)", "var(a)", "sort(a)", "a", "concatenate(a, a)", "{k: a, v: x*x}", "a*x",
    "sum(zeros([0, 3])*x, axis = 0)", "len(a) + x", "sum(concatenate(a, [x, x]))",
]  # fmt: skip


@pytest.mark.parametrize("result", EMPTY)
def test_arrays_without_elements(result: str) -> None:
    compare(f"var x\na = array([x, x])[2:]\ny = {result}\noutput y", [{"x": 1.5}, {"x": -0.5}] * 3)


@pytest.mark.parametrize("tier", [WRITTEN, NATIVE])
@pytest.mark.parametrize("result", ["min(w)", "min([w, 1.0])", "max([w, -1.0])", "max(w*ones(40))"])
def test_extremes_keep_the_signs_of_zeros(result: str, tier: int) -> None:
    compare(f"var w\ny = {result}\noutput y", [{"w": -0.0}, {"w": 0.0}] * 2, tier)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("tier", [WRITTEN, NATIVE])
@pytest.mark.parametrize(
    "result", ["sum(cumprod(x))", "sum(outer(x, x) @ x)", "sum(x*x)", "x @ x", "sum(sort(x)**3)"]
)
def test_what_is_not_finite_warns_nobody(result: str, tier: int) -> None:
    points = [{"x": np.full(30, value)} for value in (1.0, 1e200, np.inf)]
    compare(f"var x: float[n]\ny = {result}\noutput y", points, tier)


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed: int) -> None:
    compare(Writer(seed).program(), POINTS, mode=("reverse", "forward")[seed % 2])


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The runs of the interpreter."""
    found: list[Any] = []
    original = Execution.execute

    def execute(self: Execution) -> Execution:
        found.append(self)
        return original(self)

    monkeypatch.setattr(Execution, "execute", execute)
    return found


@pytest.mark.parametrize("source", TAKEN)
def test_the_interpreter_runs_once_for_each_kind_of_values(
    source: str, interpreted: list[Any]
) -> None:
    program = gradcli.load(source=source).with_options(mode="reverse")
    with only(WRITTEN, AT_ONCE):
        for point in TAKEN[source]:
            program.run(point)
        before = len(interpreted)
        for point in TAKEN[source]:
            program.run(point)
    assert len(interpreted) == before


def test_it_takes_some_runs(interpreted: list[Any]) -> None:
    program = gradcli.load(source="var x\ny = x*x")
    with only():
        found = [program.run(x=float(x)).gradients["y"]["x"] for x in range(300)]
    assert found == [2.0 * x for x in range(300)]
    assert 50 < len(interpreted) < 250


def test_a_long_program_takes_as_many_runs_as_pay_for_it(interpreted: list[Any]) -> None:
    program = gradcli.load(source="var x\ny = x\n" + "y = y*x\n" * 800)
    with only(heat=HEAT._replace(work=1, work_each=2**11)):
        for x in [1.0, 1.01] * 40:
            program.run(x=x)
    assert 4 < len(interpreted) < 60


def test_what_steps_back_is_not_tried_at_each_run(
    interpreted: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    program = gradcli.load(source="var x\ny = log(x)")
    with only(heat=HEAT._replace(work=64 * 10)):
        for _ in range(12):
            program.run(x=2.0)
        assert len(interpreted) == 10
        for _ in range(20):
            assert program.run(x=-1.0).diagnostics[0].code == "W205"
        assert program._hot is not None
        tried = []
        call = program._hot._ready[0].call
        monkeypatch.setattr(call, "run", lambda numbers: tried.append(numbers))
        for _ in range(20):
            program.run(x=-1.0)
    assert 1 <= len(tried) <= 2


def test_what_has_no_kernel_is_seldom_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []
    original = program_calls.ProgramCall

    def call(*asked: Any) -> Any:
        tried.append("call")
        return original(*asked)

    monkeypatch.setattr(program_calls, "ProgramCall", call)
    points = [{"x": 1.0 + k} for k in range(40)]
    assert not compare("var x\ny = x*x\nprint(y)", points)
    assert len(tried) == 2


STRAIGHT = "var x = 0.5\nvar w = 0.25\noutput a = x*x\noutput b = x*2.0\noutput c = floor(w)*x"


@pytest.mark.parametrize("unconnected", ["none", "zero"])
def test_why_there_is_no_gradient_is_found_once(unconnected: str, interpreted: list[Any]) -> None:
    points = [{"x": 0.1 * k, "w": 1.1 * k} for k in range(5)]
    assert compare(STRAIGHT, points, unconnected=unconnected)
    program = gradcli.load(source=STRAIGHT).with_options(unconnected=unconnected, mode="reverse")
    with only(WRITTEN, AT_ONCE):
        first = program.run(points[1])
        del interpreted[:]
        again = program.run(points[2])
    assert not interpreted
    assert first.diagnostics == again.diagnostics
    assert len(first.diagnostics) > 1 or unconnected == "zero"


PATHS = "var x = [1.0, 2.0]\nvar w = 1.0\nif x[0] > 0.0 { y = detach(w)*x } elif x[0] > -3.0 { y = x } else { y = w*x }\noutput y"
BY_PATH = [{"x": [x, 0.5]} for x in (1.0, -1.0, 2.0, -4.0, -2.0, 0.5)]


@pytest.mark.parametrize("unconnected", ["none", "zero", "error"])
def test_why_there_is_no_gradient_may_depend_on_the_path(unconnected: str) -> None:
    has_kernel = compare(PATHS, BY_PATH, mode="reverse", unconnected=unconnected)
    assert has_kernel == (unconnected == "none")  # zeros and errors are the interpreter's


def test_why_there_is_no_gradient_is_found_once_somebody_asks(interpreted: list[Any]) -> None:
    program = gradcli.load(source=PATHS).with_options(mode="reverse")
    points = [{"x": np.array(point["x"])} for point in BY_PATH]
    with only(WRITTEN, AT_ONCE):
        program.run(points[0])
        del interpreted[:]
        answers = [program.run(point) for point in points]
        assert not interpreted
        for point in points:
            point["x"] *= np.nan  # the values of the run are its own
        said = [[d.reason for d in pickle.loads(pickle.dumps(a)).diagnostics] for a in answers]
    assert interpreted
    assert said == [["detached"], [NOT_TAKEN], ["detached"], [], [NOT_TAKEN], ["detached"]]


@pytest.mark.parametrize(
    "ints",
    ["argmax([x, w, 1.0])", "argmax(linspace(x, w, 40) - 0.5)", "int64(9*x)", "round(int64(x))*2"],
)
def test_ints_that_only_come_out_decide_nothing(ints: str) -> None:
    """That they have no gradient is told, however often the program runs."""
    points = [{"x": 0.1 * k, "w": 1.1 * k} for k in range(5)]
    source = f"var x = 0.5\nvar w = 0.25\nk = {ints}\noutput k, x*x*w"
    assert compare(source, points, mode="reverse")
    assert compare(f"{source}\noutput b = linspace(x, w, 40)[k]", points, mode="reverse")


@pytest.mark.parametrize(
    "options",
    [
        {"max_steps": 1000},
        {"repeat": 2}, {"debug_nan": True}, {"max_memory": 10**9},
    ],
)  # fmt: skip
def test_the_interpreter_answers_all_other_requests(options: dict[str, Any]) -> None:
    assert not compare("var x\ny = x*x*x", [{"x": 0.5}, {"x": 1.5}, {"x": 2.5}], **options)


@pytest.mark.parametrize(
    "source",
    [
        "var x\nprint(x)\ny = x*x",
        "var x\nfor k in range(2) { expect x > -9.0 }\ny = x*x",
        "var x\nif x > 1.0 { expect x < 9.0 }\ny = x*x",
        "var x\nexpect x > 9.0\ny = x*x",
        "var x\nx = x*2.0\ny = x*x",
    ],
)
def test_the_interpreter_runs_all_other_programs(source: str) -> None:
    assert not compare(source, [{"x": 0.5}, {"x": 1.5}, {"x": -2.5}])


def test_an_expectation_may_fail_later() -> None:
    source = 'var x\nexpect x > 1.0, "too small"\nexpect [x, x]*2 ~= [x, 1.5] + x\ny = x*x'
    points = [{"x": 1.5}, {"x": 1.5}, {"x": 1.7}, {"x": 0.5}, {"x": np.nan}, {"x": 1.5}]
    assert compare(source, points)


@pytest.mark.parametrize("options", [{"mode": "reverse"}, {"mode": "forward"}, {"jacobian": True}])
def test_an_output_that_is_none_at_first(options: dict[str, Any]) -> None:
    source = "var x\nfn f(a) { if a > 1.0 { return a*a } }\noutput f(x), x"
    points = [{"x": x} for x in (0.5, 0.5, 1.5, 0.3, 2.5, 2.0)]
    assert compare(source, points, **options)


@pytest.mark.parametrize("value", ["sum(normal(2))", "2*x", "x if x > 1.0 else 0.5"])
@pytest.mark.parametrize("kind", ["var", "const"])
def test_what_is_computed_where_it_is_declared(kind: str, value: str) -> None:
    assert compare(f"var x\n{kind} w = {value}\ny = w*x", [{"x": 0.5}, {"x": 1.5}, {"x": -2.5}])


@pytest.mark.parametrize(
    "given", ["1.0", None, True, 2**70, [1.0], [[1.0], 2.0], 1j, np.float32(0.1), np.array(0.5)]
)
def test_other_values_than_before(given: Any) -> None:
    points = [{"x": 0.5}, {"x": 1.5}, {"x": given}, {"x": given}, {"x": 2.5}, {"z": 2.0}, {}]
    assert compare("var x\ny = x*x", points)
    assert compare("var x = 0.5\ny = x*x", points)


@pytest.mark.parametrize(
    "given", [[1, 2], [1.0, True], [1.0, "nan"], [1.0], np.arange(2), np.float32([0.1, 0.2]), 2.0]
)
def test_other_vectors_than_before(given: Any) -> None:
    points = [{"x": [0.5, 1.5]}, {"x": [1.0, 2.0]}, {"x": given}, {"x": given}]
    assert compare("var x\ny = x*x", points)


def test_answers_are_new_each_time() -> None:
    program = gradcli.load(source=STRAIGHT).with_options(mode="reverse")
    with only(WRITTEN, AT_ONCE):
        answer = [program.run() for _ in range(3)][-1]
        expected = answers(program, [{}])
        answer.outputs.clear()
        for row in answer.gradients.values():
            row.clear()
        answer.diagnostics.clear()
        answer.summed.append("a")
        assert answers(program, [{}]) == expected
