"""Random programs whose gradients are right: smooth ones and ones of pieces, at safe points and at
badly conditioned ones."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any, NamedTuple

import numpy as np

from gradcli.diagnostics import GradcliError, Source
from gradcli.tasks.evaluate import evaluate
from gradcli.tasks.evaluation import Options
from gradcli.tasks.programs import parse_program

# Expressions by what they are of: {a} and {b} stand for numbers, {k} for a constant, {v} and {w}
# for vectors.
SMOOTH = [
    "sin({a})", "cos({a})", "tanh({a})", "atan({a})", "({a}) * ({b})", "({a}) + ({b})",
    "({a}) - ({b})", "-({a})",
    "{k} * ({a})", "exp(0.3 * sin({a}))", "log(1.5 + ({a})**2)", "sqrt(0.2 + ({a})**2)",
    "({a}) / (2.0 + sin({b}))",
    "({a})**3", "({a})**-2.5", "(1.5 + sin({a}))**tanh({b})", "asinh({a})", "sinh(tanh({a}))",
    "cosh(tanh({a}))",
    "log1p(({a})**2)", "expm1(0.2 * sin({a}))", "asin(0.9 * sin({a}))", "acos(0.9 * cos({a}))",
    "tan(tanh({a}))",
    "atanh(0.9 * tanh({a}))", "acosh(1.5 + ({a})**2)", "exp2(tanh({a}))", "log2(1.2 + ({a})**2)",
    "log10(1.2 + ({a})**2)",
    "cbrt(2.0 + sin({a}))", "hypot({a}, 1.0 + ({b})**2)", "atan2({a}, 2.0 + cos({b}))", "sinc({a})",
    "degrees(sin({a})) * 0.01", "square({a})",
]  # fmt: skip
SPECIAL = [
    "erf({a})", "erfc({a})", "ndtr({a})", "expit({a})", "softplus({a})", "silu({a})", "gelu({a})",
    "elu({a})",
    "logaddexp({a}, {b})", "gamma(2.5 + tanh({a}))", "lgamma(2.5 + ({a})**2)",
    "digamma(1.2 + ({a})**2)",
    "beta(1.5 + expit({a}), 2.0 + expit({b}))", "lbeta(1.5 + ({a})**2, 2.0 + expit({b}))",
    "zeta(3.0 + tanh({a}))",
    "zeta(2.5 + tanh({a}), 1.5 + expit({b}))", "gammainc(2.0 + tanh({a}), 1.5 + expit({b}))",
    "betainc(1.5 + expit({a}), 2.0 + expit({b}), 0.1 + 0.8 * expit({a}))", "i0(tanh({a}) * 2.0)",
    "i1(tanh({a}) * 2.0)",
    "ndtri(0.1 + 0.8 * expit({a}))", "erfinv(0.9 * tanh({a}))", "logit(0.1 + 0.8 * expit({a}))",
    "xlogy({a}, 1.5 + sin({b}))",
]  # fmt: skip
HARD = [
    "((({a}) + 1e8) - 1e8)", "sin(1e4 * ({a}))", "exp(20.0 * tanh({a})) * 1e-6",
    "(({a}) - ({a}) * (1.0 - 1e-9)) * 1e6",
    "log(1.0 + 1e-8 * ({a})**2) * 1e6", "(1.0 - cos(1e-4 * ({a}))) * 1e7", "sqrt(1e-12 + ({a})**2)",
    "erfc(3.0 + 2.0 * expit({a}))", "gammainc(30.0 + tanh({a}), 25.0 + tanh({b}))",
    "tanh(15.0 + tanh({a}))",
    "expit(30.0 * tanh({a}))", "1.0 / (1e-6 + ({a})**2)", "tanh({a})**15",
    "lgamma(1e6 + ({a})) * 1e-6",
    "digamma(1e-3 + expit({a})**9)", "asin(1.0 - 1e-9 * (2.0 + sin({a})))",
    "acosh(1.0 + 1e-10 * (2.0 + sin({a}))) * 1e4",
    "zeta(1.0 + 1e-5 * (2.0 + sin({a})))", "ndtri(1e-12 * (1.5 + sin({a})))",
    "betainc(50.0 + tanh({a}), 60.0, 0.4 + 0.1 * tanh({b}))", "(1.0 - expit({a} + 12.0)) * 1e4",
    "erfinv(1.0 - 1e-8 * (1.5 + sin({a})))", "(exp(1e-5 * ({a})) - 1.0) * 1e5",
    "hypot(1e-9 * ({a}), 1e-9 + 1e-9 * ({b})**2) * 1e8", "i0(40.0 + tanh({a})) * 1e-16",
    "gamma(1e-4 * (1.5 + sin({a}))) * 1e-4", "(({a})**2 - 2.0 * ({a}) * ({b}) + ({b})**2)",
    "atan2(1e-10 * ({a}), 1.0) * 1e9",
    "log(1e-300 * (1.5 + sin({a})))", "exp(-30.0 - ({a})**2) * 1e12",
    "ndtr(-9.0 + tanh({a})) * 1e15",
]  # fmt: skip
PIECES = [
    "abs(({a}) - {k})", "maximum({a}, {b})", "minimum({a}, {k})", "relu({a})", "leaky_relu({a})",
    "clip({a}, -0.7, 0.8)",
    "where(({a}) > {k}, {b}, ({a})**2)", "(({a}) if ({b}) > {k} else sin({a}))",
    "floor({a}) * ({b})", "fmod({a}, 1.3)",
    "sign({a}) * ({b})", "({a}) % 0.9", "trunc(3.0 * ({a})) + ({b})",
    "clip(({a}) * 1e3, -1.0, 1.0) * ({b})",
]  # fmt: skip
OF_VECTORS = [
    "sum(sin({v}))", "mean({v} * {w})", "{v} @ {w}", "logsumexp({v})", "norm({v} + 2.0)",
    "prod(1.5 + sin({v}))", "std({v})",
    "var({v})", "max({v})", "sum(cumsum({v}) * {w})", "sum(softmax({v}) * {w})",
    "sum(convolve({v}, {w}))", "median({v})",
    "sum(sort({v}) * [1.0, -0.5, 2.0])", "sum(vmap(fn(t) = sin(t) * t)({v}))",
    "interp({k}, [-3.0, 0.1, 3.0], {v})",
    "sum(real(fft({v})) * {w})", "sum(cumprod(1.2 + tanh({v})))", "sum(outer({v}, {w})**2)",
    "{v}[1] * {w}[-1]",
    "sum(({v}[1:])**2)",
]  # fmt: skip
OF_MATRICES = [
    "det({m})", "logdet({m})", "trace(inv({m}))", "sum(solve({m}, {v}))", "sum(sin({m} @ {v}))",
    "sum(cholesky({m} @ {m}.T + 2.0 * eye(3)))", "sum(eigh({m} + {m}.T)[0] * [1.0, -2.0, 0.5])",
    "trace(expm(0.2 * {m}))",
    "svd({m})[1][0]", "sum(qr({m})[1]**2)", "sum(lstsq({m}, {v})**2)", "norm(ravel({m}))",
    "sum({m}**2)",
]  # fmt: skip
NUMBERS = ["0.37", "-0.82", "1.43", "2.19", "-1.61", "0.053"]


class Program(NamedTuple):
    """A program, and how it is checked."""

    text: str
    points: int
    order: int


class Writer:
    """Writes one program. Names in scope have a value of moderate size wherever the inputs are."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.lines: list[str] = []
        self.numbers: list[str] = []
        self.vectors: list[str] = []
        self.matrices: list[str] = []
        self.kinds = [SMOOTH, *random.sample([SMOOTH, SPECIAL, HARD, PIECES], 2)]

    def program(self, statements: int) -> Program:
        """A program of at most so many statements, beside its declarations and its output."""
        pick = self.random
        in_domains = pick.random() < 0.3
        for name in "xyz"[: pick.randint(1, 3)]:
            value = pick.uniform(-2.0, 2.0)
            domain = f" in ({value - 0.5!r}, {value + 0.5!r})" if in_domains else ""
            self.lines.append(f"var {name} = {value!r}{domain}")
            self.numbers.append(name)
        if pick.random() < 0.6:
            self.lines.append(f"var u = {[pick.uniform(-1.5, 1.5) for _ in range(3)]}")
            self.vectors.append("u")
        kinds = [
            self.assign,
            self.loop,
            self.repeat,
            self.branch,
            self.function,
            self.newton,
            self.vector,
            self.matrix,
        ]
        for number in range(pick.randint(1, statements)):
            pick.choice([self.assign, *kinds])(f"s{number}")
        self.lines.append(f"output q = {' + '.join(self.numbers[-3:])} + 0.1 * ({self.number(2)})")
        return Program(
            "\n".join(self.lines), 2 if in_domains else 0, 2 if pick.random() < 0.1 else 1
        )

    # ---- expressions -----------------------------------------------------------------------------

    def number(self, depth: int) -> str:
        """An expression for a number."""
        pick = self.random
        if depth == 0 or pick.random() < 0.1:
            return pick.choice(self.numbers)
        kind = pick.choice(self.kinds)
        if self.vectors and pick.random() < 0.25:
            kind = OF_VECTORS
        if self.matrices and self.vectors and pick.random() < 0.3:
            kind = OF_MATRICES
        fill = {"k": pick.choice(NUMBERS)}
        fill |= {name: pick.choice(self.vectors) for name in "vw" if self.vectors}
        fill |= {"m": pick.choice(self.matrices)} if self.matrices else {}
        return pick.choice(kind).format(a=self.number(depth - 1), b=self.number(depth - 1), **fill)

    def tame(self, depth: int) -> str:
        """One whose size doesn't grow, however often it is taken of itself."""
        return f"tanh({self.number(depth)})"

    # ---- statements ------------------------------------------------------------------------------

    def assign(self, name: str) -> None:
        self.lines.append(f"{name} = {self.number(3)}")
        self.numbers.append(name)

    def loop(self, name: str) -> None:
        pick = self.random
        self.lines.append(f"{name} = {self.number(1)}")
        term = self.tame(2)
        self.lines.append(f"for i in range({pick.randint(1, 12)}) {{")
        if pick.random() < 0.4:
            self.lines.append(
                f"    if i == {pick.randint(0, 5)} {{ {pick.choice(['continue', 'break'])} }}"
            )
        self.lines += [
            f"    {name} = 0.5 * tanh({name}) + {term} * {pick.choice(['1.0', '0.3 * i', '(i + 1.0)**-0.5'])}",
            "}",
        ]
        self.numbers.append(name)

    def repeat(self, name: str) -> None:
        self.lines += [
            f"{name} = 0.3",
            f"n_{name} = 0",
            f"while abs({name}) < 1.1 and n_{name} < 6 {{",
        ]
        self.lines += [
            f"    {name} = {name} * 0.7 + 0.4 * {self.tame(2)} + 0.2",
            f"    n_{name} = n_{name} + 1",
            "}",
        ]
        self.numbers.append(name)

    def branch(self, name: str) -> None:
        condition = f"{self.number(1)} {self.random.choice('<>')} {self.random.choice(NUMBERS)}"
        self.lines += [
            f"if {condition} {{ {name} = {self.number(2)} }} else {{ {name} = {self.number(2)} }}"
        ]
        self.numbers.append(name)

    def function(self, name: str) -> None:
        outer, self.numbers = self.numbers, [*self.numbers, "p", "p"]
        body = self.number(2)
        self.numbers = outer
        form = self.random.choice(
            [
                "{0} = f_{0}({1}) + f_{0}({2})",
                "{0} = grad(f_{0})({1})",
                "{0} = sum(vmap(f_{0})([{1}, {2}]))",
            ]
        )
        self.lines += [
            f"fn f_{name}(p) = {body}",
            form.format(name, self.number(1), self.number(1)),
        ]
        self.numbers.append(name)

    def newton(self, name: str) -> None:
        self.lines += [f"{name} = 1.0", f"for i in range({self.random.randint(3, 9)}) {{"]
        self.lines += [
            f"    {name} = {name} - ({name}**3 + {name} - {self.tame(1)}) / (3.0 * {name}**2 + 1.0)",
            "}",
        ]
        self.numbers.append(name)

    def vector(self, name: str) -> None:
        pick = self.random
        elements = f"[{self.number(1)}, {self.number(1)}, {pick.choice(NUMBERS)}]"
        form = pick.choice(["{0}", "sin({0})", "tanh({0}) * [0.3, 1.0, -2.0]", "softmax({0})"])
        self.lines.append(f"{name} = {form.format(elements)}")
        self.vectors.append(name)

    def matrix(self, name: str) -> None:
        """One that can be inverted, well or not."""
        a, b, c = (self.tame(1) for _ in range(3))
        rows = self.random.choice(
            [
                "[[3.0 + {a}, {b}, 0.2], [0.1, 3.0, {c}], [{b}, 0.4, 4.0]]",
                "[[1.0 + 1e-6 * {a}, 1.0, 0.0], [1.0, 1.00002, {b} * 1e-6], [0.0, {c}, 4.0]]",
            ]
        )
        self.lines.append(f"{name} = {rows.format(a=a, b=b, c=c)}")
        self.matrices.append(name)
        if not self.vectors:
            self.vector(f"v_{name}")


def programs(seed: int, count: int, statements: int = 5) -> Iterator[Program]:
    """So many programs that run, with finite answers and gradients."""
    random = Random(seed)
    while count:
        program = Writer(random).program(statements)
        if is_finite(program):
            count -= 1
            yield program


def is_finite(program: Program) -> bool:
    """Whether a program has a finite value and finite derivatives."""
    options = Options(mode="reverse", hessian=program.order == 2)
    try:
        found = evaluate(parse_program(Source("<random>", program.text)), {}, options)
    except GradcliError as error:
        raise AssertionError(f"no program of the language:\n{program.text}\n{error}") from None
    if "q" not in found.outputs:  # it stopped with an error
        return False
    derivatives: list[Any] = [*found.gradients["q"].values(), *found.hessians.get("q", {}).values()]
    values = [np.asarray(value) for value in derivatives if value is not None]
    return bool(values) and all(np.isfinite(value).all() for value in values)
