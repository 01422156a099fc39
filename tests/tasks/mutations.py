"""Programs with a derivative rule that is wrong, of every kind: in each entry of the op table, and
in rules of their own.

Run as a program (`python -m tests.tasks.mutations [table] [programs] [arrays]`) it checks all of
them, with SymPy and without, and names those that pass although their gradient is wrong by more
than CAUGHT.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import numpy as np

from gradcli.diagnostics import Source
from gradcli.ops.op import Op
from gradcli.tasks.check.checking import check
from gradcli.tasks.check.results import METHODS, Check, CheckOptions
from gradcli.tasks.evaluate import evaluate
from gradcli.tasks.evaluation import Options
from gradcli.tasks.programs import parse_program

from ..ops.exact import REAL, points
from ..ops.structural_calls import CALLS, movable
from .planting import Mutation, planted

CAUGHT = 1e-9  # of a gradient: a change that no check may pass over

# What is wrong with a rule, by name: a function of its right value. `m` are the functions of the
# language, `x` is the operand.
MUTATIONS: dict[str, Mutation] = {
    "tiny": lambda m, value, x: value * (1.0 + 4e-9),
    "factor": lambda m, value, x: value * 1.001,
    "sign": lambda m, value, x: -value,
    "missing": lambda m, value, x: value * 0.0,
    "constant": lambda m, value, x: value + 1e-4,
    "squared": lambda m, value, x: value * value,
    "above": lambda m, value, x: value * m.where(x > 0.0, 1.01, 1.0),
    "below": lambda m, value, x: value * m.where(x < 0.0, 1.01, 1.0),
    "small": lambda m, value, x: value + 1e-7 * x,
}
SEVERAL = ("qr", "svd", "eigh")  # which give a list
BY_VALUE = ("above", "below", "small")  # which look at the operand


class Mutant(NamedTuple):
    """A program that has a rule which is wrong, in a context that makes it so or in its text; and
    the text with the right rule."""

    name: str
    text: str
    right: str
    wrong: Callable[[], AbstractContextManager[None]] = nullcontext
    order: int = 1


# ---- entries of the table ------------------------------------------------------------------------

# Where an operation stands, as the lines that make `y` of it: in a function, in a loop, in rows.
PLACES: dict[str, str] = {
    "alone": "y = {call}",
    "inside": "y = exp(0.1 * sin({call})) * 1.5",
    "function": "fn f({x}) = {call}\ny = f({x}) * 1.5",
    "loop": "s = 0.1\nfor i in range(4) {{ s = 0.5 * s + {call} }}\ny = s",
    "while": "s = 0.1\nk = 0\nwhile k < 3 {{ s = 0.5 * s + {call}; k = k + 1 }}\ny = s",
    "branch": "if {x} < 1e9 {{ y = {call} }} else {{ y = {x} }}",
    "rows": "y = sum(vmap(fn({x}) = {call})([1.0, 1.01, 0.99] * {x}))",
    "array": "y = sum([1.0, 0.7, 1.3] * vmap(fn({x}) = {call})([1.0, 1.01, 0.99] * {x}))",
}


def elementwise() -> Iterator[tuple[Op, int, str, str]]:
    """Every public elementwise entry and operand: the entry, the operand, and its program's
    declarations and call."""
    for op in REAL:
        if op.internal:
            continue
        for number, operands in enumerate(points(op)[:2]):
            names = [
                f"x{j}" if op.partials[j] is not None else repr(int(v))
                for j, v in enumerate(operands)
            ]
            lines = [
                f"var x{j} = {v!r}" for j, v in enumerate(operands) if op.partials[j] is not None
            ]
            if op.infix.startswith("unary"):
                call = f"({op.infix[-1]}({names[0]}))"
            else:
                call = (
                    f"({f' {op.infix} '.join(names)})"
                    if op.infix
                    else f"{op.name}({', '.join(names)})"
                )
            for k in range(len(op.partials)):
                if op.partials[k] is not None:
                    yield op, k, "\n".join(lines), call
            if number and len(op.partials) > 1:
                break


def structural() -> Iterator[tuple[Op, int, str, str]]:
    """The public structural entries on the operands of their tests, where they can be written
    down."""
    for op, operands, options in CALLS:
        if op.internal or op.infix or op.signature.variadic:
            continue
        try:
            declared = [
                f"var x{k} = {written(v)}"
                for k, v in enumerate(operands)
                if k in movable(op, operands)
            ]
            given = [
                f"x{k}" if k in movable(op, operands) else written(v)
                for k, v in enumerate(operands)
            ]
            named = [f"{name} = {written(value)}" for name, value in options.items()]
        except TypeError:
            continue
        if op.name == "pad":
            given = given[:1]  # `width` comes second, and what is filled in by name
        if op.name == "full":
            given = [f"value = {given[0]}"]  # `shape` comes first
        call = f"{op.name}({', '.join([*given, *named])})"
        parts = (
            "sum(sin({0}[0] + 0.2)) + sum(cos({0}[1] + 0.2))"
            if op.name in SEVERAL
            else "sum(sin({0}))"
        )
        for k in movable(op, operands):
            yield op, k, "\n".join(declared), parts.format(call)


def written(value: Any) -> str:
    """A value as the language writes it. Raises TypeError for anything but real numbers, bools,
    strings and lists of them."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "fi" and value.size < 200:
        return written(value.tolist())
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(written, value))}]"
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, int | float | np.floating) and value == value:
        return repr(float(value)) if not isinstance(value, int) else str(value)
    raise TypeError(value)


def of_the_table() -> Iterator[Mutant]:
    """Each entry, wrong in each way, in one place after the other."""
    places = list(PLACES.items())
    for number, (op, k, declared, call) in enumerate([*elementwise(), *structural()]):
        for turn, (name, mutation) in enumerate(MUTATIONS.items()):
            if not op.elementwise and name in BY_VALUE:
                continue  # not every structural rule has the values of its operands
            place, lines = places[(number + turn) % len(places)] if op.elementwise else places[0]
            text = f"{declared}\n{lines.format(call=call, x=f'x{k}')}\noutput y"
            yield Mutant(
                f"{op.name} {k} {name} {place}",
                text,
                text,
                lambda op=op, m=mutation, k=k: planted(op, m, k),
            )


# ---- rules of programs ---------------------------------------------------------------------------

# A body and its right rule, and what that becomes: {term} is right, and each of WRONG puts
# something else in its place.
RULES = {
    "square": ("a", "a**2", "dy * 2 * a"),
    "product": ("a", "sin(a) * a", "dy * (cos(a) * a + sin(a))"),
    "root": ("a", "sqrt(a + 3)", "dy * 0.5 / sqrt(a + 3)"),
}
WRONG = {
    "tiny": "({rule}) * (1 + 4e-9)",
    "factor": "({rule}) * 1.001",
    "sign": "-({rule})",
    "missing": "0.0 * dy",
    "zero": "dy * 0.0 + ({rule}) * 0.5",
    "constant": "({rule}) + 1e-3",
    "small constant": "({rule}) + 1e-8",
    "clipped": "clip({rule}, -1e-3, 1e-3)",
    "clipped far away": "clip({rule}, -50.0, 50.0)",
    "size": "abs({rule})",
    "squared": "({rule}) * dy",
    "one side": "({rule}) * where(a > 0, 1.01, 1.0)",
    "other side": "({rule}) * where(a < 0, 1.01, 1.0)",
    "of the value": "({rule}) + 1e-7 * dy * a",
    "nan at the edge": "({rule}) * where(a == {at}, nan, 1.0)",
    "wrong at the edge": "({rule}) + where(a == {at}, 1e-3, 0.0) * dy",
    "inf": "({rule}) / 0.0",
}
SECOND = {
    "detached": "detach({rule}) + 0.0 * a * dy",
    "bent": "({rule}) + 0.01 * (a - detach(a)) * dy",
}
OWN_PLACES = {
    **PLACES,
    "in a derivative": "g = grad(fn({x}) = {call} * {x})({x})\ny = g + {x}",
    "of one element": "v = [{x}, 2.0 * {x}, 0.3]\ny = sum([{call}, v[1]**2, v[2]])",
    "nested": "fn g({x}) {{ s = 0.0; for i in range(3) {{ if i != 1 {{ s = s + {call} }} }}; return s }}\n"
    "y = g({x}) * g(0.7 * {x})",
}


def of_programs() -> Iterator[Mutant]:
    """Programs with a rule of their own that is wrong."""
    number = 0
    for rule, (parameter, body, right) in RULES.items():
        for at in ("0.7", "-0.4", "0.0"):
            for (wrong, text), order in [
                *((w, 1) for w in WRONG.items()),
                *((w, 2) for w in SECOND.items()),
            ]:
                for place, lines in list(OWN_PLACES.items())[number % 3 :: 3]:
                    rest = f"var x = {at}\n{lines.format(call='h(x)', x='x')}\noutput y"
                    mutant, whole = (
                        f"fn h({parameter}) {{ return {body} }} backward (dy) {{ return {made} }}\n{rest}"
                        for made in (text.format(rule=right, at=at), right)
                    )
                    yield Mutant(f"{rule} {wrong} at {at} {place}", mutant, whole, order=order)
                number += 1


ARRAYS = {
    "one element": "dy * 2 * a * (1 + 1e-3 * ({k} == arange(a.size)))",
    "one element, constant": "dy * 2 * a + [0.0, 0.0, 1e-3, 0.0, 0.0, 0.0][:a.size]",
    "last element missing": "dy * 2 * a * (arange(a.size) != a.size - 1)",
    "shifted": "roll(dy * 2 * a, 1)",
    "flipped": "flip(dy) * 2 * a",
    "mean": "dy * 2 * a / a.size",
    "only for short ones": "dy * 2 * a * (1.01 if a.size < 4 else 1.0)",
    "only for long ones": "dy * 2 * a * (1.01 if a.size > 4 else 1.0)",
    "only in the plane": "dy * 2 * a * (1.01 if a.ndim == 2 else 1.0)",
    "of the sum": "0.0 * dy + sum(dy) * 2 * a",
}
SWAPPED = {
    "swapped": "[dy * a**2, dy * 2 * a * b]",
    "one missing": "[dy * 2 * a * b, none]",
    "one zero": "[dy * 2 * a * b, 0.0 * dy]",
    "the other's sign": "[dy * 2 * a * b, -dy * a**2]",
}


def of_arrays() -> Iterator[Mutant]:
    """Rules that are wrong for one element, one shape, or one of several parameters."""
    values = {
        "short": "[0.3, -1.2, 2.0]",
        "long": "[0.3, -1.2, 2.0, 0.7, 1.5, -0.2]",
        "plane": "[[0.3, -1.2], [2.0, 0.7]]",
    }
    for name, rule in ARRAYS.items():
        for shape, value in values.items():
            if shape == "plane" and ("element" in name or name in ("shifted", "flipped")):
                continue
            mutant, whole = (
                f"fn h(a) {{ return a**2 }} backward (dy) {{ return {made} }}\nvar x = {value}\ny = sum(sin(h(x)))\noutput y"
                for made in (rule.format(k=1), "dy * 2 * a")
            )
            yield Mutant(f"{name} {shape}", mutant, whole)
    for name, rule in SWAPPED.items():
        rest = "var x = 1.5\nvar z = 0.8\ny = h(x, z) + z\noutput y"
        mutant, whole = (
            f"fn h(a, b) {{ return a**2 * b }} backward (dy) {{ return {made} }}\n{rest}"
            for made in (rule, "[dy * 2 * a * b, dy * a**2]")
        )
        yield Mutant(name, mutant, whole)


# ---- the campaign --------------------------------------------------------------------------------


def change(mutant: Mutant) -> float:
    """How far a wrong rule takes the gradients, relative to the largest of their elements; inf
    where one is no longer finite."""
    options = Options(mode="reverse", hessian=mutant.order == 2)
    right = _derivatives(mutant.right, options)
    with mutant.wrong():
        wrong = _derivatives(mutant.text, options)
    return max((_apart(right[name], wrong[name]) for name in right), default=0.0)


def _derivatives(text: str, options: Options) -> dict[str, Any]:
    found = evaluate(parse_program(Source("<program>", text)), {}, options)
    tables = {"": found.gradients, "2": found.hessians}
    return {
        name + order: value
        for order, table in tables.items()
        for name, value in table.get("y", {}).items()
    }


def _apart(a: Any, b: Any) -> float:
    if a is None or b is None:
        return 0.0 if a is b else np.inf
    a, b = np.asarray(a), np.asarray(b)
    if not np.isfinite(a).all():
        return 0.0  # there was nothing to get wrong
    if not np.isfinite(b).all():
        return float("inf")
    return float(np.max(abs(a - b), initial=0.0) / max(np.max(abs(a), initial=0.0), 1e-300))


def checked(mutant: Mutant, sympy: bool = True) -> Check:
    methods = tuple(m for m in METHODS if sympy or m != "sympy")
    options = CheckOptions(methods=methods, order=mutant.order)
    with mutant.wrong():
        return check(parse_program(Source("<mutant>", mutant.text)), {}, options)


def is_green(found: Check) -> bool:
    """Whether a check says that all is well."""
    return found.exit_code == 0 and "undecided" not in {result.verdict for result in found.results}


KINDS = {"table": of_the_table, "programs": of_programs, "arrays": of_arrays}


def passing(
    mutants: Iterable[Mutant], with_sympy: Iterable[bool] = (True, False)
) -> Iterator[tuple[Mutant, str]]:
    """Each of these rules that changes a gradient, with what is wrong with its checks: "" where
    they catch it."""
    for mutant in mutants:
        if change(mutant) > CAUGHT:
            passed = [sympy for sympy in with_sympy if is_green(checked(mutant, sympy))]
            yield (
                mutant,
                "" if not passed else "passes with SymPy" if passed[0] else "passes without SymPy",
            )


def main() -> int:
    names = sys.argv[1:] or list(KINDS)
    count, missed = 0, []
    for mutant, fault in passing(mutant for name in names for mutant in KINDS[name]()):
        count += 1
        if fault:
            missed.append(mutant)
            print(f"{mutant.name}: {fault}\n    " + mutant.text.replace("\n", "\n    "), flush=True)
    print(f"{count} wrong rules, {len(missed)} of them not caught")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
