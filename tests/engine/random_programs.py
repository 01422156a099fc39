"""Random smooth programs, as text of the language and as a Python function of the same meaning.

Expressions are written so that both languages read them alike; statements are emitted twice. The Python twin runs on
complex numbers, so its derivatives come from the complex step, exact to rounding: nothing of the engine is in them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

SIZE = 3  # of every vector

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
}
_SMOOTH = ["sin({})", "tanh({})", "sqrt(1 + ({})**2)", "exp(cos({}))", "log(2 + sin({}))", "1 / (2 + cos({}))"]
_UNARY = [*_SMOOTH, "-({})", "detach({})"]
_BINARY = ["({}) + ({})", "({}) - ({})", "({}) * sin({})", "({}) / (2 + cos({}))"]
_THRESHOLDS = ["0.1374", "-0.2918", "0.7731"]
_NUMBERS = ["0.5", "-1.25", "2", "0.75", "3"]


class Program:
    """A program and its twin: `source` for the language, `twin(x, v)` in Python."""

    def __init__(self, source: str, python: str) -> None:
        self.source, self.python = source, python
        names = dict(_TWIN)
        exec(python, names)
        self.twin: Callable[[Any, Any], Any] = names["twin"]

    def gradients(self, x: float, v: np.ndarray) -> tuple[float, np.ndarray]:
        """The gradient of the sum of the target by both inputs, by the complex step."""
        step = 1e-30
        by_x = np.sum(self.twin(x + 1j * step, v)).imag / step
        by_v = [np.sum(self.twin(x + 0j, v + 1j * step * unit)).imag / step for unit in np.eye(SIZE)]
        return by_x, np.array(by_v)

    def __repr__(self) -> str:
        return self.source


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

    # ---- expressions -------------------------------------------------------------------------------------------------

    def expression(self, kind: str, depth: int = 3) -> str:
        if depth == 0 or self.draw(st.integers(0, 4)) == 0:
            return self.pick([*self.names[kind], *(_NUMBERS if kind == "scalar" else ["array([0.5, -1.0, 2.0])"])])
        return self.scalar(depth - 1) if kind == "scalar" else self.vector(depth - 1)

    def scalar(self, depth: int) -> str:
        def s() -> str:
            return self.expression("scalar", depth)

        def v() -> str:
            return self.expression("vector", depth)

        form = self.pick(["unary", "binary", "binary", "sum", "dot", "index", "choice", "square", "call"])
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

        form = self.pick(["unary", "binary", "scaled", "list", "where", "cumsum", "slices", "matrix"])
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
        return f"cumsum({v()})" if form == "cumsum" else self.pick(["({})[::-1]", "flip({})", "({})[[2, 0, 0]]"]).format(v())

    def index(self) -> str:
        return str(self.pick([*range(-SIZE, SIZE), *self.indices]))

    # ---- statements --------------------------------------------------------------------------------------------------

    def emit(self, ours: str, twin: str | None = None, indent: int = 0) -> None:
        self.ours.append("    " * indent + ours)
        if twin != "":
            self.twins.append("    " * (indent + 1) + (ours if twin is None else twin))

    def statement(self, indent: int) -> None:
        simple, nested = ["assign", "assign", "add", "element", "element"], ["if", "for", "while", "function"]
        form = self.pick(simple + nested if indent < 2 else simple)
        kind = self.pick(["scalar", "vector"])
        if form == "assign":
            # Inside a block only names that exist: both paths must leave the same names behind.
            known = [n for n in self.names[kind] if n not in ("x", "v")]
            name = f"{kind[0]}{len(self.names[kind])}" if indent == 0 else self.pick(known) if known else None
            if name:
                self.emit(f"{name} = sin({self.expression(kind)})", indent=indent)
                self.names[kind] += [name] if name not in known else []
        elif form == "add" and len(self.names[kind]) > 1:
            name, term = self.pick(self.names[kind][1:]), self.expression(kind)
            self.emit(f"{name} += {term}", f"{name} = {name} + {term}", indent)
        elif form == "element" and len(self.names["vector"]) > 1:
            name, i, e = self.pick(self.names["vector"][1:]), self.index(), self.expression("scalar")
            self.emit(f"{name}[{i}] = {e}", f"{name} = set({name}, {i}, {e})", indent)
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
        # Only the inputs are captured: other names may be assigned again, which Python would see as local ones.
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
    inputs = "var x = 0.0\nvar v = [0.0, 0.0, 0.0]\n"
    source = inputs + _PRELUDE + "\n".join(writer.ours) + "\n"
    return Program(source, "def twin(x, v):\n" + "\n".join(writer.twins) + "\n    return y\n")


points = st.tuples(
    st.sampled_from([0.7313, -1.2177, 2.0411]),
    st.sampled_from([np.array([0.3119, -0.8423, 1.7137]), np.array([-0.1173, 2.2391, 0.5717])]),
)
