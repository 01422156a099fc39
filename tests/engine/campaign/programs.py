"""Writes whole programs: of inputs `x`, `u` and `n` for rows of data, and of all rows at once by
`vmap`."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from .bodies import Body, function, helpers

HEAD = 'import "lib.tg" as lib\n'
NN = "import nn\n"
INPUTS = "var x = 1.0\nvar w = 0.5\nfrozen u = 0.5\nfrozen n: int64 = 2\n"
STATE = "frozen state = 0.25\n"
POINTS = (-2.5, -1.0, -0.3, 0.0, -0.0, 0.2, 0.7, 1.0, 1.3, 2.0, 4.0)

# Requests of a function of a row, as what a function of `x`, `u` and `n` returns.
REQUESTS = (
    "row(x, u, n)",
    "row(x, u, n)",
    "grad(row)(x, u, n)",
    "value_and_grad(row)(x, u, n)",
    "grad(row, wrt = [0, 1])(x, u, n)",
    "jvp(row)(x, u, u, n)",
    "vjp(row)(x, u, u, n)",
    "hvp(fn(z) = row(z, u, n))(x, u)",
    "grad(fn(z) = row(z, u, n) * z)(x)",
    "hessian(fn(z) = row(z, u, n))(x)",
    "grad(grad(row))(x, u, n)",
    "jacobian(fn(z) = row(z, u, n) * z)(x)",
    "sum(vmap(fn(z) = row(z, u, n))([x, u, 0.5]))",
    "jvp(grad(row))(x, u, u, n)",
    "sum(vmap(grad(fn(z) = row(z, u, n)))([x, u]))",
    "[row(x, u, n), n]",
)
STATEMENTS = (
    "y = row(x, u, n)",
    "y = y + row(x * w, u, n)",
    "state := state * 0.5 + y",
    "y = y * state",
    "y = y + w * state",
    "for i in range(abs(n) % 4) { y = y + row(x * 0.5, u, i) * 0.1 }",
    "y = y + grad(row)(x, u, n)",
    "y = y * 2 if x > u else y",
    "if y > 0.3 { y = y * w } else { state :+= x; y = y + state }",
    'y = y + grad(y, x, unconnected = "zero")',
    'y = y + grad(y * w, w, seed = u, unconnected = "zero")',
    "y = y + vjp(row)(x, u, u, n)",
    "y = y + lib.scale * x",
    'tape tp { p = y * x * w }; y = y + tp.gradient(p, x, unconnected = "zero")',
    "y = y + hvp(fn(z) = row(z, u, n))(x, u)",
    "c = 0; while c < 3 and abs(y) < 2 { y = y + row(y, u, c) * 0.25 + 0.1; c += 1 }",
    "pause { y = y + row(x, u, n) * 0.5 + w * x }",
    "z = x * 1.0; attach_grad(z); record { p = row(z, u, n) * z }; backward(p); y = y + z.grad * w",
    "y = y + nn.huber(y, u)",
    "if x > u { y = detach(y) * w }",
    "if n > 2 { x = x * 2.0; y = y * x }",
    "v = [x, w, u]; y = y + v[abs(n) % 3] * w",
    "vs = array([x, w]); vs[0] += u; y = y + sum(vs * vs)",
    "if u > 0 { w := w * 0.5 }; y = y + w * w",
    "y = y + sum(jacobian(row)(x, u, n))",
)
OUTPUTS = (
    "y",
    "y, n * 1.0",
    "y, w * x",
    "y, grad(y, x)",
    "y, [y, x]",
    "y, state",
    "y, x if x > 0.5 else none",
    "y, n if x > 0 else y",
    "y, n * n",
    "y, array([y, w])",
    "y, y > 0.25",
    "grad(y, w)",
)


class Written(NamedTuple):
    """A program, and the points of the rows that it runs for: `x`, `w`, `u` and `n` of each."""

    kind: str  # "rows" or "mapped"
    text: str
    alone: str  # where they are mapped, the program of a row; else ""
    points: list[dict[str, float]]


def program(random: Random, wide: bool = False) -> Written:
    """`wide`: with values of all kinds."""
    slopes = random.choice([0.0, 0.1, 0.2])
    functions = f"{helpers(random)}\n{function(random, slopes, wide)}\n"
    points = [_point(random) for _ in range(random.choice([3, 4, 6]))]
    if random.random() < 0.4:
        request = random.choice(REQUESTS)
        columns = [f"[{', '.join(_number(p[name]) for p in points)}]" for name in ("x", "u", "n")]
        functions = _imports(functions)
        mapped = f"{functions}fn asked(x, u, n) = {request}\noutput result = vmap(asked)({', '.join(columns)})\n"
        alone = f"{INPUTS.replace('var', 'frozen')}{functions}fn asked(x, u, n) = {request}\noutput result = asked(x, u, n)\n"
        return Written("mapped", mapped, alone, points)
    lines = ["y = row(x, u, n)"]
    if random.random() < 0.3:  # the statements of a body at the top level
        body = Body(random, slopes, returns=False, wide=wide)
        for line in ("s = x * w", "t = x + u", "k = n", "q = none", "a = array([x, u, w])"):
            body.add(line, -1)
        body.block(-1, False, 5)
        lines += [*body.lines, "y = y + s * t"]
    lines += random.sample(STATEMENTS, random.randint(1, 4))
    outputs = random.choice(OUTPUTS)
    named = [
        f"output {o}" if o.isidentifier() else f"output o{k} = {o}"
        for k, o in enumerate(_parts(outputs))
    ]
    text = "\n".join([INPUTS + STATE + functions.rstrip(), *lines, *named]) + "\n"
    return Written("rows", _imports(text), "", points)


def _imports(text: str) -> str:
    """The text with what it imports, lib.tg beside this file and the library, before it."""
    return (HEAD if "lib." in text else "") + (NN if "nn." in text else "") + text


def _parts(outputs: str) -> list[str]:
    first, _, rest = outputs.partition(", ")
    return [outputs] if outputs.startswith("grad") else [first, rest] if rest else [first]


def _point(random: Random) -> dict[str, float]:
    return {
        "x": random.choice(POINTS),
        "w": random.choice(POINTS),
        "u": random.choice(POINTS),
        "n": random.randint(-1, 5),
    }


def _number(value: float) -> str:
    return f"({value!r})"
