"""`--against FILE`: gradients that other code computed.

Read are the formats that `eval` writes (JSON, NPZ, CSV), and a plain mapping of names to arrays: `x`, or `f/x` where there
are several outputs. A CSV needs a header with `wrt` and `value`, and may have `output`, `index` and `file`.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping
from typing import Any

from ...diagnostics import did_you_mean
from ...engine.backends import CPU, is_inexact, shape_of
from ...engine.boxes import primal
from ...engine.derivatives import gradients, ones_like, verify_target
from ...engine.values import read
from ..inputs import fail, flatten, open_npz, read_json, read_text
from .point import Point, quiet
from .results import AGREE, DISAGREE, CheckOptions, Finding
from .verdicts import distance

RTOL = {"float64": 1e-7, "float32": 1e-4, "text": 1e-5}  # other code has other rounding errors, and may print six digits
DIGITS = 7  # more of them in any number of a CSV, and it is as good as a float64
SMALL = 1e-3  # of the largest element: below it, RTOL is of that
_OTHERS = ("outputs.", "jacobians.", "hessians.", "closed_forms.")  # what else stands in an answer of `eval`
_OTHER_KEYS = ("file", "printed", "expectations", "diagnostics", "timings", "closed_forms", "jacobians", "hessians", "outputs")


def compare(point: Point, path: str, options: CheckOptions) -> list[Finding]:
    """A finding for each gradient in the file. Raises GradcliError (E002, E005) for a file that can't be read, or has names
    that the program hasn't."""
    name = point.program.node.source.name
    ours = _gradients(point)
    found = []
    for (output, variable), given in _matched(path, name, _read(path, name), ours).items():
        found.append(_compare(output, variable, ours[output, variable], given, options))
    if not found:
        fail(path, f"there is no gradient of `{name}` in it", f"it may have {_listed(f'{o}/{v}' for o, v in ours)}")
    return found


def _gradients(point: Point) -> dict[tuple[str, str], Any]:
    """Our gradients, as `eval` has them: of the sum of each output by each variable; None where there is none."""
    run, answer = point.run, point.answer
    found = {}
    for output, target in answer.targets.items():
        with quiet():
            seeds = [(t, ones_like(run, t)) for t in verify_target(run, target, None)]
            row = gradients(run, seeds, list(answer.sources.values()), recorded=False)
        for variable, g in zip(answer.sources, row, strict=True):
            lost = answer.is_replaced(variable) or not is_inexact(primal(read(answer.sources[variable])))
            found[output, variable] = None if g is None or lost else run.backend.to_host(g)
    return found


def _read(path: str, program: str) -> dict[str, Any]:
    """What a file says, by flat names."""
    lower = path.lower()
    if lower.endswith(".npz"):
        return open_npz(path)
    if lower.endswith(".csv"):
        return _read_csv(path, program)
    if not lower.endswith(".json"):
        fail(path, "don't know how to read this file", "gradients come from .json, .npz and .csv", "E002")
    values = read_json(path)
    if isinstance(values, list):  # the answers about several files
        entries = [v for v in values if isinstance(v, dict) and "gradients" in v]
        values = next((v for v in entries if v.get("file") == program), {"gradients": {}} if entries else values)
    if not isinstance(values, dict):
        fail(path, "expected a mapping from names to gradients", 'write {"x": [1.0, 2.0], …}')
    return dict(flatten({k: v for k, v in values.items() if k not in _OTHER_KEYS} if "gradients" in values else values))


def _read_csv(path: str, program: str) -> dict[str, Any]:
    rows = csv.DictReader(read_text(path).splitlines(), skipinitialspace=True)
    header = [name.strip() for name in rows.fieldnames or ()]
    if not {"wrt", "value"} <= set(header):
        fail(
            f"{path}:1",
            "the header needs `wrt` and `value`",
            "write `output,wrt,index,value`; `output` and `index` may be left out",
        )
    rows.fieldnames = header
    elements: dict[str, dict[tuple[int, ...], Any]] = {}
    digits = 0
    for row in rows:
        cells = {k: (v or "").strip() for k, v in row.items() if isinstance(k, str) and not isinstance(v, list)}
        if cells.get("file") not in (None, "", program) or not cells["wrt"]:
            continue
        name = f"{cells['output']}/{cells['wrt']}" if cells.get("output") else cells["wrt"]
        try:
            index = tuple(int(i) for i in cells.get("index", "").replace(";", ",").split(",") if i.strip())
            text = cells["value"]
            value = None if not text else complex(text) if text.endswith("j") else float(text)
        except ValueError:
            fail(f"{path}:{rows.line_num}", f"`{cells.get('index', '')}`, `{cells['value']}`: not an index and a number")
        elements.setdefault(name, {})[index] = value
        digits = max(digits, len(re.sub(r"e.*|[^0-9]", "", text.lower()).strip("0")))
    given = {name: _assembled(path, name, cells) for name, cells in elements.items()}
    if digits <= DIGITS:
        given = {name: _Rounded(v) if v is not None else None for name, v in given.items()}
    return given


class _Rounded:
    """Numbers that were printed with few digits."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _assembled(path: str, name: str, cells: Mapping[tuple[int, ...], Any]) -> Any:
    if set(cells) == {()}:
        return cells[()]
    ranks = {len(index) for index in cells}
    if len(ranks) != 1 or any(v is None for v in cells.values()):
        fail(path, f"the rows of `{name}` are no array: each element needs one, with its index")
    shape = tuple(max(index[k] for index in cells) + 1 for k in range(ranks.pop()))
    array = CPU.xp.full(shape, CPU.xp.nan, dtype=complex if any(isinstance(v, complex) for v in cells.values()) else float)
    for index, value in cells.items():
        array[index] = value
    return array


def _matched(
    path: str, program: str, given: Mapping[str, Any], ours: Mapping[tuple[str, str], Any]
) -> dict[tuple[str, str], Any]:
    """What the file gives, by output and variable."""
    outputs = dict.fromkeys(output for output, _ in ours)
    spelled: dict[str, tuple[str, str]] = {}
    for output, variable in ours:
        for name in (
            f"gradients.{output}.{variable}",
            f"{output}/{variable}",
            f"{output}.{variable}",
            f"{program}:{output}/{variable}",
        ):
            spelled[name] = output, variable
        if len(outputs) == 1:
            spelled.setdefault(variable, (output, variable))
    found: dict[tuple[str, str], Any] = {}
    for name, value in given.items():
        if name in spelled:
            found[spelled[name]] = value
        elif not (name.startswith(_OTHERS) or name in outputs or _belongs_elsewhere(name, outputs, program)):
            known = [f"{output}/{variable}" for output, variable in ours]
            help = did_you_mean(name, [*spelled]) or f"its gradients are {_listed(known)}"
            if len(outputs) > 1 and name in {variable for _, variable in ours}:
                help = f"of which output? write {_listed(k for k in known if k.endswith(f'/{name}'))}"
            fail(path, f"`{program}` has no gradient `{name}`", help)
    return found


def _belongs_elsewhere(name: str, outputs: Iterable[str], program: str) -> bool:
    """Whether an array of an NPZ is of another file, or is an output, a Jacobian or a Hessian."""
    file, colon, _ = name.partition(":")
    own = not colon or file == program
    return not own or name.endswith(("/jacobian", "/hessian")) or any(name == f"{program}:{output}" for output in outputs)


def _compare(output: str, variable: str, ours: Any, given: Any, options: CheckOptions) -> Finding:
    xp = CPU.xp
    found = Finding(output, variable, "against", AGREE)
    if ours is None or given is None:
        if (ours is None) != (given is None):
            found.verdict = DISAGREE
            found.reason = (
                "there is no gradient; 0 and none aren't the same" if ours is None else "the file says that there is none"
            )
            found.ours = found.theirs = float("nan")
        return found
    precision = "float64"
    if type(given) is _Rounded:
        given, precision = given.value, "text"
    if getattr(given, "dtype", None) == "float32" or options.run.dtype == "float32":
        precision = "float32"
    try:
        theirs = xp.asarray(given, dtype="complex128" if xp.asarray(given).dtype.kind == "c" else "float64")
    except (ValueError, TypeError):
        found.verdict, found.reason, found.theirs = DISAGREE, "what the file gives is no array of numbers", float("nan")
        return found
    mine = xp.asarray(ours)
    if theirs.shape != mine.shape:
        found.verdict, found.theirs = DISAGREE, float("nan")
        found.reason = f"the file's has shape {theirs.shape}, the variable {mine.shape}"
        return found
    rtol = RTOL[precision] if options.rtol is None else options.rtol
    both = xp.maximum(abs(mine), abs(theirs))
    largest = float(xp.max(xp.where(xp.isfinite(both), both, 0.0), initial=0.0))
    apart = xp.where((mine == theirs) | (xp.isnan(mine) & xp.isnan(theirs)), 0.0, abs(mine - theirs))
    apart = xp.where(xp.isnan(apart), xp.inf, apart)
    allowed = rtol * xp.maximum(both, SMALL * largest) + (options.atol or 0.0)
    allowed = xp.where(xp.isfinite(allowed), allowed, 0.0)
    if not mine.size:
        return found
    excess = xp.where(apart > 0, apart / xp.where(allowed > 0, allowed, 1e-300), 0.0)
    worst = xp.unravel_index(int(xp.argmax(excess)), mine.shape)
    found.ours, found.theirs = _shown(mine[worst], theirs[worst])
    found.ulps = distance(found.ours, found.theirs)
    found.where = f"[{','.join(map(str, worst))}]" if shape_of(mine) else ""
    if float(excess[worst]) > 1:
        found.verdict = DISAGREE
        wrong = int((excess > 1).sum())
        found.reason = f"{wrong} of {mine.size} elements differ; the worst is {variable}{found.where}" if mine.size > 1 else ""
    return found


def _shown(a: Any, b: Any) -> tuple[float, float]:
    """Two numbers as floats: of complex ones the parts that differ more."""
    if abs(a.imag - b.imag) > abs(a.real - b.real):
        return float(a.imag), float(b.imag)
    return float(a.real), float(b.real)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in list(names)[:12])
