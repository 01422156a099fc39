"""Generates the function of a fused expression (`fusion.py`), specialised to kinds of operands.

Its source contains generated names only: operands come from frames, and numbers of the program are
constants.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any, NamedTuple

from ...diagnostics import Span
from ...ops.formula import Formula
from ...ops.op import Op
from ..analysis.inlined_calls import HIGHER, INLINED
from ..backends.backend import INT_MAX, INT_MIN
from ..formulas.compound import EXPRESSION, compound
from ..formulas.differentiation import ZERO, differentiate, pushed, substitute
from ..formulas.formula_source import REFUSED, FormulaSource, function_of
from ..formulas.functions import fast_by_name, scalar_function
from ..formulas.reading import forward_formula
from ..interpreter.scalar_closures import EXACT_ON_INTS, INFIX
from ..operations.apply import apply
from ..operations.scalar_calls import Operand, call_lines
from ..trace.tape import Site
from ..values.boxes import Dual, primal
from ..values.kinds import Variable
from .plan import MISS, Leaf, Operation, Plan, returned_leaves


def write(plan: Plan, kinds: tuple[str, ...]) -> Callable[..., Any] | None:
    """The function `(frame, *values of the closures among the leaves) -> value or MISS` for leaves
    of these kinds (`fusion.kinds_of`). None where an int result needs `apply`, or the kinds can't
    be combined."""
    if "boxed" in kinds or {"dual", "traced"} <= set(kinds):
        kinds = tuple([kind if kind in ("float", "int") else "boxed" for kind in kinds])
    writer = _Writer(plan.leaves, kinds, returned=returned_leaves(plan))
    results = writer.results(plan.ops)
    return None if results is None else writer.function(plan.ops[-1].site.span, results[-1])


class _Value(NamedTuple):
    """An operand or result in the source: an expression and its kind, "float" or "int"; or, if it
    depends on a boxed leaf, its formula in the operands of the whole expression."""

    text: str
    kind: str
    formula: Formula | None = None


class _Writer:
    """Collects the source, operation by operation. If one of the leaves `returned` is a variable
    and the value is its number unchanged, the value has to be the variable, so the function returns
    MISS."""

    def __init__(
        self,
        leaves: list[Leaf],
        kinds: tuple[str, ...],
        returned: Container[int] = (),
    ) -> None:
        self.names: dict[str, Any] = {
            "Variable": Variable,
            "Dual": Dual,
            "apply": apply,
            "primal": primal,
            "MISS": MISS,
        }
        self.names.update(INT_MIN=INT_MIN, INT_MAX=INT_MAX)
        self.kinds = kinds
        self.read = False  # whether an inlined call is part of it
        self.head: list[str] = []  # what brings the leaves into locals
        self.inactive: list[str] = []  # what computes the operations on what isn't boxed
        self.operands: list[Operand] = []
        self.values: list[_Value] = []
        self.given = [f"v{k}_" for k, leaf in enumerate(leaves) if leaf.kind == "closure"]
        self._formulas: dict[str, Formula] = {}  # of the operands, by the text of their primals
        self._returned = [
            k for k, kind in enumerate(kinds) if k in returned and kind in ("float", "int")
        ]
        for k, (leaf, kind) in enumerate(zip(leaves, kinds, strict=True)):
            if leaf.kind != "closure":
                self.head.append(
                    f"v{k}_ = frame[{leaf.value}]" + ("[0]" if leaf.kind == "cell" else "")
                )
                is_variable = f"type(v{k}_) is Variable"
                if k in self._returned:
                    self.head.append(f"is{k}_ = {is_variable}")
                is_lost = (
                    k in returned and k not in self._returned
                )  # a traced value, which becomes another on the way
                self.head.append(
                    f"if {is_variable}: " + ("return MISS" if is_lost else f"v{k}_ = v{k}_.box")
                )
            self.values.append(self._leaf(f"v{k}_", k, kind))

    def _leaf(self, name: str, k: int, kind: str) -> _Value:
        if kind in ("float", "int"):
            self.head.append(f"if type({name}) is not {kind}: return MISS")
            return _Value(name, kind)
        if kind == "traced":
            self.head += [
                f"if type({name}) is not tuple: return MISS",
                f"p{k}_, n{k}_, o{k}_ = {name}",
            ]
            self.head.append(f"if type(p{k}_) is not float: return MISS")
            operand = Operand(f"p{k}_", f"n{k}_", f"o{k}_")
        elif kind == "dual":
            self.head.append(f"if type({name}) is not Dual: return MISS")
            self.head.append(f"p{k}_ = {name}.primal; d{k}_ = {name}.tangent")
            self.head.append(
                f"if type(p{k}_) is not float or type(d{k}_) is not float: return MISS"
            )
            operand = Operand(f"p{k}_", f"d{k}_", name)
        else:
            self.head.append(
                f"if type({name}) is not tuple and type({name}) is not Dual: return MISS"
            )
            operand = Operand(name, name)
        return _Value("", "float", self._operand(operand))

    def _operand(self, operand: Operand) -> Formula:
        if operand.primal not in self._formulas:
            self._formulas[operand.primal] = Formula("operand", len(self.operands))
            self.operands.append(operand)
        return self._formulas[operand.primal]

    def results(self, ops: list[Operation]) -> list[_Value] | None:
        """Of the operations one after the other; None where one can't be computed here."""
        results: list[_Value] = []
        for j, op in enumerate(ops):
            result = self.compute(
                j, op.site.op, [self.operand(ref, results) for ref in op.operands]
            )
            if result is None:
                return None
            results.append(result)
        return results

    def operand(self, ref: tuple[str, Any], results: list[_Value]) -> _Value:
        kind, value = ref
        if kind != "number":
            return (self.values if kind == "leaf" else results)[int(value)]
        return self._number(value)

    def _number(self, value: Any) -> _Value:
        name = f"c{len(self.names)}_"
        self.names[name] = value
        return _Value(name, type(value).__name__)

    def compute(self, j: int, op: Op, operands: list[_Value]) -> _Value | None:
        """One operation: a line if no operand is boxed, otherwise a formula. None for an operation
        that only the interpreter can do."""
        is_inlined = op.name == INLINED
        if is_inlined and any(operand.kind == "int" for operand in operands):
            return None
        if any(operand.formula is not None for operand in operands):
            formulas = [self._constant(o) if o.formula is None else o.formula for o in operands]
            if is_inlined:
                formula = substitute(forward_formula(op), dict(enumerate(formulas)))
                if op.category == HIGHER and self._loses(formula, formulas):
                    return None
                if formula.kind == "number":
                    # Not a constant of the formula: a product with it must make floats of ints.
                    self.inactive.append(f"t{j}_ = {self._number(formula.value).text}")
                    return _Value(f"t{j}_", "float")
                self.read = True
                return _Value("", "float", formula)
            return _Value("", "float", Formula(op.name, None, tuple(formulas)))
        on_ints = all(operand.kind == "int" for operand in operands)
        texts = [operand.text for operand in operands]
        kind = "float"
        if len(texts) == 2 and op.name in INFIX:
            if on_ints and op.integers == "float":  # Python divides ints as they are
                texts = [f"float({text})" for text in texts]
            expression = f"{texts[0]} {INFIX[op.name]} {texts[1]}"
            kind = "int" if on_ints and op.name in EXACT_ON_INTS else "float"
        elif op.name == "neg":
            expression, kind = f"-{texts[0]}", operands[0].kind
        elif on_ints and op.integers == "keep":
            return None
        else:
            self.names[f"f{j}_"] = scalar_function(op) if is_inlined else fast_by_name(op.name)
            expression = f"f{j}_({', '.join(texts)})"
        self.inactive.append(f"t{j}_ = {expression}")
        if is_inlined:  # products in a derivative may have to be strict
            self.inactive.append(f"if t{j}_ - t{j}_ != 0.0: return MISS")
        if kind == "int":
            self.inactive.append(f"if not INT_MIN <= t{j}_ <= INT_MAX: return MISS")
        return _Value(f"t{j}_", kind)

    def _loses(self, formula: Formula, operands: list[Formula]) -> bool:
        """Whether the formula of a derivative doesn't depend on an operand that was given. Its
        gradient would then be none, where it may be 0: the rules read more than the formula."""
        partials = dict(enumerate(differentiate(formula, len(self.operands))))
        given = set[int | str]().union(*[operand.reads() for operand in operands])
        return any(partials[int(k)] is ZERO for k in given)

    def _constant(self, value: _Value) -> Formula:
        """A value that isn't boxed, as a part of a formula: a number or an operand."""
        if value.text in self.names:
            return Formula("number", self.names[value.text])
        return self._operand(Operand(value.text))

    def function(self, span: Span, result: _Value) -> Callable[..., Any]:
        lines: list[str] = []
        result = self._without_unread(result, lines)
        if result.formula is None:
            lines += [
                "try:",
                *[f"    {line}" for line in self.inactive],
                f"{REFUSED}: return MISS",
                *self.returning(result.text),
            ]
        elif not any(operand.number for operand in self.operands):
            lines += self._without_boxes(result.formula)
        elif "dual" in self.kinds:
            lines += self._with_tangent(result.formula)
        else:
            op = compound(EXPRESSION, result.formula, len(self.operands))
            site = Site(op, span)
            if "boxed" in self.kinds:
                self.names["site"] = site
                lines += [
                    "try:",
                    "    pass",
                    *[f"    {line}" for line in self.inactive],
                    f"{REFUSED}: return MISS",
                ]
                values = ", ".join([operand.primal for operand in self.operands])
                lines.append(f"y = apply(frame[0], site, ({values},))")
                if self.read:
                    lines += [
                        "p = primal(y)",
                        "if type(p) is not float or p - p != 0.0: return MISS",
                    ]
                lines.append("return y")
            else:
                active = tuple([k for k, operand in enumerate(self.operands) if operand.number])
                active_site = self.names["active"] = site.on(active)
                active_site.scalar = True
                lines += call_lines(
                    self.names, op, self.operands, "return MISS", "return MISS", self.inactive
                )
        return self.compiled(lines)

    def returning(self, value: str) -> list[str]:
        """The lines that return a value, or MISS if it has to be a variable."""
        return [
            *[f"if is{k}_ and {value} is v{k}_: return MISS" for k in self._returned],
            f"return {value}",
        ]

    def compiled(self, lines: list[str]) -> Callable[..., Any]:
        parameters = ", ".join(["frame", *self.given])
        source = f"def hot({parameters}):\n" + "".join(
            f"    {line}\n" for line in (*self.head, *lines)
        )
        return function_of(source, "<fused expression>", self.names)

    def _without_unread(self, result: _Value, lines: list[str]) -> _Value:
        """The result without the operands that it doesn't read. Where several windows are open the
        function returns MISS, as a real call may record uses of these operands."""
        if result.formula is None or len(reads := sorted(result.formula.reads(), key=int)) == len(
            self.operands
        ):
            return result
        lines += [
            f"if len({self.operands[k].origin}.trace.windows) > 1: return MISS"
            for k in range(len(self.operands))
            if k not in reads and "traced" in self.kinds and self.operands[k].number
        ]
        self.operands = [self.operands[int(k)] for k in reads]
        places: dict[int | str, Formula] = {k: Formula("operand", j) for j, k in enumerate(reads)}
        return _Value("", "float", substitute(result.formula, places))

    def _without_boxes(self, formula: Formula) -> list[str]:
        """The lines that compute a value whose formula has no boxed operands left."""
        source = FormulaSource(arrays=False, fast=True)
        source.lines += [f"x{k} = {operand.primal}" for k, operand in enumerate(self.operands)]
        source.lines.append(f"y = {source.value(formula)}")
        self.names.update(source.found(fast_by_name))
        lines = [*self.inactive, *source.lines]
        found = ["if y - y != 0.0: return MISS", *self.returning("y")]
        return ["try:", *[f"    {line}" for line in lines], f"{REFUSED}: return MISS", *found]

    def _with_tangent(self, formula: Formula) -> list[str]:
        """The lines that compute a value and its tangent from duals of one level."""
        source = FormulaSource(arrays=False, fast=True)
        duals = [k for k, operand in enumerate(self.operands) if operand.number]
        for k, operand in enumerate(self.operands):
            source.lines.append(f"x{k} = {operand.primal}")
        n = len(self.operands)
        for position, k in enumerate(duals):
            source.lines.append(f"x{n + position} = {self.operands[k].number}")
        tangents = {k: Formula("operand", n + position) for position, k in enumerate(duals)}
        value, tangent = source.values([formula, pushed(formula, tangents)])
        self.names.update(source.found(fast_by_name))
        first, *others = [self.operands[k].origin for k in duals]
        return [
            f"level = {first}.level",
            "if level <= frame[0].paused: return MISS",
            *[f"if {other}.level != level: return MISS" for other in others],
            "try:",
            *[
                f"    {line}"
                for line in (*self.inactive, *source.lines, f"y = {value}", f"t = {tangent}")
            ],
            f"{REFUSED}: return MISS",
            "if t - t != 0.0: return MISS",  # products may have to be strict
            "return Dual(y, t, level)",
        ]
