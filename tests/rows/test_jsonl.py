"""JSON lines in: what is a number, an array, a missing value; a bad line costs only its row."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradcli.diagnostics import GradcliError

from .data import read


def rows_of(tmp_path: Path, *values: str, rows: int = 1000) -> Any:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(f'{{"k": {k}, "x": {value}}}\n' for k, value in enumerate(values)))
    return read(path, ["x"], ["k"], rows=rows)


@pytest.mark.parametrize("rows", [1, 1000])
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1.0), ("2.5", 2.5), ('"nan"', float("nan")), ('"-inf"', float("-inf")),
        ("null", None), ("1e300", 1e300),
        ("[1, 2]", [1.0, 2.0]), ("[[1, 2], [3, 4]]", [[1.0, 2.0], [3.0, 4.0]]),
        ('[1, "inf"]', [1.0, float("inf")]),
        ('{"re": 1, "im": "nan"}', complex(1, float("nan"))),
        ('[{"re": 1, "im": 2}, 3]', [1 + 2j, 3 + 0j]), ("[]", []),
        ("true", True), ("9007199254740992", 2.0**53), ("NaN", float("nan")),
    ],
)  # fmt: skip
def test_values(tmp_path: Path, text: str, value: object, rows: int) -> None:
    assert repr(rows_of(tmp_path, text, text, rows=rows).column("x")) == repr([value, value])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('"banana"', 'column `x`: "banana" is not a number'),
        ("[1, null]", "column `x`: null is not a number"),
        ("[[1], [1, 2]]", "column `x`: the lists in [[1], [1, 2]] differ in length"),
        (
            "9007199254740993",
            "column `x`: the integer 9007199254740993 has more digits than a float64 holds",
        ),
        (
            "[9007199254740993]",
            "column `x`: the integer 9007199254740993 has more digits than a float64 holds",
        ),
        (
            "[9007199254740993, 1.5]",
            "column `x`: the integer 9007199254740993 has more digits than a float64 holds",
        ),
        (
            '{"re": {"re": 1, "im": 2}, "im": 3}',
            'column `x`: {"re": {"re": 1, "im": 2}, "im": 3} is not a number',
        ),
        ('{"re": 1}', 'column `x`: {"re": 1} is not a number'),
    ],
)
def test_bad_values(tmp_path: Path, text: str, reason: str) -> None:
    found = rows_of(tmp_path, "1", text, "3")
    assert found.rejected == {1: reason}
    assert found.column("x") == [1.0, "!", 3.0]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{", "the line is not JSON: "),
        (b"", "the line is empty"),
        (b"[1]", "expected a JSON object on the line, got [1]"),
        (b'{"x": 1}{"x": 2}', "the line is not JSON: Extra data"),
        (b'{"x": "\xff"}', "the line is not UTF-8 text"),
        (b'{"x": ' + b"[" * 100_000 + b"}", "the line nests lists or objects too deeply"),
    ],
)
def test_bad_lines(tmp_path: Path, line: bytes, reason: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"x": 1}\n' + line + b'\n  {"x": 3}  \r\n{"y": 4}\n\n')
    found = read(path, ["x"])
    assert list(found.rejected) == [1]
    assert found.rejected[1].startswith(reason)
    assert found.column("x") == [1.0, "!", 3.0, None]


def test_rows_of_different_shapes(tmp_path: Path) -> None:
    found = rows_of(tmp_path, "[1, 2]", "[1]", "null", '"?"')
    assert found.column("x") == [[1.0, 2.0], [1.0], None, "!"]
    assert [value.shape for value in found.blocks[0].columns["x"][:2]] == [(2,), (1,)]


def test_keys_are_kept_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    rows = [{"k": k, "x": 1} for k in (1, "a", None, [1, 2], {"b": 2}, 2**70, 1.0)]
    path.write_text("\n".join(map(json.dumps, rows)))
    assert read(path, ["x"], ["k"]).kept("k") == [row["k"] for row in rows]


def test_keys_that_nothing_could_write(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    deep = '{"a": ' * 900 + "1" + "}" * 900
    path.write_text(
        '{"k": "\\ud83d\\ude00"}\n{"k": "\\uD800"}\n{"k": ["\\udfff"]}\n'
        + f'{{"k": {deep}}}\n{{"k": "a"}}\n'
    )
    found = read(path, [], ["k"])
    assert (
        found.rejected[1]
        == 'column `k`: "\\ud800" has half a character, a surrogate without its other'
    )
    assert list(found.rejected) == [1, 2, 3]
    assert found.rejected[3].endswith("nests lists or objects too deeply")


@pytest.mark.parametrize("inner", ["1", "true", "[1], [1, 2]", "[]"])
@pytest.mark.parametrize("depth", [40, 70, 500])
def test_lists_that_nest_too_deeply(tmp_path: Path, inner: str, depth: int) -> None:
    found = rows_of(tmp_path, "1", "[" * depth + inner + "]" * depth)
    assert found.rejected == {1: "column `x`: its lists nest more than 32 deep"}


def test_utf_16_is_no_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"x": 1}\n', encoding="utf-16")
    with pytest.raises(GradcliError, match="none of its first 2 lines is a JSON object"):
        read(path)


def test_flat_keys_that_hold_complex_numbers(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"z.re": 1, "z.im": {"re": 1, "im": 2}}\n')
    assert read(path, ["z"]).rejected == {
        0: "the flat columns of `z` hold complex numbers themselves"
    }


def test_flat_keys(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"x.0": 1, "x.1": 2}\n{"x.0": 3}\n')
    found = read(path, ["x"])
    assert found.source.names == ("x",)
    assert found.column("x") == [[1.0, 2.0], "!"]


def test_a_key_that_a_part_lacks_is_missing(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"x": 1, "y": 2}\n')
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(b'{"x": 3}\n'))
    found = read(tmp_path, ["x", "y"])
    assert (found.column("x"), found.column("y"), found.bad) == ([1.0, 3.0], [2.0, None], [])


def test_what_is_no_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("[\n1\n]\n")
    with pytest.raises(GradcliError, match=r"none of its first 3 lines is a JSON object; .* `\[`"):
        read(path)
    path.write_text("{}\n")
    assert read(path).source.names == ()


SCALAR = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
JSON = SCALAR | st.lists(SCALAR, max_size=3) | st.lists(st.lists(SCALAR, max_size=2), max_size=2)


@given(
    st.lists(st.dictionaries(st.sampled_from("xyz"), JSON), min_size=1, max_size=9),
    st.integers(1, 4),
)
def test_any_values(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]], size: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in [{"x": 1}, *rows]))
    found = read(path, ["x"], ["x"], rows=size)
    assert repr(found.kept("x")) == repr([1, *(row.get("x") for row in rows)])
    for row, value in zip([{"x": 1}, *rows], found.column("x"), strict=True):
        if isinstance(row.get("x"), (int, float)) and value != "!":
            assert np.float64(row["x"]) == value or value != value
