"""Reading gradients that other code computed.

Read are the formats that `eval` writes (JSON, NPZ, CSV), and a plain mapping of names to arrays: `x`, or `f/x` where there
are several outputs. A CSV needs a header with `wrt` and `value`, and may have `output`, `index` and `file`.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...inputs import fail, flatten, open_npz, parse_json, read_text
from .written import EXACT, Format, Written, format_of

_REPLY = ("value", "gradient")  # the keys of the short form, about the only output
Elements = dict[tuple[int, ...], Any]  # numbers by index, as a CSV has them


@dataclass(frozen=True, slots=True)
class Given:
    """What a file or a program gives.

    place      where it comes from, for messages
    gradients  by name (`x` or `f/x`): a number, nested lists, an array, `Elements`, or None for no gradient
    values     of outputs, by name; "" is the only output
    format     how decimal numbers were written
    """

    place: str
    gradients: dict[str, Any]
    values: dict[str, Any]
    format: Format = EXACT


def read_file(path: str, program: str) -> Given:
    """The gradients of a program in a file. Raises GradcliError (E002, E005)."""
    lower = path.lower()
    if lower.endswith(".npz"):
        return Given(path, dict(_of_program(open_npz(path), program)), {})
    if lower.endswith(".csv"):
        return _read_csv(path, program)
    if not lower.endswith(".json"):
        fail(path, "don't know how to read this file", "gradients come from .json, .npz and .csv", "E002")
    return read_json(read_text(path), path, program)


def read_json(text: str, place: str, program: str) -> Given:
    """The gradients of a program in JSON. Raises GradcliError (E005)."""
    content = parse_json(text, place, Written)
    if isinstance(content, list):  # the answers about several files
        entries = [v for v in content if isinstance(v, dict) and "gradients" in v]
        content = next((v for v in entries if v.get("file") == program), {"gradients": {}} if entries else content)
    if not isinstance(content, dict):
        fail(place, "expected a mapping from names to gradients", 'write {"x": [1.0, 2.0], …}')
    values: dict[str, Any] = {}
    if isinstance(content.get("gradient"), dict) and set(content) <= set(_REPLY):
        gradients = dict(flatten(content["gradient"]))
        values = {"": content["value"]} if "value" in content else {}
    elif isinstance(content.get("gradients"), dict):
        gradients = {
            f"{output}/{name}": value
            for output, row in content["gradients"].items()
            for name, value in (flatten(row) if isinstance(row, dict) else [("", row)])
        }
        outputs = content.get("outputs", {})
        values = {name: entry["value"] for name, entry in outputs.items() if isinstance(entry, dict) and "value" in entry}
    else:
        gradients = dict(flatten(content))
    return Given(place, gradients, values, format_of(_numbers([*gradients.values()])))


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
    """The arrays of an NPZ that are of this program (those of several have the file before a colon), without second derivatives
    and Jacobians."""
    for name, array in arrays.items():
        file, _, rest = name.rpartition(":")
        if file in ("", program) and not name.endswith(("/jacobian", "/hessian")):
            yield rest, array


def _read_csv(path: str, program: str) -> Given:
    rows = csv.DictReader(read_text(path).splitlines(), skipinitialspace=True)
    header = [name.strip() for name in rows.fieldnames or ()]
    if not {"wrt", "value"} <= set(header):
        fail(
            f"{path}:1",
            "the header needs `wrt` and `value`",
            "write `output,wrt,index,value`; `output` and `index` may be left out",
        )
    rows.fieldnames = header
    gradients: dict[str, Elements] = {}
    for row in rows:
        cells = {k: (v or "").strip() for k, v in row.items() if isinstance(k, str) and not isinstance(v, list)}
        if cells.get("file") in (None, "", program) and cells["wrt"]:
            name = f"{cells['output']}/{cells['wrt']}" if cells.get("output") else cells["wrt"]
            index, value = _element(f"{path}:{rows.line_num}", cells)
            if index in gradients.setdefault(name, {}):
                fail(f"{path}:{rows.line_num}", f"`{name}` has this element twice")
            gradients[name][index] = value
    numbers = (v for elements in gradients.values() for v in elements.values() if type(v) is Written)
    return Given(path, dict(gradients), {}, format_of(numbers))


def _element(place: str, cells: Mapping[str, str]) -> tuple[tuple[int, ...], Any]:
    """The index and the number of a row; None for a gradient that there isn't."""
    text = cells["value"]
    try:
        index = tuple(int(i) for i in cells.get("index", "").replace(";", ",").split(",") if i.strip())
        value = None if not text else complex(text) if text.endswith("j") else Written(text)
    except ValueError:
        fail(place, f"`{cells.get('index', '')}`, `{text}`: not an index and a number")
    return index, value
