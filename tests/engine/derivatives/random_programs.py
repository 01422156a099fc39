"""Random smooth programs, as text of the language and as a Python function of the same meaning.

Expressions are written so that both languages read them alike; statements are emitted twice. The
Python twin runs on complex numbers, so its derivatives come from the complex step, exact to
rounding: nothing of the engine is in them.

A program is written down in several ways, and derivatives are asked for in each: see `FORMS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

RELAXED = settings(deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))

SIZE = 3  # of every vector

_INPUTS = "var x = 0.0\nvar v = [0.0, 0.0, 0.0]\n"

# `re` is what conditions look at: the identity in the language, the real part in the twin.
_PRELUDE = """fn re(z) = z
fn set(a, i, e) { a[i] = e; return a }
"""


def _set(a: Any, i: int, e: Any) -> Any:
    a = np.array(a, dtype=complex)
    a[i] = e
    return a


_SHARED = ("sin", "cos", "tanh", "exp", "log", "sqrt", "where", "sum", "cumsum", "flip", "outer")
_TWIN: dict[str, Any] = {
    **{name: getattr(np, name) for name in _SHARED},
    "array": lambda items: np.array(items, dtype=complex),
    "dot": lambda a, b: np.sum(a * b),
    "detach": np.real,
    "re": np.real,
    "set": _set,
    "append": lambda items, e: [*items, e],
}
_SMOOTH = [
    "sin({})",
    "tanh({})",
    "sqrt(1 + ({})**2)",
    "exp(cos({}))",
    "log(2 + sin({}))",
    "1 / (2 + cos({}))",
]
_UNARY = [*_SMOOTH, "-({})", "detach({})"]
_BINARY = ["({}) + ({})", "({}) - ({})", "({}) * sin({})", "({}) / (2 + cos({}))"]
_THRESHOLDS = ["0.1374", "-0.2918", "0.7731"]
_NUMBERS = ["0.5", "-1.25", "2", "0.75", "3"]


class Program:
    """A program of the inputs `x` and `v` with the target `y`, and its twin: `source` for the
    language, `function` the same as `fn f(x, v)`, and `twin(x, v)` in Python."""

    def __init__(self, ours: list[str], twins: list[str]) -> None:
        self.source = _INPUTS + _PRELUDE + "\n".join(ours) + "\n"
        body = [f"    {line}\n" for line in [*ours, "return y"]]
        self.function = f"{_INPUTS}{_PRELUDE}fn f(x, v) {{\n{''.join(body)}}}\n"
        names = dict(_TWIN)
        exec("def twin(x, v):\n" + "\n".join(twins) + "\n    return y\n", names)
        self.twin: Callable[[Any, Any], Any] = names["twin"]

    def gradients(self, x: float, v: np.ndarray) -> tuple[float, np.ndarray]:
        """The gradient of the sum of the target by both inputs, by the complex step."""
        step = 1e-30
        by_x = np.sum(self.twin(x + 1j * step, v)).imag / step
        by_v = [
            np.sum(self.twin(x + 0j, v + 1j * step * unit)).imag / step for unit in np.eye(SIZE)
        ]
        return by_x, np.array(by_v)

    def hessians(self, x: float, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """The second derivatives of the sum of the target, by `v` twice and by both inputs, from
        differences of gradients at two distances; and how far those are apart, which says what they
        are worth."""

        def differences(step: float) -> tuple[np.ndarray, np.ndarray]:
            by_v = [
                self.gradients(x, v + step * e)[1] - self.gradients(x, v - step * e)[1]
                for e in np.eye(SIZE)
            ]
            mixed = self.gradients(x + step, v)[1] - self.gradients(x - step, v)[1]
            return np.array(by_v) / (2 * step), mixed / (2 * step)

        (a, b), (c, d) = differences(1e-3), differences(5e-4)
        by_v, mixed = (4 * c - a) / 3, (4 * d - b) / 3
        return by_v, mixed, max(np.abs(c - a).max(), np.abs(d - b).max())

    def __repr__(self) -> str:
        return self.source


class Form(NamedTuple):
    """A way to write a program down, and, by what is asked for, the expression that asks.

    The requests: `y` itself, `grad` and `vjp` by both inputs with `u`, `jvp` along `dx` and `dv`;
    by `v` alone `jacobian`, `hessian` and `hvp` along `dv`; and both `mixed` second derivatives,
    the sum of the target for a target. What ends in `_too` is the same, asked for in another way.
    """

    text: Callable[[Program], str]
    requests: dict[str, str]


_OF_VALUES = {
    "y": "y",
    "grad": "grad(y, [x, v])",
    "vjp": "vjp(y, [x, v], u)",
    "jvp": "jvp(y, [x, v], [dx, dv])",
    "jacobian": "jacobian(y, v)",
    "hessian": "hessian(y, v)",
    "hvp": "hvp(y, v, dv)",
    "hvp_too": 'grad(sum(grad(y, v, unconnected = "zero") * dv), v)',
    "mixed": 'grad(grad(y, x, unconnected = "zero"), v)',
    "mixed_too": 'jacobian(grad(y, v, unconnected = "zero"), x)',
}
_OF_FUNCTIONS = {
    "y": "f(x, v)",
    "grad": "grad(f, wrt = [0, 1])(x, v)",
    "vjp": "vjp(f, wrt = [0, 1])(x, v, u = u)",
    "jvp": "jvp(f, wrt = [0, 1])(x, v, v = [dx, dv])",
    "jacobian": "jacobian(fn(b) = f(x, b))(v)",
    "hessian": "hessian(fn(b) = sum(f(x, b)))(v)",
    "hvp": "hvp(fn(b) = sum(f(x, b)))(v, dv)",
    "hvp_too": "grad(fn(b) = sum(grad(fn(c) = sum(f(x, c)))(b) * dv))(v)",
    "mixed": "grad(fn(b) = grad(fn(a) = f(a, b))(x))(v)",
    "mixed_too": "jacobian(fn(a) = grad(fn(b) = f(a, b))(v))(x)",
}
FORMS = {
    "values": Form(lambda program: program.source, _OF_VALUES),
    "values of a call": Form(lambda program: f"{program.function}y = f(x, v)\n", _OF_VALUES),
    "functions": Form(lambda program: program.function, _OF_FUNCTIONS),
}


class _Writer:
    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.names = {"scalar": ["x"], "vector": ["v"]}
        self.functions: list[str] = []
        self.indices: list[str] = []
        self.ours: list[str] = []
        self.twins: list[str] = []

    def pick(self, items: list[Any]) -> Any:
        return self.draw(st.sampled_from(items))

    # ---- expressions -----------------------------------------------------------------------------

    def expression(self, kind: str, depth: int = 3) -> str:
        if depth == 0 or self.draw(st.integers(0, 4)) == 0:
            return self.pick(
                [
                    *self.names[kind],
                    *(_NUMBERS if kind == "scalar" else ["array([0.5, -1.0, 2.0])"]),
                ]
            )
        return self.scalar(depth - 1) if kind == "scalar" else self.vector(depth - 1)

    def scalar(self, depth: int) -> str:
        def s() -> str:
            return self.expression("scalar", depth)

        def v() -> str:
            return self.expression("vector", depth)

        form = self.pick(
            ["unary", "binary", "binary", "sum", "dot", "index", "choice", "square", "call"]
        )
        if form == "unary":
            return self.pick(_UNARY).format(s())
        if form == "binary":
            return self.pick(_BINARY).format(s(), s())
        if form == "square":
            return f"sin({s()})**{self.pick([2, 3])}"
        if form == "index":
            return f"({v()})[{self.index()}]"
        if form == "choice":
            return f"({s()} if re({s()}) > {self.pick(_THRESHOLDS)} else {s()})"
        if form == "call" and self.functions:
            return f"{self.pick(self.functions)}({s()}, {v()})"
        return f"sum({v()})" if form == "sum" else f"dot({v()}, {v()})"

    def vector(self, depth: int) -> str:
        def s() -> str:
            return self.expression("scalar", depth)

        def v() -> str:
            return self.expression("vector", depth)

        form = self.pick(
            ["unary", "binary", "scaled", "list", "where", "cumsum", "slices", "matrix"]
        )
        if form == "unary":
            return self.pick(_UNARY).format(v())
        if form == "binary":
            return self.pick(_BINARY).format(v(), v())
        if form == "scaled":
            return self.pick(_BINARY).format(s(), v())
        if form == "list":
            return f"1.0 * array([{s()}, {s()}, {s()}])"  # of floats, whatever the elements are
        if form == "where":
            return f"where(re({v()}) > {self.pick(_THRESHOLDS)}, {v()}, {s()})"
        if form == "matrix":
            return f"(outer({v()}, {v()}) @ tanh({v()}))"
        return (
            f"cumsum({v()})"
            if form == "cumsum"
            else self.pick(["({})[::-1]", "flip({})", "({})[[2, 0, 0]]"]).format(v())
        )

    def index(self) -> str:
        return str(self.pick([*range(-SIZE, SIZE), *self.indices]))

    # ---- statements ------------------------------------------------------------------------------

    def emit(self, ours: str, twin: str | None = None, indent: int = 0) -> None:
        self.ours.append("    " * indent + ours)
        if twin != "":
            self.twins.append("    " * (indent + 1) + (ours if twin is None else twin))

    def statement(self, indent: int) -> None:
        simple = ["assign", "assign", "add", "element", "element", "slice", "swap"]
        nested = ["if", "for", "while", "each", "collect", "function"]
        form = self.pick(simple + nested if indent < 2 else simple)
        kind = self.pick(["scalar", "vector"])
        if form == "assign":
            # Inside a block only names that exist: both paths must leave the same names behind.
            known = [n for n in self.names[kind] if n not in ("x", "v")]
            name = (
                f"{kind[0]}{len(self.names[kind])}"
                if indent == 0
                else self.pick(known)
                if known
                else None
            )
            if name:
                self.emit(f"{name} = sin({self.expression(kind)})", indent=indent)
                self.names[kind] += [name] if name not in known else []
        elif form == "add" and len(self.names[kind]) > 1:
            name, term = self.pick(self.names[kind][1:]), self.expression(kind)
            self.emit(f"{name} += {term}", f"{name} = {name} + {term}", indent)
        elif form == "element" and len(self.names["vector"]) > 1:
            name, i, e = (
                self.pick(self.names["vector"][1:]),
                self.index(),
                self.expression("scalar"),
            )
            if self.draw(st.booleans()):
                self.emit(f"{name}[{i}] = {e}", f"{name} = set({name}, {i}, {e})", indent)
            else:
                self.emit(
                    f"{name}[{i}] += {e}", f"{name} = set({name}, {i}, {name}[{i}] + {e})", indent
                )
        elif form == "slice" and len(self.names["vector"]) > 1:
            name, part = self.pick(self.names["vector"][1:]), self.pick(["0:2", "1:", "::2"])
            value = (
                f"({self.expression('vector')})[1:]"
                if kind == "vector"
                else self.expression("scalar")
            )
            values = (
                f"{value} * [1.0, 1.0]" if part == "1:" else value
            )  # of a list of as many elements, too
            where = f"slice({', '.join(i or 'None' for i in part.split(':'))})"
            twin = f"{name} = set({name}, {where}, {value})"
            self.emit(f"{name}[{part}] = {values}", twin, indent)
        elif form == "swap" and len(self.names[kind]) > 2:
            a, b = (self.pick(self.names[kind][1:]) for _ in range(2))
            self.emit(f"{a}, {b} = {b}, {a}", indent=indent)
        elif form == "if":
            condition = f"re({self.expression('scalar')}) > {self.pick(_THRESHOLDS)}"
            self.emit(f"if {condition} {{", f"if {condition}:", indent)
            self.block(indent + 1)
            self.emit("} else {", "else:", indent)
            self.block(indent + 1)
            self.emit("}", "", indent)
        elif form == "for":
            i = f"i{indent}"
            head = f"for {i} in range({self.pick([0, 1, 3])})"
            self.emit(f"{head} {{", f"{head}:", indent)
            self.indices.append(i)
            self.block(indent + 1)
            if self.draw(st.booleans()):
                condition = f"re({self.expression('scalar')}) > {self.pick(_THRESHOLDS)}"
                word = self.pick(["break", "continue"])
                self.emit(f"if {condition} {{ {word} }}", f"if {condition}: {word}", indent + 1)
                self.block(indent + 1)
            self.indices.pop()
            self.emit("}", "", indent)
        elif form == "each" and len(self.names["scalar"]) > 1:
            total, rows = self.pick(self.names["scalar"][1:]), self.expression("vector", 2)
            self.emit(f"for e{indent} in {rows} {{", f"for e{indent} in {rows}:", indent)
            self.emit(
                f"{total} = sin({total} * e{indent}) + {self.expression('scalar', 2)}",
                indent=indent + 1,
            )
            self.emit("}", "", indent)
        elif form == "collect" and indent == 0:
            name = f"v{len(self.names['vector'])}"
            self.emit(f"l{indent} = []", indent=indent)
            self.emit(
                f"for i{indent} in range({SIZE}) {{", f"for i{indent} in range({SIZE}):", indent
            )
            self.indices.append(f"i{indent}")
            self.emit(
                f"l{indent} = append(l{indent}, {self.expression('scalar', 2)})", indent=indent + 1
            )
            self.indices.pop()
            self.emit("}", "", indent)
            self.emit(f"{name} = 1.0 * array(l{indent})", indent=indent)
            self.names["vector"].append(name)
        elif form == "while" and len(self.names["scalar"]) > 1:
            name = self.pick(self.names["scalar"][1:])
            self.emit(f"n{indent} = 0", indent=indent)
            head = f"while re({name}) < 0.9137 and n{indent} < 3"
            self.emit(f"{head} {{", f"{head}:", indent)
            self.emit(f"n{indent} = n{indent} + 1", indent=indent + 1)
            self.emit(f"{name} = {name} + sin({self.expression('scalar')})**2", indent=indent + 1)
            self.emit("}", "", indent)
        elif form == "function" and indent == 0:
            self.function()

    def block(self, indent: int) -> None:
        before = len(self.ours)
        for _ in range(self.pick([1, 2])):
            self.statement(indent)
        if len(self.ours) == before:
            self.emit("pass_ = 0", indent=indent)

    def function(self) -> None:
        name, outer = f"f{len(self.functions)}", {k: list(v) for k, v in self.names.items()}
        self.emit(f"fn {name}(a, b) {{", f"def {name}(a, b):")
        # Only the inputs are captured: other names may be assigned again, which Python would see as
        # local ones.
        self.names = {"scalar": ["a", "x"], "vector": ["b", "v"]}
        self.emit(f"t = sin({self.expression('scalar')})", indent=1)
        self.emit(f"b = set(b, {self.index()}, t)", indent=1)
        early, early_value = f"if re(t) > {self.pick(_THRESHOLDS)}", self.expression("scalar")
        self.emit(f"{early} {{ return {early_value} }}", f"{early}: return {early_value}", 1)
        self.emit(f"return {self.expression('scalar')}", indent=1)
        self.emit("}", "")
        self.names = outer
        self.functions.append(name)


@st.composite
def programs(draw: Any, kind: str = "scalar") -> Program:
    """A program with the inputs `x` (a scalar) and `v` (a vector) and the target `y`."""
    writer = _Writer(draw)
    for _ in range(draw(st.integers(1, 6))):
        writer.statement(0)
    writer.emit(f"y = {writer.expression(kind, 4)}")
    return Program(writer.ours, writer.twins)


points = st.tuples(
    st.sampled_from([0.7313, -1.2177, 2.0411]),
    st.sampled_from([np.array([0.3119, -0.8423, 1.7137]), np.array([-0.1173, 2.2391, 0.5717])]),
)
