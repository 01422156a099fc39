"""Reading programs that a machine wrote: parsing and resolving, and one long sum to the end."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from gradcli.diagnostics import Source
from gradcli.lang.lexer import Lexer
from gradcli.tasks.programs import parse_program

from .. import tools
from ..workload import Contender, Goal, Task, Timings, Workload

SIZES = (1_000, 4_000, 16_000)  # statements
TERMS = 20_000
WEIGHTS = np.random.default_rng(0).uniform(-1.0, 1.0, TERMS).round(4)


@cache
def program(statements: int) -> str:
    """Statements of every shape that generators write: calls, operators, indices, blocks."""
    lines = ["x = 0.5", "v0 = x"]
    for k in range(1, statements):
        a, b = f"v{k - 1}", f"v{max(0, k - 7)}"
        shapes = [
            f"v{k} = {a}*0.5 + sin({b}) - {k % 97}.25/(1.0 + {a}**2)",
            f"v{k} = maximum({a}, {b}) if {a} > {b} else exp(-({a} + {b})/2.0)",
            f"v{k} = sum([{a}, {b}, {k}e-3]) - (({a} - 1.5)*(2.0 + {b}))",
            f"v{k} = tanh({a}) + x*{k % 13} - abs({b})",
        ]
        lines.append(shapes[k % 4])
    return "\n".join(lines) + "\n"


@cache
def _tokens(statements: int) -> int:
    return sum(1 for _ in Lexer(Source("<machine>", program(statements))))


def _name(statements: int) -> str:
    return f"gradcli, {statements:,} statements"


def _parse(statements: int) -> Contender:
    source = program(statements)

    def task() -> None:
        parse_program(Source("<machine>", source))

    return Contender(_name(statements), lambda: task)


def _python() -> Task:
    source = program(SIZES[-1])  # it is Python too

    def task() -> None:
        ast.parse(source)

    return task


def _long_sum() -> Contender:
    terms = " + ".join(f"{w!r}*x**{k % 3 + 1}" for k, w in enumerate(WEIGHTS.tolist()))
    inner = tools.contender(f"var x = 0.9\noutput {terms}\n", {}, ("x",))

    def prepare() -> Task:
        return lambda: inner.prepare()()  # with parsing

    return Contender(f"gradcli, a sum of {TERMS:,} terms", prepare, expected=_long_sum_by_hand)


def _long_sum_by_hand() -> list[Any]:
    powers = np.arange(TERMS) % 3 + 1
    return [WEIGHTS @ 0.9**powers, WEIGHTS @ (powers * 0.9 ** (powers - 1.0))]


def _tokens_per_second(statements: int) -> Callable[[Timings], float]:
    return lambda t: _tokens(statements) / t.median(_name(statements))


def _growth(t: Timings) -> float:
    """The time of a token in the largest program over that in the smallest."""
    small, large = SIZES[0], SIZES[-1]
    return t.ratio(_name(large), _name(small)) * _tokens(small) / _tokens(large)


WORKLOADS = [
    Workload(
        "parse",
        "machine-written programs of several sizes parsed and resolved; a long sum parsed, run "
        "and differentiated",
        [
            *map(_parse, SIZES),
            _long_sum(),
            Contender(f"Python's own parser, {SIZES[-1]:,} statements", _python),
        ],
        [
            *(
                Goal(
                    f"speed, {n:,} statements",
                    "tokens/s",
                    100_000.0,
                    _tokens_per_second(n),
                    at_least=True,
                )
                for n in SIZES
            ),
            Goal("a token, largest / smallest", "", 1.3, _growth),
        ],
    ),
]
