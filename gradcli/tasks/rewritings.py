"""What to write instead of a formula that overflows, loses its digits or has no derivative at a
point.

The formulas are written in the language itself, and found in the ancestry of a run, whatever names
and statements they are spread over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from ..diagnostics import GradcliError, Source, Span
from ..engine.execution import Run
from ..engine.explain.ancestry import Ancestry
from ..engine.explain.blame import declared
from ..engine.explain.reasons import Reason
from ..engine.trace.recording import Blank
from ..engine.trace.records import Record
from ..engine.values.boxes import primal
from ..engine.values.contents import is_finite, plain
from ..engine.values.kinds import show
from ..engine.values.lanes import Lanes
from ..lang import program
from ..lang.parser import parse
from ..lang.resolve import resolve
from .answer import answered
from .evaluation import Options

REWRITINGS = {
    "log(sum(exp(x)))": "logsumexp(x)",
    "log(exp(x) + exp(y))": "logaddexp(x, y)",
    "log(softmax(x))": "log_softmax(x)",
    "log(exp(x) / sum(exp(x)))": "log_softmax(x)",
    "exp(x) / sum(exp(x))": "softmax(x)",
    "log(1 + exp(x))": "softplus(x)",
    "log(sigmoid(x))": "-softplus(-x)",
    "log(1 - sigmoid(x))": "-softplus(x)",
    "1 / (1 + exp(-x))": "sigmoid(x)",
    "exp(x) / (1 + exp(x))": "sigmoid(x)",
    "exp(x) / (exp(x) + 1)": "sigmoid(x)",
    "(exp(x) - exp(-x)) / (exp(x) + exp(-x))": "tanh(x)",
    "log(cosh(x))": "logaddexp(x, -x) - log(2)",
    "log(x / (1 - x))": "logit(x)",
    "log(x) - log(1 - x)": "logit(x)",
    "norm(x)**2": "sum(x**2)",
    "sqrt(sum(x**2))": "norm(x)",
    "x / norm(x)": "where(norm(x) > 0, x / norm(x), 0)",
    "x / sqrt(sum(x**2))": "where(norm(x) > 0, x / norm(x), 0)",
    "sqrt(x**2 + y**2)": "hypot(x, y)",
    "sqrt(x**2)": "abs(x)",
    "log(abs(det(x)))": "logdet(x)",
    "log(det(x))": "logdet(x)",
    "log(gamma(x))": "lgamma(x)",
    "gamma(x) * gamma(y) / gamma(x + y)": "beta(x, y)",
    "gamma(x) / gamma(y)": "exp(lgamma(x) - lgamma(y))",
    "log(prod(x))": "sum(log(x))",
    "x * log(y)": "xlogy(x, y)",
    "sin(x) / x": "sinc(x / pi)",
    "inv(x) @ y": "solve(x, y)",
    "x**(1 / 3)": "cbrt(x)",
}
# These give 0 where they have lost all digits, and what divides by them then isn't finite.
LOSSY = {
    "log(1 + x)": "log1p(x)",
    "exp(x) - 1": "expm1(x)",
    "1 - exp(x)": "-expm1(x)",
    "1 - cos(x)": "2 * sin(x / 2)**2",
    "sqrt(1 + x) - 1": "x / (sqrt(1 + x) + 1)",
}
# These give something else at the points where the formula isn't finite, so that they help there
# alone.
CHANGING = frozenset(
    ("x * log(y)", "x / norm(x)", "x / sqrt(sum(x**2))", "inv(x) @ y", "sin(x) / x", "x**(1 / 3)")
)

REACH = 64  # records after the one at fault: its formula is at an end by then
_COMMUTATIVE = frozenset(("add", "mul"))


def advice(
    run: Run,
    ancestry: Ancestry,
    record: Record | None,
    reason: Reason,
    names: Mapping[Span, Span],
) -> str:
    """What to write instead of the formula that the record at fault is part of; behind the reason's
    own fix where it isn't finite here either. `names` are the places of values that have a name,
    with that of the name."""
    if record is None or record.site.of is not None or not record.inputs:
        return reason.help
    table = {**REWRITINGS, **LOSSY}
    found = [
        m
        for root in _readers(ancestry, record)
        for m in _matches(run, ancestry, root, table, record.number)
    ]
    for _, n in record.traced_operands():
        if n >= 0 and _is_zero(ancestry.trace.at(n).y):
            found += _matches(run, ancestry, ancestry.trace.at(n), LOSSY, n)
    for match in sorted(found, key=lambda m: len(m.records), reverse=True):
        new, old = match.written(match.replacement, names), match.written(match.pattern, names)
        if match.works(derivative=reason.code != "nonfinite_value"):
            return f"write `{new}` instead of `{old}`"
        if match.pattern not in CHANGING and match.records[-1].number == record.number:
            return f"{reason.help}; `{new}` is better than `{old}`"
    return reason.help


def _is_zero(value: Any) -> bool:
    return type(value) in (float, int) and value == 0


def _readers(ancestry: Ancestry, record: Record) -> Iterator[Record]:
    """The record, and what is soon computed from it."""
    reached = {record.number}
    yield record
    for number in range(record.number + 1, min(record.number + REACH, ancestry.trace.number)):
        later = ancestry.trace.at(number)
        if not reached.isdisjoint(later.inputs):
            reached.add(number)
            yield later


# ---- matching ------------------------------------------------------------------------------------


class _Match:
    """A formula found in a ancestry: the records that make it up, and what its names stand for."""

    def __init__(self, run: Run, ancestry: Ancestry, pattern: str, replacement: str) -> None:
        self.run = run
        self.ancestry, self.pattern, self.replacement = ancestry, pattern, replacement
        self.records: list[Record] = []
        self.bound: dict[str, tuple[int | None, Any]] = {}  # number and primal

    def holds(self, node: program.Expression, number: int | None, value: Any) -> bool:
        """Whether an operand, by its number on the trace or its plain value, is what the formula
        says."""
        if isinstance(node, program.Read):
            known = self.bound.setdefault(node.slot.name, (number, value))
            return known[0] == number and (
                number is not None or known[1] is value or _same(known[1], value)
            )
        if isinstance(node, program.Constant):
            return number is None and _same(node.value, value)
        if not isinstance(node, program.Apply) or number is None or number < 0:
            return _is_number(node) and number is None and _same(_number(node), value)
        record = self.ancestry.trace.at(number)
        if record.site.of is not None or not self._operands_hold(node, record):
            return False
        self.records.append(record)
        return True

    def _operands_hold(self, node: program.Apply, record: Record) -> bool:
        op = record.site.op.name
        parts = list(_operands(record))
        squares = op == "square" or (
            op == "mul" and parts[0][0] is not None and parts[0][0] == parts[1][0]
        )
        if squares and node.op.name == "pow" and _is_two(node.operands[1]):
            return self._tried([(node.operands[0], parts[0])])
        if op != node.op.name:
            return False
        pairs = [pair for pair in zip(node.operands, parts, strict=False) if pair[0] is not None]
        if self._tried(pairs):
            return True
        return op in _COMMUTATIVE and self._tried(
            list(zip(node.operands, reversed(parts), strict=True))
        )

    def _tried(self, pairs: list[Any]) -> bool:
        bound, records = self.bound.copy(), self.records.copy()
        if all(self.holds(part, *operand) for part, operand in pairs):
            return True
        self.bound, self.records = bound, records
        return False

    def works(self, derivative: bool) -> bool:
        """Whether the replacement is finite for the values at hand, and its derivative if that is
        what isn't."""
        values = {name: self._value(number, value) for name, (number, value) in self.bound.items()}
        node = _program(self.replacement)
        used = {name: value for name, value in values.items() if name in node.names}
        if any(value is None for value in used.values()) or not all(map(is_finite, used.values())):
            return False
        try:
            answer = answered(node, used, Options(grad=derivative))
        except GradcliError:
            return False
        found = [*answer.outputs.values(), *answer.gradients.get("result", {}).values()]
        return not answer.run.diagnostics and all(map(is_finite, map(plain, found)))

    def _value(self, number: int | None, value: Any) -> Any:
        """What a name stands for, as an input; None where that wasn't kept."""
        if number is not None:
            variable = declared(self.run, number)
            value = (
                self.ancestry.trace.at(number).y
                if number >= 0
                else None
                if variable is None
                else primal(variable.state)
            )
        return None if type(value) in (Blank, list, Lanes) else value

    def written(self, formula: str, names: Mapping[Span, Span]) -> str:
        """A formula with what its names stand for."""
        node = _parsed(formula)
        text, shift = node.span.source.text, 0
        for start, end, name in sorted(set(_names(node))):
            number, value = self.bound[name]
            called = self._called(number, value, names)
            if not re.fullmatch(r"[\w.]+(\([^()]*\)|\[[^][]*\])?", called) and not _in_brackets(
                formula, start, end
            ):
                called = f"({called})"
            text = text[: start + shift] + called + text[end + shift :]
            shift += len(called) - (end - start)
        return text

    def _called(self, number: int | None, value: Any, names: Mapping[Span, Span]) -> str:
        if number is None:
            return show(value) if not getattr(value, "shape", ()) else "…"
        if number < 0:
            variable = declared(self.run, number)
            return "x" if variable is None else variable.name
        span = self.ancestry.trace.at(number).site.span
        return " ".join(names.get(span, span).text.split())


def _operands(record: Record) -> Iterator[tuple[int | None, Any]]:
    numbers = dict(record.traced_operands())
    for k, value in enumerate(record.operands):
        yield numbers.get(k), value


def _matches(
    run: Run, ancestry: Ancestry, root: Record, table: Mapping[str, str], at: int
) -> Iterator[_Match]:
    """The formulas of a table that end in `root` and go through the record `at`."""
    for pattern, replacement in table.items():
        node = _parsed(pattern)
        if isinstance(node, program.Apply) and (
            node.op.name == root.site.op.name or node.op.name == "pow"
        ):
            match = _Match(run, ancestry, pattern, replacement)
            if match.holds(node, root.number, None) and any(r.number == at for r in match.records):
                yield match


@cache
def _program(formula: str) -> program.Program:
    """A formula of the table as a program, whose inputs are its names."""
    source = Source("<formula>", formula)
    return resolve(parse(source), source)


def _parsed(formula: str) -> program.Expression:
    (statement,) = [s for s in _program(formula).body if not isinstance(s, program.Declare)]
    assert isinstance(statement, program.Evaluate | program.Assign)
    return statement.value


def _names(node: Any) -> Iterator[tuple[int, int, str]]:
    if isinstance(node, program.Read):
        yield node.span.start, node.span.end, node.slot.name
    elif isinstance(node, program.Node | program.Argument):
        for name in node.FIELDS:
            yield from _names(getattr(node, name))
    elif isinstance(node, tuple) and not isinstance(node, Span):
        for item in node:
            yield from _names(item)


def _in_brackets(formula: str, start: int, end: int) -> bool:
    """Whether a name stands alone between parentheses or commas, so that it can be any
    expression."""
    return (
        start > 0
        and formula[:start].rstrip()[-1] in "(,"
        and end < len(formula)
        and formula[end:].lstrip()[0] in "),"
    )


def _is_two(node: program.Expression | None) -> bool:
    return isinstance(node, program.Constant) and bool(node.value == 2)


def _is_number(node: Any) -> bool:
    if isinstance(node, program.Apply):
        return node.op.name == "div" and all(map(_is_number, node.operands))
    return isinstance(node, program.Constant)


def _number(node: Any) -> float:
    return (
        float(node.value)
        if isinstance(node, program.Constant)
        else _number(node.operands[0]) / _number(node.operands[1])
    )


def _same(a: Any, b: Any) -> bool:
    return type(a) in (int, float) and type(b) in (int, float) and a == b
