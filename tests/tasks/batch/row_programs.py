"""Programs for rows of data: the samples, with columns around their values, and programs whose rows
go different ways."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from gradcli.diagnostics import GradcliError
from gradcli.engine.analysis.declared import declarations
from gradcli.tasks.constants import constant

SAMPLES = [
    path
    for path in sorted((Path(__file__).parents[3] / "samples").rglob("*.tg"))
    if re.search(r"(?m)^ *var ", path.read_text(encoding="utf-8"))
]
ROWS = 5


def columns_for(node: Any) -> dict[str, Any]:
    """Rows around the values that the program gives its variables, which are the first row."""
    columns = {}
    random = np.random.default_rng(0)
    for declared in declarations(node.body):
        try:
            value = np.asarray(constant(declared.value.span.text, declared.slot.name))
        except GradcliError:
            continue  # computed from other names
        if declared.kind == "var" and value.dtype.kind == "f":
            factors = np.concatenate([[1.0], random.uniform(-1.5, 1.5, ROWS - 1)])
            columns[declared.slot.name] = factors.reshape(-1, *[1] * value.ndim) * value
    return columns


X = [0.7, -1.3, 0.001, 2.5, -0.2, 1.0]
PROGRAMS = {
    "a gradient that some rows lack": "var x; if x > 0 { y = x**2 } else { y = 3.0 }; output y",
    "a gradient that one of two sources lacks": "var x; var w = 2.0; if x > 0 { y = x } else { y = w }; output y",
    "connected through one of two branches in a loop":
        "var x; s = 0.0; i = 0; while i < 4 { if x > i { s += x } else { s += 1 }; i += 1 }; output s",
    "a variable replaced in some rows": "var x; if x > 0 { x = 4.0 }; y = x * 2; output y",
    "a declaration in some rows": "var x; y = x; if x > 0 { var w = 2.0; y = x * w }; output y",
    "an output of some rows": "var x; if x > 0 { output y = x } else { output z = x * 2 }",
    "an expectation": "var x; expect x > 0; y = log(x); output y",
    "an expectation of arrays": "var x; expect [x, 1.0] ~= [0.7, x / 0.7]; output x * 2",
    "an expected error": "var x; v = [1.0, 2.0]; expect error \"range\" { y = v[int64(x * 2)] }; output x * 2",
    "an index": "var x; v = [1.0, 2.0]; y = v[int64(x)] * x; output y",
    "an integer overflow": "const n: int64; y = n * 4000000000 * 4000000000; output y",
    "a shape": "var x; y = sum(ones(int64(abs(x) * 3)) * x); output y",
    "turns": "var x; i = 0; s = 0.0; while i < x { i += 1; s += x / i }; output s",
    "a limit of steps": "var x; i = 0; while x < 2 { i += 1; x := x * 0.9 if i > 9 and x < 0.5 else x + 0.1 }; output y = x",
    "a state": "var x; if x > 0 { x := x * 2 }; y = x**2; output y",
    "random numbers": "var x; y = x * uniform([]) if x > 0 else x; output y + uniform([])",
    "a list and a dict": "var x; y = [x * 2, 3.0]; z = {a: x**2, b: \"text\"}; output y, z",
    "a derivative": "var x; fn f(t) { if t > 0 { return t**3 } else { return t } }; output g = grad(f)(x)",
    "a derivative in some rows": "var x; y = x**2; if x > 0 { y = grad(x**3, x) * 2 }; output y",
    "a tape": "var x; tape t { t.watch(x); if x > 0 { y = x**2 } else { y = 1.0 } }; output g = t.gradient(y, x)",
    "an attached gradient": "var x; attach_grad(x); record { y = x**2 }; if x > 0 { backward(y) }; output g = x.grad",
    "recursion":
        "fn p(x, n) { if n < 1 { return 1.0 } else { return x * p(x, n - 1) } }; var x; y = p(x, int64(abs(x) * 2)); output y",
    "what rows share, and a cotangent of two sides": "var x; var w = 0.7; t = w * w; v = x * 2; q = v * v; u = t + v; r = 0.0; "
                                                     "if x > 0 { r = u * 3 } else { r = u * 5 }; output y = r * r + q",
}  # fmt: skip
