"""Compares the gradients of reverse mode with those that other code computed, element by
element."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from ....diagnostics import did_you_mean
from ....engine.ad.derivatives import gradients
from ....engine.ad.targets import ones_like, verify_target
from ....engine.backends.backend import CPU, is_inexact
from ....engine.execution import running
from ....engine.values.boxes import primal
from ....engine.values.contents import plain
from ....engine.values.kinds import read, show
from ...input_files import fail
from ..differences import distance
from ..point import Point
from ..results import AGREE, DISAGREE, CheckOptions, Finding
from .mistakes import mistake
from .reading import Elements, Given, verify_numbers
from .written import EPS_SINGLE, FEW_DIGITS, Format, Written, was_single

Pairs = Mapping[
    tuple[str, str], Any
]  # by output and variable; an output's value is under variable ""
METHOD = "against"


class Precision(NamedTuple):
    """How exactly other code can be expected to compute: to `rtol` of a number, or of `small` times
    the largest one, or to `units` of the last place that is written down, whatever is most."""

    rtol: float
    small: float = 0.0
    units: float = 0.0


DOUBLE, SINGLE = Precision(1e-9, 1e-3), Precision(1e-5, 1e-2)  # numbers as they were computed
# Numbers that were rounded to a few digits, of which float32 has seven.
DECIMAL, DECIMAL_OF_SINGLE = (
    Precision(1e-11, 1e-3, units=0.25),
    Precision(EPS_SINGLE, 1e-2, units=0.25),
)


def compare(point: Point, given: Given, options: CheckOptions) -> list[Finding]:
    """A finding for each gradient that there is or that is given, and for each value of an output
    that is given. Raises GradcliError (E005) where it isn't clear of which output a gradient is,
    none is given, or what is given of one isn't numbers."""
    ours = _ours(point)
    targets = point.answer.targets
    others = [
        name
        for name in point.answer.outputs
        if isinstance(ours.get((name, "")), list | dict) or name not in targets
    ]
    theirs = _matched(given, point.program.node.source.name, ours, others)
    if not theirs:
        known = _listed(f"{output}/{variable}" for output, variable in ours if variable)
        fail(
            given.place,
            f"there is no gradient of `{point.program.node.source.name}` in it",
            f"it may have {known}",
        )
    sizes = {output: _sizes(value) for (output, variable), value in ours.items() if not variable}
    found = []
    for output, variable in dict.fromkeys([*ours, *theirs]):
        mine = ours.get((output, variable))
        if (output, variable) in theirs:
            finding = Finding(output, variable, METHOD, AGREE)
            if (output, variable) in ours:
                _compare(finding, mine, theirs[output, variable], given, options, sizes[output])
            else:
                finding.verdict, finding.reason = (
                    DISAGREE,
                    (
                        f"it is given, but --wrt doesn't name `{variable}`"
                        if options.run.wrt
                        else f"it is given, but the program has no variable `{variable}`"
                    ),
                )
            found.append(finding)
        elif variable and mine is not None and CPU.xp.size(mine):
            name = variable if len(sizes) == 1 else f"{output}/{variable}"
            found.append(
                Finding(output, variable, METHOD, DISAGREE, f"`{name}` is not in {given.place}")
            )
    return found


def _ours(point: Point) -> dict[tuple[str, str], Any]:
    """Our gradients as `eval` has them, of the sum of each output by each variable, None where
    there is none; and the outputs."""
    run, answer = point.run, point.answer
    found = {}
    for output, target in answer.targets.items():
        with running():
            seeds = [(t, ones_like(run, t)) for t in verify_target(run, target, None)]
            row = gradients(run, seeds, list(answer.sources.values()), recorded=False)
        for variable, g in zip(answer.sources, row, strict=True):
            lost = answer.is_replaced(variable) or not is_inexact(
                primal(read(answer.sources[variable]))
            )
            found[output, variable] = None if g is None or lost else run.backend.to_host(g)
        found[output, ""] = plain(target)
    return found


def _matched(
    given: Given, program: str, ours: Pairs, others: Collection[str]
) -> dict[tuple[str, str], Any]:
    """What is given, by output and variable; without the values of `others`, the outputs that have
    no gradient or aren't one array."""
    outputs = list(dict.fromkeys(output for output, _ in ours))
    spelled = {
        f"{output}{sign}{variable}": (output, variable)
        for output, variable in ours
        if variable
        for sign in "/."
    }
    if len(outputs) == 1:
        spelled = {variable: (output, variable) for output, variable in ours if variable} | spelled
    found: dict[tuple[str, str], Any] = {}
    for name, value in given.gradients.items():
        output, slash, variable = name.rpartition("/")
        if name in spelled:
            found[spelled[name]] = value
        elif name in outputs:  # an NPZ has outputs beside their gradients
            found[name, ""] = value
        elif name.partition(".")[0] in others:
            continue
        elif (output in outputs and slash) or (not slash and len(outputs) == 1):
            found[output or outputs[0], variable] = value
        else:
            known = [f"{o}/{v}" for o, v in ours if v]
            help = did_you_mean(name, [*spelled]) or f"its gradients are {_listed(known)}"
            if name in {v for _, v in ours}:
                help = (
                    f"of which output? write {_listed(k for k in known if k.endswith(f'/{name}'))}"
                )
            fail(given.place, f"`{program}` has no gradient `{name}`", help)
    for name, value in given.values.items():
        output = name or outputs[0]
        if (output, "") in ours and output not in others:
            found[output, ""] = value
    for (output, variable), value in found.items():
        verify_numbers(given.place, variable or output, value)
    return found


# ---- one gradient --------------------------------------------------------------------------------


class Table(NamedTuple):
    """What is given, in the shape of what it is compared with: the numbers, which of them are
    there, half a unit in the last place of each, whether they were float32, and what there is
    beyond that shape."""

    numbers: Any
    present: Any
    half_units: Any
    single: bool
    beyond: list[tuple[int, ...]]


def _compare(
    found: Finding, ours: Any, theirs: Any, given: Given, options: CheckOptions, sizes: set[int]
) -> None:
    """Puts the verdict into a finding; `theirs` is what is given of it, and `sizes` are those of
    the output."""
    if ours is None or theirs is None:
        if (ours is None) != (theirs is None):
            said = "there is no gradient; 0 and none aren't the same"
            found.verdict, found.reason = (
                DISAGREE,
                said if ours is None else f"the {given.source} says that there is none",
            )
        return
    mine = CPU.xp.asarray(ours)
    table = _table(theirs, mine.shape, given.format, "gradient" if found.variable else "value")
    if isinstance(table, str):
        found.verdict, found.reason = DISAGREE, table
        return
    missing = CPU.xp.argwhere(~table.present)
    if len(missing) or table.beyond:
        found.verdict, found.reason = (
            DISAGREE,
            _elements_apart(found.variable or found.output, mine, table, missing, given.source),
        )
        return
    xp, numbers = CPU.xp, table.numbers
    apart = xp.where(
        (mine == numbers) | (xp.isnan(mine) & xp.isnan(numbers)), 0.0, abs(mine - numbers)
    )
    apart = xp.where(xp.isnan(apart), xp.inf, apart)
    allowed = _allowed(mine, table, given.format, options)
    excess = xp.where(apart > 0, apart / xp.where(allowed > 0, allowed, 5e-324), 0.0)
    if not mine.size:
        return
    worst = xp.unravel_index(int(xp.argmax(excess)), mine.shape)
    found.ours, found.theirs = _parts(mine[worst], numbers[worst])
    found.ulps = distance(found.ours, found.theirs)
    found.tolerance = float(allowed[worst])
    found.where = _place(worst)
    found.written = _fewest_digits(table)
    if float(excess[worst]) > 1:
        found.verdict = DISAGREE
        wrong = int((excess > 1).sum())
        pattern = mistake(
            mine, numbers, {*sizes, mine.size, *mine.shape}, lambda a, b: _is_close(a, b, allowed)
        )
        name = f"{found.variable or found.output}{found.where}"
        counted = (
            f"{wrong} of {mine.size} elements differ; the worst is {name}" if mine.size > 1 else ""
        )
        nonfinite = (
            "" if math.isfinite(found.theirs) else f"{name} is given as {show(found.theirs)}"
        )
        found.reason = "; ".join(filter(None, [counted, nonfinite, pattern]))


def _sizes(value: Any) -> set[int]:
    """The numbers of elements of an output, in all and along its axes."""
    shape = CPU.xp.shape(value) if not isinstance(value, list | dict) else (len(value),)
    return {math.prod(shape), *shape}


def _table(given: Any, shape: tuple[int, ...], format: Format, what: str) -> Table | str:
    """What is given, in the shape of the gradient or value that it is compared with; or why it has
    none."""
    xp = CPU.xp
    if isinstance(given, dict):
        return _of_elements(given, shape, format)
    try:
        array = xp.asarray(
            given, dtype="complex128" if xp.asarray(given).dtype.kind == "c" else "float64"
        )
    except (ValueError, TypeError):
        return "what is given is no array of numbers"
    if array.ndim != len(shape):
        return f"what is given has shape {array.shape}, the {what} {shape}"
    half_units = xp.zeros(array.shape)
    if isinstance(given, list) or type(given) is Written:
        single = format.single and format.digits > FEW_DIGITS
        flat: list[Any] = [given]
        for _ in range(array.ndim):
            flat = [item for part in flat for item in part]
        half_units = xp.array(
            [format.half_unit(v) if type(v) is Written else 0.0 for v in flat]
        ).reshape(array.shape)
    else:
        single = getattr(given, "dtype", None) == "float32" or (
            array.dtype.kind == "f" and was_single(array)
        )
    if array.shape == shape:
        return Table(array, xp.ones(shape, bool), half_units, single, [])
    common = tuple(slice(0, min(a, b)) for a, b in zip(array.shape, shape, strict=True))
    numbers, present, halves = xp.zeros(shape, array.dtype), xp.zeros(shape, bool), xp.zeros(shape)
    numbers[common], present[common], halves[common] = array[common], True, half_units[common]
    outside = xp.ones(array.shape, bool)
    outside[common] = False
    beyond = [tuple(index) for index in xp.argwhere(outside).tolist()]
    return Table(numbers, present, halves, single, beyond)


def _of_elements(given: Elements, shape: tuple[int, ...], format: Format) -> Table | str:
    xp = CPU.xp
    if any(value is None for value in given.values()):
        return "some elements are given as none"
    numbers = xp.zeros(
        shape, complex if any(isinstance(v, complex) for v in given.values()) else float
    )
    present, half_units = xp.zeros(shape, bool), xp.zeros(shape)
    beyond = []
    for index, value in given.items():
        if len(index) == len(shape) and all(0 <= k < n for k, n in zip(index, shape, strict=True)):
            numbers[index], present[index] = value, True
            half_units[index] = format.half_unit(value) if type(value) is Written else 0.0
        else:
            beyond.append(index)
    return Table(numbers, present, half_units, format.single and format.digits > FEW_DIGITS, beyond)


def _allowed(mine: Any, table: Table, format: Format, options: CheckOptions) -> Any:
    """How far each pair of numbers may be apart."""
    xp = CPU.xp
    both = xp.maximum(abs(mine), abs(table.numbers))
    largest = float(xp.max(xp.where(xp.isfinite(both), both, 0.0), initial=0.0))
    if options.run.dtype == "float32" or table.single:
        precision = SINGLE
    elif table.half_units.any():
        precision = DECIMAL_OF_SINGLE if format.single else DECIMAL
    else:
        precision = DOUBLE
    if options.rtol is not None:
        precision = precision._replace(rtol=options.rtol)
    computed = xp.maximum(
        precision.rtol * xp.maximum(both, precision.small * largest),
        2 * precision.units * table.half_units,
    )
    allowed = computed + table.half_units + (options.atol or 0.0)
    return xp.where(xp.isfinite(allowed), allowed, 0.0)


def _fewest_digits(table: Table) -> int | None:
    """The significant digits of the number that is written with the fewest; None where none is
    rounded."""
    rounded = (table.half_units > 0) & (table.numbers != 0) & CPU.xp.isfinite(table.numbers)
    if not rounded.any():
        return None
    units = abs(table.numbers[rounded]) / (
        2 * table.half_units[rounded]
    )  # the number, in units of its last place
    return max(1, math.floor(math.log10(float(units.min())) + 1e-9) + 1)


def _is_close(a: Any, b: Any, allowed: Any) -> bool:
    return bool(CPU.xp.all(abs(a - b) <= allowed))


def _elements_apart(name: str, mine: Any, table: Table, missing: Any, source: str) -> str:
    """Which elements are missing, and which are too many."""
    said = []
    if _counts_from_1(mine.shape, table, missing):
        said.append("indices begin at 1 there, and at 0 here")
    if len(missing):
        more = f", and {len(missing) - 1} more" if len(missing) > 1 else ""
        said.append(f"{name}{_place(missing[0])} is not in the {source}{more}")
    if table.beyond:
        more = f", and {len(table.beyond) - 1} more" if len(table.beyond) > 1 else ""
        said.append(
            f"{name}{_place(table.beyond[0])} is in the {source}, but `{name}` has shape "
            f"{mine.shape}{more}"
        )
    return "; ".join(said)


def _counts_from_1(shape: tuple[int, ...], table: Table, missing: Any) -> bool:
    """Whether all indices are one too large."""
    if not table.beyond or any(len(i) != len(shape) for i in table.beyond) or not len(missing):
        return False
    low = all(0 in index for index in missing.tolist())
    return low and all(1 <= k <= n for i in table.beyond for k, n in zip(i, shape, strict=True))


def _place(index: Iterable[Any]) -> str:
    numbers = ",".join(str(int(k)) for k in index)
    return f"[{numbers}]" if numbers else ""


def _parts(a: Any, b: Any) -> tuple[float, float]:
    """Two numbers as floats: of complex ones the parts that differ more."""
    if abs(a.imag - b.imag) > abs(a.real - b.real):
        return float(a.imag), float(b.imag)
    return float(a.real), float(b.real)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in list(names)[:12])
