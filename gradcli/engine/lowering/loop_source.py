"""Generates functions of the loops that `loop_bodies.py` describes: of the value, of the value and
its tangent, and of the value and its gradient.

The gradient's function keeps the residuals of each active step on a tape, and then runs the
pullbacks of these steps, newest first, whatever loops and branches they came from. The source
contains generated names only. Where Python refuses an operation, an int doesn't fit into 64 bits or
a number isn't finite, the function raises, and the interpreter takes over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ...ops import OPS
from ...ops.formula import Formula
from ..analysis.frames import COMPARISONS
from ..analysis.inlined_derivatives import NotInlinedError
from ..analysis.loop_parts import Branch, Loop, Looped, Part, Step, list_parts
from ..formulas.differentiation import ZERO, differentiate, plus, pushed
from ..formulas.formula_source import STRICT, FormulaSource, function_of
from ..formulas.functions import fast_by_name, scalar_by_name
from ..interpreter.scalar_closures import EXACT_ON_INTS
from .guards import GUARDS, with_floats

EXACT_ON_ANY = frozenset(
    ("add", "sub", "mul", "neg", "pos", "abs", "square")
)  # ops that are exact on floats and ints as Python computes them
MAX_NESTING = 15  # of loops and branches; Python allows 20


class LoopWriter:
    """Generates the functions for operands of these kinds, "float" or "int", in the order of
    `looped`; derivatives are by the parameters at the positions."""

    fast = True  # whether Python's own functions and plain products are used
    follows = (
        False  # whether derivatives are replaced by activity: numbers above 0 where they exist
    )

    def __init__(self, looped: Looped, kinds: Sequence[str], positions: Sequence[int]) -> None:
        self.looped, self.size = looped, looped.size
        self.names: dict[str, Any] = {}
        self.by = [looped.parameters[k] for k in positions]
        self._pullbacks: list[list[str]] = []  # the lines of the pullback of each active step
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
            raise NotInlinedError

    # ---- kinds -----------------------------------------------------------------------------------

    def _find_kinds(self, steps: list[Step]) -> None:
        """Finds the kinds of all numbers: "float", "int", or "any" for a number that is an int at
        first and a float later."""
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
        """The kind of each node of a formula. Raises NotInlinedError for operations that compute
        ints in their own way."""
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
                raise NotInlinedError
            kinds[id(node)] = kind
        return kinds

    # ---- formulas --------------------------------------------------------------------------------

    def _guarded(self, formula: Formula, guards: bool = True) -> Formula:
        """The formula with ints converted to floats where they meet floats. With `guards` it raises
        for ints that may not fit into 64 bits, and for products that may have to be strict, as
        conditions must be decided by right values."""
        made: dict[int, Formula] = {}
        kinds = self._kinds(formula)
        for node in formula:
            new = node
            if node.arguments:
                met = with_floats(
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

    # ---- functions -------------------------------------------------------------------------------

    def value(self) -> Callable[..., Any]:
        """`(*operands) -> value`. All of these functions raise an exception of `REFUSED` where the
        interpreter must take over."""
        return self._function(
            self._operands(), self._forward(self._assigned, f"x{self.looped.result}")
        )

    def tangent(self) -> Callable[..., Any]:
        """`(*operands) -> (value, [tangent])`, where the first of the parameters moves along the
        vector."""
        result = self.looped.result
        tangent = f"x{2 * self.size + result}" if result in self.active else "0.0"
        return self._function(
            self._operands(),
            self._forward(self._along, f"x{result}, [{tangent}]", self._moves_off()),
        )

    def _moves_off(self) -> list[str]:
        """The lines that initialise tangents. The tangent of number `k` is number `2 * size + k`,
        also if that is a cotangent."""
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
            return activity(
                formula,
                lambda k: (
                    Formula("operand", 2 * self.size + k) if k % self.size in self.active else ZERO
                ),
            )
        first = 2 * self.size
        return pushed(formula, {k: Formula("operand", first + k) for k in self._active_in(formula)})

    def _active_in(self, formula: Formula) -> list[int]:
        """The numbers and cotangents in a formula that depend on the parameters."""
        return sorted([int(k) for k in formula.reads() if int(k) % self.size in self.active])

    def gradient(self, second: bool = False) -> Callable[..., Any]:
        """`(*operands) -> (value, cotangents)` by the parameters at the positions, times the vector
        if there is one. With `second` it is `(cotangent, [tangent])` for a single parameter, which
        moves along the vector."""
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
        """The lines that run the pullbacks of the steps on a tape, which has the newest first."""
        lines: list[str] = []
        for step, back in enumerate(self._pullbacks):
            lines += [f"{'elif' if step else 'if'} step == {step}:", *indented(back)]
        if len(self._pullbacks) > 1:
            lines = ["step = item[0]", *lines]
        return [
            f"for item in {steps}:",
            *indented(self._pullbacks[0] if len(self._pullbacks) == 1 else lines),
        ]

    def _kept(self, second: bool, step: Step) -> list[str]:
        """The lines of a step, which keep its residuals if it is active. Adds the lines of its
        pullback."""
        moving = [(t, f) for t, f in zip(*step, strict=True) if t in self.active]
        if not moving:
            return self._assigned(step)
        assigned = self._along if second else self._assigned
        cotangents = self._cotangents(moving)
        following = self._cotangents(
            [(t, activity(f, lambda k: Formula("operand", k))) for t, f in moving]
        )
        formulas = [
            *cotangents.values(),
            *following.values(),
        ]  # the residuals serve both pullbacks
        reads = sorted({int(k) for f in formulas for k in f.reads() if int(k) < self.size})
        cotangents = following if self.follows else cotangents
        if second:
            reads += [2 * self.size + k for k in reads if k in self.active]
        saved = "".join([f", x{k}" for k in reads])
        loaded = [f"_{saved} = item"] if reads else []
        back = Step(tuple([self.size + k for k in cotangents]), tuple(cotangents.values()))
        self._pullbacks.append([*loaded, *assigned(back)])
        return [f"push(({len(self._pullbacks) - 1}{saved or ','}))", *assigned(step)]

    def _cotangents(self, moving: list[tuple[int, Formula]]) -> dict[int, Formula]:
        """The cotangents before a step that differ from those after it, as formulas of these."""
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
        """The lines that run the function: they return the result, or raise."""
        lines = self._lines(self.looped.body, assigned, result, 0)
        return [*self._assigned(self.looped.begin), *head, *lines, "raise OverflowError"]

    def _lines(
        self, parts: list[Part], assigned: Callable[[Step], list[str]], result: str, depth: int
    ) -> list[str]:
        if depth > MAX_NESTING:
            raise NotInlinedError
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
                        raise NotInlinedError
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


def activity(formula: Formula, leaf: Callable[[int], Formula]) -> Formula:
    """The activity of a formula: the sum of what `leaf` gives for the operands that its value
    depends on, with the same `where`."""
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


def _assignment(numbers: Sequence[int], texts: list[str]) -> list[str]:
    return [f"{', '.join([f'x{k}' for k in numbers])} = {', '.join(texts)}"] if numbers else []


def indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines or ["pass"]]
