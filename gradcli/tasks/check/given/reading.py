"""Reading gradients that other code computed.

Read are the formats that `eval` writes (JSON, NPZ, CSV), and a plain mapping of names to arrays:
`x`, or `df/dx` where there are several outputs. A CSV needs a header with `wrt` and `value`, and
may have `output`, `index` and `file`.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from textwrap import shorten
from typing import Any

from ....naming import is_second, read_name
from ...input_files import fail, flatten, open_npz, parse_json, read_text
from .written import EXACT, Format, Written, format_of

_REPLY = ("value", "gradient")  # the keys of the short form, about the only output
IS_NUMBERS = "a gradient is numbers, in the shape of its variable"
_OTHERS = ("/jacobian", "/hessian")  # what `eval` writes beside gradients
Elements = dict[tuple[int, ...], Any]  # numbers by index, as a CSV has them


@dataclass(frozen=True, slots=True)
class Given:
    """What a file or a program gives.

    place      where it comes from, for messages
    gradients  by name (`x` or `f/x`): a number, nested lists, an array, `Elements`, or None for no
               gradient
    values     of outputs, by name; "" is the only output
    format     how decimal numbers were written
    source     what gives them, in a word or two: "file", "command's answer"
    """

    place: str
    gradients: dict[str, Any]
    values: dict[str, Any]
    format: Format = EXACT
    source: str = "file"


def read_file(path: str, program: str) -> Given:
    """The gradients of a program in a file. Raises GradcliError (E002, E005)."""
    lower = path.lower()
    if lower.endswith(".npz"):
        return Given(path, dict(_of_program(open_npz(path, path), program)), {})
    if lower.endswith(".csv"):
        return _read_csv(path, program)
    if not lower.endswith(".json"):
        fail(
            path,
            "don't know how to read this file",
            "gradients come from .json, .npz and .csv",
            "E002",
        )
    return read_json(read_text(path), path, program)


def read_json(text: str, place: str, program: str, source: str = "file") -> Given:
    """The gradients of a program in JSON. Raises GradcliError (E005)."""
    content = parse_json(text, place, Written)
    if isinstance(content, list):  # the answers about several files
        entries = [v for v in content if isinstance(v, dict) and "gradients" in v]
        content = next(
            (v for v in entries if v.get("file") == program),
            {"gradients": {}} if entries else content,
        )
    if not isinstance(content, dict):
        fail(place, "expected a mapping from names to gradients", 'write {"x": [1.0, 2.0], …}')
    values: dict[str, Any] = {}
    if isinstance(content.get("gradient"), dict):
        if more := [name for name in content if name not in _REPLY]:
            fail(
                place,
                f"`{more[0]}` stands beside `gradient`",
                'write {"value": 5.0, "gradient": {"x": [2.0, 4.0]}}, and nothing else',
            )
        gradients = dict(flatten(content["gradient"]))
        values = {"": content["value"]} if "value" in content else {}
    elif isinstance(content.get("gradients"), dict):
        gradients = {
            f"{output}/{name}": value
            for output, row in content["gradients"].items()
            for name, value in (flatten(row) if isinstance(row, dict) else [("", row)])
        }
        outputs = content.get("outputs", {})
        values = {
            name: entry["value"]
            for name, entry in outputs.items()
            if isinstance(entry, dict) and "value" in entry
        }
    else:
        gradients = {_key(name): value for name, value in flatten(content)}
    return Given(place, gradients, values, format_of(_numbers([*gradients.values()])), source)


def verify_numbers(place: str, name: str, value: Any) -> None:
    """Raises GradcliError (E005) where what is given under a name is, or holds, anything but
    numbers: JSON's `true`, the string "1.5", a `null` among numbers."""
    kind = getattr(getattr(value, "dtype", None), "kind", "f")
    if kind not in "iufc":
        fail(place, f"`{name}` is an array of {value.dtype}, not of numbers", IS_NUMBERS)
    pending = [(value, "")] if isinstance(value, list | str | bool) else []
    while pending:
        item, index = pending.pop()
        if isinstance(item, list):
            pending += [(part, f"{index}[{k}]") for k, part in enumerate(item)][::-1]
        elif item is None or isinstance(item, str | bool | dict):
            shown = shorten(json.dumps(item), 40, placeholder="…")
            fail(place, f"`{name}{index}` is `{shown}`, not a number", IS_NUMBERS)


def _numbers(value: Any) -> Iterator[Written]:
    """The numbers in nested lists."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, list):
            pending += item
        elif isinstance(item, dict):
            pending += item.values()
        elif type(item) is Written:
            yield item


def _of_program(arrays: Mapping[str, Any], program: str) -> Iterator[tuple[str, Any]]:
    """The arrays of an NPZ that are of this program (those of several have the file before a
    colon), without second derivatives and Jacobians."""
    own = {}
    for name, array in arrays.items():
        file, _, rest = name.rpartition(":")
        if file in ("", program):
            own[rest] = array
    sums = {found[:2] for found in map(read_name, own) if found and found.summed}
    for name, array in own.items():
        found = read_name(name)
        if (found is None or found.summed or found[:2] not in sums) and not is_second(name):
            yield _key(name), array


def _key(name: str) -> str:
    """`f/x` for `df/dx`; any other name as it is."""
    found = read_name(name)
    return f"{found.of}/{found.by}" if found else name


def _read_csv(path: str, program: str) -> Given:
    rows = csv.DictReader(read_text(path).splitlines(), skipinitialspace=True)
    header = [name.strip() for name in rows.fieldnames or ()]
    if not {"wrt", "value"} <= set(header):
        fail(
            f"{path}:1",
            "the header needs `wrt` and `value`",
            "write `output,wrt,index,value`; `output` and `index` may be left out",
        )
    if len(set(header)) < len(header):
        fail(f"{path}:1", f"the header has `{max(header, key=header.count)}` twice")
    rows.fieldnames = header
    gradients: dict[str, Elements] = {}
    values: dict[str, Elements] = {}
    worded: set[str] = set()  # outputs that aren't all numbers
    for row in rows:
        if None in row or None in row.values():
            many = (
                len(row) - 1 + len(row[None])
                if None in row
                else sum(cell is not None for cell in row.values())
            )
            fail(f"{path}:{rows.line_num}", f"the row has {many} cells, the header {len(header)}")
        cells = {name: cell.strip() for name, cell in row.items()}
        output, wrt = cells.get("output", ""), cells["wrt"]
        if cells.get("file") not in (None, "", program) or wrt.endswith(_OTHERS):
            continue
        name = f"{output}/{wrt}" if output and wrt else output or wrt
        place, found = f"{path}:{rows.line_num}", _element(cells)
        if found is None and wrt:
            fail(
                place, f"`{cells.get('index', '')}`, `{cells['value']}`: not an index and a number"
            )
        if found is None:
            worded.add(name)
            continue
        elements = (gradients if wrt else values).setdefault(name, {})
        if found[0] in elements:
            fail(place, f"`{name}` has this element twice")
        elements.update([found])
    numbers = (
        v for elements in gradients.values() for v in elements.values() if type(v) is Written
    )
    return Given(
        path,
        {k: None if v == {(): None} else v for k, v in gradients.items()},
        {k: v for k, v in values.items() if k not in worded},
        format_of(numbers),
    )


def _element(cells: Mapping[str, str]) -> tuple[tuple[int, ...], Any] | None:
    """The index and the number of a row, None for a gradient that there isn't; None where they are
    something else."""
    text = cells["value"]
    try:
        index = tuple(
            int(i) for i in cells.get("index", "").replace(";", ",").split(",") if i.strip()
        )
        value = None if not text else complex(text) if text.endswith("j") else Written(text)
    except ValueError:
        return None
    return index, value
