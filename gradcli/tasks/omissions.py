"""What an answer lacks, and says so: gradients of outputs that get none unasked, gradients by
variables and of outputs that can't have any, and numbers that aren't finite."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..diagnostics import Diagnostic
from ..engine.backends.backend import dtype_name, is_complex, is_inexact
from ..engine.values.boxes import primal
from ..engine.values.contents import is_finite
from ..engine.values.kinds import describe, differentiable, is_number, leaves, read
from ..naming import halves, on_screen
from .evaluation import Evaluation

NAMED = 4  # of what isn't finite


def why_none(value: Any) -> str:
    """Why an output gets no gradient unasked, whatever it is computed from, if it holds floats at
    all; "" where it gets one, or where there is nothing to differentiate."""
    parts = [primal(read(v)) for v in leaves(value)]
    if not any(map(is_inexact, parts)):
        return ""
    if any(map(is_complex, parts)):
        return "it is complex; take its `real` part, its `imag` part or its `abs`"
    other = next((part for part in parts if not is_number(part)), 0.0)
    return (
        ""
        if is_number(other)
        else f"it holds {describe(other)}; make an `output` of the numbers in it"
    )


def has_floats(value: Any) -> bool:
    """Whether an output can have a gradient: it holds real floats, and nothing but numbers beside
    them."""
    parts = [primal(read(v)) for v in leaves(value)]
    return any(map(is_inexact, parts)) and all(
        is_number(part) and not is_complex(part) for part in parts
    )


def has_ints(value: Any) -> bool:
    """Whether an output holds ints, and nothing else but bools."""
    kinds = {
        dtype_name(part) if is_number(part) else ""
        for part in (primal(read(v)) for v in leaves(value))
    }
    return "int64" in kinds <= {"int64", "bool"}


def notes(requested: Iterable[str], outputs: Mapping[str, Any]) -> list[str]:
    """Why these outputs get no gradient unasked, and how to ask. `requested` are those that are
    derivatives themselves."""
    names = [name for name in outputs if name in set(requested)]
    found = []
    if names:
        one = len(names) == 1
        are = "is a derivative itself, and gets" if one else "are derivatives themselves, and get"
        options = " ".join(f"--of {_quoted(name)}" for name in names[:NAMED])
        asks = f"`{options}` asks for {'it' if one else 'them'}"
        found.append(
            f"{', '.join(f'`{name}`' for name in names)} {are} no gradient unasked; {asks}"
        )
    for name, value in outputs.items():
        why = why_none(value) if name not in names else ""
        if why:
            found.append(f"`{name}` has no gradient: {why}")
    return found


def _quoted(name: str) -> str:
    return name if name.replace(".", "").replace("_", "").isalnum() else f"'{name}'"


def without_floats(sources: Mapping[str, Any]) -> Iterator[tuple[str, Diagnostic]]:
    """A warning for each variable that can't have a gradient, whatever the outputs are."""
    for name, source in sources.items():
        if not differentiable(source):
            from ..engine.explain.reasons import of_kind  # not at every start

            reason = of_kind(source, name, watched=False)
            if reason is not None:
                message = f"no gradient with respect to `{name}`: {reason.text}"
                yield name, Diagnostic("W202", message, reason.span, "", reason.help, reason.code)


def without_gradients(sources: Mapping[str, Any], told: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Those of an answer, but for the variables of which these warnings tell already."""
    said = {d.message for d in told}
    return [
        d
        for name, d in without_floats(sources)
        if not any(f"respect to `{name}`:" in message for message in said)
    ]


# ---- what isn't finite ---------------------------------------------------------------------------


def nonfinite(evaluation: Evaluation) -> list[str]:
    """The values and derivatives that aren't finite, in words."""
    found = [f"`{name}`" for name, value in evaluation.outputs.items() if not all_finite(value)]
    for table in (evaluation.gradients, evaluation.jacobians):
        for of, row in table.items():
            found += [on_screen(of, (by,)) for by, v in row.items() if not all_finite(v)]
    for of, row in evaluation.hessians.items():
        found += [on_screen(of, halves(by)) for by, v in row.items() if not all_finite(v)]
    return list(dict.fromkeys(found))


def all_finite(value: Any) -> bool:
    """Whether all numbers in a value are finite."""
    if isinstance(value, list | dict):
        return all(map(all_finite, value.values() if isinstance(value, dict) else value))
    return is_finite(value)


def listed(names: list[str]) -> str:
    """Some of what isn't finite, and how many more there are."""
    return ", ".join(names[:NAMED]) + (
        f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    )


def finiteness(found: list[str]) -> list[Diagnostic]:
    """A warning where anything in an answer isn't finite; `found`: what, in words."""
    if not found:
        return []
    help = "`gradcli eval --debug-nan` shows the first operation that made a nan or an infinity"
    return [Diagnostic("W205", f"not finite: {listed(found)}", help=help)]
