"""Writes the functions of what `loop_reading.py` reads: the value, the value and its tangent, the
value and its gradient.

The last keeps, for each step that it takes and that a gradient passes, which it was and the numbers
that the way back reads, and then goes back over these, whatever loops and branches they came from.
Its source has invented names only. What Python refuses, ints that 64 bits don't hold, and what
isn't finite make it give up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ...ops import OPS
from ...ops.formula import Formula
from ..analysis.frames import COMPARISONS
from ..analysis.loop_parts import Branch, Loop, Looped, Part, Step, list_parts
from ..analysis.read_derivatives import NotPlainError
from ..backends.backend import INT_MAX, INT_MIN
from ..formulas.differentiation import ZERO, differentiate, plus, pushed
from ..formulas.formula_source import STRICT, FormulaSource, function_of, is_number
from ..formulas.functions import fast_by_name, scalar_by_name
from ..interpreter.scalar_closures import EXACT_ON_INTS

EXACT_ON_ANY = frozenset(
    ("add", "sub", "mul", "neg", "pos", "abs", "square")
)  # on floats and ints alike, as Python has them
MAX_NESTING = 15  # of loops and branches; Python's are 20


def whole(y: Any) -> Any:
    """A number that is no int which 64 bits don't hold."""
    if type(y) is int and not INT_MIN <= y <= INT_MAX:
        raise OverflowError
    return y


def settled(y: Any) -> Any:
    """A number that is no int which a comparison with another int and one with a float could see
    differently."""
    if type(y) is int and not -(2**53) <= y <= 2**53:
        raise OverflowError
    return y


def finite(y: float) -> float:
    if y - y != 0.0:
        raise OverflowError
    return y


GUARDS: dict[str, Callable[..., Any]] = {
    "whole": whole,
    "settled": settled,
    "finite": finite,
    "float": float,
}


class LoopWriter:
    """Writes for operands of these kinds, "float" or "int", as they stand in `looped`; derivatives
    are by the parameters at the positions."""

    fast = True  # by Python's own functions, with plain products
    follows = (
        False  # derivatives only say what depends on what: they are above 0 where something does
    )

    def __init__(self, looped: Looped, kinds: Sequence[str], positions: Sequence[int]) -> None:
        self.looped, self.size = looped, looped.size
        self.names: dict[str, Any] = {}
        self.by = [looped.parameters[k] for k in positions]
        self._ways_back: list[list[str]] = []  # of the steps that a gradient passes
        steps, counters = [looped.begin], set[int]()
        list_parts(looped.body, steps, counters)
        self.kinds = {k: kind for (k, _), kind in zip(looped.operands, kinds, strict=True)}
        self.kinds.update(dict.fromkeys(counters, "int"))
        self.steps = steps
        self._find_kinds(steps)
        self.active = set(self.by)
        while (
            more := {t for step in steps for t, f in zip(*step, strict=True) if self._moves(f)}
            - self.active
        ):
            self.active |= more
        vector = looped.begin.formulas[len(looped.parameters) :]
        given = [*[looped.begin.formulas[k] for k in positions], *vector]
        if any(self.kind(f) != "float" for f in given) or not self.active.isdisjoint(counters):
            raise NotPlainError

    # ---- kinds -----------------------------------------------------------------------------------

    def _find_kinds(self, steps: list[Step]) -> None:
        """Finds the kinds of all numbers: "float", "int", or "any" for what is an int at first and
        then a float."""
        before: dict[int, str] = {}
        while before != self.kinds:
            before = self.kinds.copy()
            for step in steps:
                for target, formula in zip(*step, strict=True):
                    if all(k in self.kinds for k in formula.reads()):
                        kind = self.kind(formula)
                        self.kinds[target] = kind if self.kinds.get(target, kind) == kind else "any"

    def _moves(self, formula: Formula) -> bool:
        return self.kind(formula) != "int" and not self.active.isdisjoint(formula.reads())

    def kind(self, formula: Formula) -> str:
        return self._kinds(formula)[id(formula)]

    def _kinds(self, formula: Formula) -> dict[int, str]:
        """The kind of each node of a formula. Raises NotPlainError where ints have operations of
        their own."""
        kinds: dict[int, str] = {}
        for node in formula:
            given = {kinds[id(a)] for a in node.arguments}
            if node.kind == "number":
                kind = type(node.value).__name__
            elif node.kind == "operand":
                kind = self.kinds.get(node.value, "float")  # tangents and cotangents have none
            elif node.kind == "where":
                sides = {kinds[id(a)] for a in node.arguments[1:]}
                kind = sides.pop() if len(sides) == 1 else "any"
            elif node.kind in COMPARISONS:
                kind = "bool"
            elif "float" in given or OPS[node.kind].integers == "float":
                kind = "float"
            elif node.kind in EXACT_ON_ANY or (node.kind in EXACT_ON_INTS and given == {"int"}):
                kind = "any" if "any" in given else "int"
            else:
                raise NotPlainError
            kinds[id(node)] = kind
        return kinds

    # ---- formulas --------------------------------------------------------------------------------

    def _guarded(self, formula: Formula, guards: bool = True) -> Formula:
        """The formula with ints as the floats that they are where they meet floats; and, with
        `guards`, with a guard around what 64 bits may not hold, and around products that may have
        to be the strict ones: what a condition decides by must be right."""
        made: dict[int, Formula] = {}
        kinds = self._kinds(formula)
        for node in formula:
            new = node
            if node.arguments:
                met = _meeting(
                    node.kind,
                    [made[id(a)] for a in node.arguments],
                    [kinds[id(a)] for a in node.arguments],
                )
                new = Formula(node.kind, node.value, met)
                if guards and node.kind in STRICT:
                    new = Formula("finite", None, (new,))
                elif (
                    guards
                    and kinds[id(node)] in ("int", "any")
                    and node.kind not in ("where", "mod")
                ):
                    new = Formula("whole", None, (new,))
            made[id(node)] = new
        return made[id(formula)]

    # ---- the ways there --------------------------------------------------------------------------

    def value(self) -> Callable[..., Any]:
        """`(*operands) -> value`. All of these functions raise what `REFUSED` says where they give
        up."""
        return self._function(
            self._operands(), self._forward(self._assigned, f"x{self.looped.result}")
        )

    def tangent(self) -> Callable[..., Any]:
        """`(*operands) -> (value, [tangent])`, as the first of the positions moves along the
        vector."""
        result = self.looped.result
        tangent = f"x{2 * self.size + result}" if result in self.active else "0.0"
        return self._function(
            self._operands(),
            self._forward(self._along, f"x{result}, [{tangent}]", self._moves_off()),
        )

    def _moves_off(self) -> list[str]:
        """The lines that begin tangents. Of a number or cotangent they are what comes two sizes
        later."""
        vector, first = self.looped.vector, 2 * self.size
        still = [
            f"x{first + k} = 0.0"
            for k in self.looped.parameters
            if k in self.active and k not in self.by
        ]
        return [*still, f"x{first + self.by[0]} = {'1.0' if vector is None else f'x{vector}'}"]

    def _along(self, step: Step) -> list[str]:
        moving = [(t, f) for t, f in zip(*step, strict=True) if t % self.size in self.active]
        lines, texts = self._texts([*self._values(step), *[self._tangent(f) for _, f in moving]])
        return [
            *lines,
            *_assignment([*step.targets, *[2 * self.size + t for t, _ in moving]], texts),
        ]

    def _tangent(self, formula: Formula) -> Formula:
        if self.follows:
            return followed(
                formula,
                lambda k: (
                    Formula("operand", 2 * self.size + k) if k % self.size in self.active else ZERO
                ),
            )
        first = 2 * self.size
        return pushed(formula, {k: Formula("operand", first + k) for k in self._active_in(formula)})

    def _active_in(self, formula: Formula) -> list[int]:
        """The numbers and cotangents in a formula that move."""
        return sorted([int(k) for k in formula.reads() if int(k) % self.size in self.active])

    def gradient(self, second: bool = False) -> Callable[..., Any]:
        """`(*operands) -> (value, cotangents)` by the parameters at the positions, times the vector
        if there is one. Of one of them, if `second`, `(cotangent, [tangent])` of that instead, as
        the parameter moves along the vector."""
        size, result, operands = self.size, self.looped.result, self._operands()
        forward = self._forward(
            partial(self._kept, second), f"x{result}", self._moves_off() if second else ()
        )
        self.names["record"] = self._function(["push", *operands], forward)
        lines = ["tape = []", f"x{result} = record({', '.join(['tape.append', *operands])})"]
        lines += [
            f"x{size + k} = x{3 * size + k} = 0.0" if second else f"x{size + k} = 0.0"
            for k in sorted(self.active)
        ]
        if self.looped.vector is not None and not second:
            lines += self._assigned(Step((size + result,), self.looped.begin.formulas[-1:]))
        else:
            lines.append(f"x{size + result} = 1.0")
        lines += ["tape.reverse()", *self._back("tape")]
        found = [f"x{size + k}" for k in self.by]
        found = (
            [found[0], f"[x{3 * size + self.by[0]}]"]
            if second
            else [f"x{result}", f"[{', '.join(found)}]"]
        )
        return self._function(operands, [*lines, f"return {', '.join(found)}"])

    def _back(self, steps: str) -> list[str]:
        """The lines that go back over the steps that were kept, the last one first."""
        lines: list[str] = []
        for step, back in enumerate(self._ways_back):
            lines += [f"{'elif' if step else 'if'} step == {step}:", *indented(back)]
        if len(self._ways_back) > 1:
            lines = ["step = item[0]", *lines]
        return [
            f"for item in {steps}:",
            *indented(self._ways_back[0] if len(self._ways_back) == 1 else lines),
        ]

    def _kept(self, second: bool, step: Step) -> list[str]:
        """The lines of a step that is kept for the way back, if one passes it; and that way is
        written."""
        moving = [(t, f) for t, f in zip(*step, strict=True) if t in self.active]
        if not moving:
            return self._assigned(step)
        assigned = self._along if second else self._assigned
        cotangents = self._cotangents(moving)
        following = self._cotangents(
            [(t, followed(f, lambda k: Formula("operand", k))) for t, f in moving]
        )
        formulas = [
            *cotangents.values(),
            *following.values(),
        ]  # of which either may be what goes back over what is kept
        reads = sorted({int(k) for f in formulas for k in f.reads() if int(k) < self.size})
        cotangents = following if self.follows else cotangents
        if second:
            reads += [2 * self.size + k for k in reads if k in self.active]
        saved = "".join([f", x{k}" for k in reads])
        loaded = [f"_{saved} = item"] if reads else []
        back = Step(tuple([self.size + k for k in cotangents]), tuple(cotangents.values()))
        self._ways_back.append([*loaded, *assigned(back)])
        return [f"push(({len(self._ways_back) - 1}{saved or ','}))", *assigned(step)]

    def _cotangents(self, moving: list[tuple[int, Formula]]) -> dict[int, Formula]:
        """The cotangents from before a step, those that it changes, from the ones after it."""
        found: dict[int, Formula] = dict.fromkeys([t for t, _ in moving], ZERO)
        for t, formula in moving:
            shares = differentiate(formula, self.size, Formula("operand", self.size + t))
            for k in self._active_in(formula):
                if shares[k] is not ZERO:
                    found[k] = plus(found.get(k, Formula("operand", self.size + k)), shares[k])
        return {
            k: formula
            for k, formula in found.items()
            if formula.kind != "operand" or formula.value != self.size + k
        }

    # ---- lines -----------------------------------------------------------------------------------

    def _operands(self) -> list[str]:
        return [f"x{k}" for k, _ in self.looped.operands]

    def _forward(
        self, assigned: Callable[[Step], list[str]], result: str, head: Sequence[str] = ()
    ) -> list[str]:
        """The lines that run the function, and end with `return` and the result, or give up."""
        lines = self._lines(self.looped.body, assigned, result, 0)
        return [*self._assigned(self.looped.begin), *head, *lines, "raise OverflowError"]

    def _lines(
        self, parts: list[Part], assigned: Callable[[Step], list[str]], result: str, depth: int
    ) -> list[str]:
        if depth > MAX_NESTING:
            raise NotPlainError
        lines: list[str] = []
        for part in parts:
            if isinstance(part, Step):
                lines += assigned(part)
            elif isinstance(part, Branch):
                begun, (condition,) = self._texts([self._guarded(part.condition)])
                then, otherwise = [
                    self._lines(side, assigned, result, depth + 1)
                    for side in (part.then, part.otherwise)
                ]
                lines += [
                    *begun,
                    f"if {condition}:",
                    *indented(then),
                    *(["else:", *indented(otherwise)] if otherwise else []),
                ]
            elif isinstance(part, Loop):
                body = self._lines(part.body, assigned, result, depth + 1)
                if part.counter is None:
                    begun, (condition,) = self._texts([self._guarded(part.condition)])
                    lines += [
                        "while True:",
                        *indented([*begun, f"if not {condition}: break", *body]),
                    ]
                else:
                    if any(self.kind(bound) != "int" for bound in part.bounds):
                        raise NotPlainError
                    begun, bounds = self._texts([self._guarded(bound) for bound in part.bounds])
                    lines += [
                        *begun,
                        f"for x{part.counter} in range({', '.join(bounds)}):",
                        *indented(body),
                    ]
            else:
                lines.append(
                    {"return": f"return {result}", "raise": "raise OverflowError"}.get(
                        part.word, part.word
                    )
                )
        return lines

    def _assigned(self, step: Step) -> list[str]:
        lines, texts = self._texts(self._values(step))
        return [*lines, *_assignment(step.targets, texts)]

    def _values(self, step: Step) -> list[Formula]:
        return [self._guarded(f, guards=t < self.size) for t, f in zip(*step, strict=True)]

    def _texts(self, formulas: list[Formula]) -> tuple[list[str], list[str]]:
        """The lines that compute formulas, and the expressions that then have their values."""
        source = FormulaSource(arrays=False, fast=self.fast)
        texts = source.values(formulas)
        by_name = fast_by_name if self.fast else scalar_by_name
        self.names.update(source.found(lambda name: GUARDS.get(name) or by_name(name)))
        return source.lines, texts

    def _function(self, parameters: list[str], lines: list[str]) -> Callable[..., Any]:
        names = self.names.copy()
        body = "".join(f"    {line}\n" for line in lines)
        return function_of(f"def run({', '.join(parameters)}):\n{body}", "<loops>", names)


def followed(formula: Formula, leaf: Callable[[int], Formula]) -> Formula:
    """A sum of all that a formula depends on, on the same sides of its choices: of what `leaf`
    gives for its operands."""
    made: dict[int, Formula] = {}
    for node in formula:
        new = leaf(int(node.value)) if node.kind == "operand" else ZERO
        if node.kind == "where":
            new = Formula(
                "where", None, (node.arguments[0], *[made[id(a)] for a in node.arguments[1:]])
            )
        elif node.arguments and (op := OPS[node.kind]).differentiable and op.integers != "bool":
            for k, a in enumerate(node.arguments):
                new = (
                    plus(new, made[id(a)])
                    if op.partials[k] is not None and a.kind != "number"
                    else new
                )
        made[id(node)] = new
    return made[id(formula)]


def _meeting(op: str, arguments: list[Formula], kinds: list[str]) -> tuple[Formula, ...]:
    """Arguments of these kinds with ints as floats where the op has them so and Python hasn't:
    Python compares and divides ints as they are, and a product with 1.0 isn't computed at all
    (`simplified`)."""
    if op in COMPARISONS and "float" not in kinds:
        return tuple(
            [
                Formula("settled", None, (a,)) if "any" in kinds and a.kind != "number" else a
                for a in arguments
            ]
        )
    has_one = any(is_number(a, 1.0) for a in arguments)
    left_out = op in ("mul", "pow") and "float" in kinds and has_one
    if op in COMPARISONS or op == "div" or left_out:
        return tuple(
            [
                a if kind == "float" else _as_float(a)
                for a, kind in zip(arguments, kinds, strict=True)
            ]
        )
    return tuple(arguments)


def _as_float(formula: Formula) -> Formula:
    return (
        Formula("number", float(formula.value))
        if formula.kind == "number"
        else Formula("float", None, (formula,))
    )


def _assignment(numbers: Sequence[int], texts: list[str]) -> list[str]:
    return [f"{', '.join([f'x{k}' for k in numbers])} = {', '.join(texts)}"] if numbers else []


def indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines or ["pass"]]
