"""Numbers as text says them: a row has the number that is written, rounded as float64 rounds, or it
is rejected and says why.

The rule itself is stated here once more, in exact arithmetic.
"""

from __future__ import annotations

import json
import math
import tempfile
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcli.diagnostics import GradcliError
from gradcli.rows.blocks import Block
from gradcli.tasks.input_files import parse_json
from gradcli.tasks.inputs import Files, read_value

from .data import Read, npy, read

DIGITS = st.text("0123456789", min_size=1, max_size=25) | st.integers(1, 420).map(lambda n: "9" * n)
EXPONENTS = (
    st.just("")
    | st.integers(-420, 420).map("e{}".format)
    | st.sampled_from(["e99999999999", "E-99999999999", "e+308"])
)
JSON_NUMBERS = st.tuples(
    st.sampled_from(["", "-"]),
    DIGITS.map(lambda digits: digits.lstrip("0") or "0"),
    st.just("") | DIGITS.map(".{}".format) | st.integers(0, 400).map(lambda n: "." + "0" * n + "1"),
    EXPONENTS,
).map("".join)
ODD = [
    "0x10",
    "1_000",
    "１２",
    "٣",
    "1d5",
    "1e",
    "infinit",
    "nan(2)",
    "1\0",
    "--1",
    "1,5",
    "½",
    "0b1",
    "1e1.5",
    "+-1",
    "1 2",
    "∞",
    ".",
]


def expected(text: str) -> float | None:
    """The float64 of a number; None where it would say something else."""
    exact = Decimal(text)
    number = float(text)
    if math.isinf(number) or (number == 0 and exact != 0):
        return None
    if set(text) <= set("-0123456789") and abs(number) >= 2**53 and Decimal(repr(number)) != exact:
        return None
    return number


def from_text(ending: str, text: str) -> Read:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"a.{ending}")
        path.write_text(text)
        return read(path, ["x"], ["k"])


def three(ending: str, number: str) -> Read:
    """A row with a number, between two others."""
    rows = [("0.5", "a"), (number, "b"), ("-0.0", "c")]
    if ending == "jsonl":
        return from_text(ending, "".join(f'{{"x": {x}, "k": "{k}"}}\n' for x, k in rows))
    separator = "," if ending == "csv" else "\t"
    return from_text(ending, "".join(f"{x}{separator}{k}\n" for x, k in [("x", "k"), *rows]))


def shown(number: float | None) -> str:
    return repr("!" if number is None else number)


@settings(max_examples=300, deadline=None)
@given(JSON_NUMBERS, st.sampled_from(["csv", "tsv", "jsonl"]))
def test_any_number(text: str, ending: str) -> None:
    found = three(ending, text)
    assert list(map(repr, found.column("x"))) == ["0.5", shown(expected(text)), "-0.0"]
    assert found.kept("k")[::2] == ["a", "c"]
    for reason in found.rejected.values():
        assert text[:40] in reason
        assert "a float64" in reason


@settings(max_examples=100, deadline=None)
@given(st.lists(JSON_NUMBERS, min_size=1, max_size=4))
def test_any_vector(texts: list[str]) -> None:
    """Of JSON lines: a number that is lost within a list costs the row, also where it is only
    kept."""
    value = f"[{', '.join(texts)}]"
    found = from_text("jsonl", f'{{"x": [0.5], "k": 1}}\n{{"x": {value}, "k": 2}}\n')
    numbers = [expected(text) for text in texts]
    assert repr(found.column("x")) == repr([[0.5], "!" if None in numbers else numbers])
    kept = from_text("jsonl", f'{{"x": 0.5, "k": {value}}}\n')
    is_lost = any(
        math.isinf(float(text)) or (float(text) == 0 and Decimal(text) != 0)
        for text in texts
        if not is_integer(text)
    )
    assert bool(kept.rejected) == is_lost


def is_integer(text: str) -> bool:
    return set(text) <= set("-0123456789")


@pytest.mark.parametrize("text", ODD)
@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl"])
def test_what_is_no_number(text: str, ending: str) -> None:
    found = three(
        ending, f'"{text}"' if ending == "csv" else text if ending == "tsv" else json.dumps(text)
    )
    assert found.column("x")[::2] == [0.5, 0.0]
    assert found.column("x")[1] == "!"


@pytest.mark.parametrize(
    "word", ["nan", "NaN", "NAN", "-nan", "inf", "Inf", "INFINITY", "+inf", "-Infinity"]
)
def test_words_that_are_numbers_in_csv(word: str) -> None:
    assert repr(three("csv", word).column("x")[1]) == repr(float(word)).replace("-nan", "nan")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"x": "\\ud800"}', 'column `x`: "\\ud800" is not a number'),
        ('{"x": 1, "k": "\\udfff\\ud800"}',
            'column `k`: "\\udfff\\ud800" has half a character, a surrogate without its other'),
        ('{"x": 1, "k": {"a": ["\\ud800"]}}', "has half a character"),
        ('{"x": 1, "x": 2}', 'the key "x" stands twice in an object'),
        ('{"x": 1, "y": {"a" :1, "a":2}}', 'the key "a" stands twice in an object'),
        ('{"\\ud800": 1, "\\ud800": 2}', 'the key "\\ud800" stands twice in an object'),
        ('{"x": 1' + "0" * 5000 + "}", "is too large for a float64"),
        ('{"x": 1, "k": 1' + "0" * 5000 + "}", "is too large for a float64"),
        ('{"x": 1, "k": ' + "0" * 5000 + "}", "the line is not JSON"),
        ('{"x": 1, "k": 1e400}', "column `k`: 1e400 is too large for a float64"),
        ('{"x": 1, "k": [{"a": 1e-400}]}',
            "column `k`: 1e-400 is too small for a float64, which would be 0"),
        ('{"x": {"re": 1e400, "im": 1}}', "column `x`: 1e400 is too large for a float64"),
        ('{"x": ' + "[" * 50_000 + "]" * 50_000 + "}",
            "the line nests lists or objects too deeply"),
        ('{"x": ' + '{"a":' * 50_000 + "1" + "}" * 50_000 + "}",
            "the line nests lists or objects too deeply"),
        ('{"x": "' + "a" * 100_000 + '"}', "… is not a number"),
    ],
)  # fmt: skip
def test_a_hostile_line_costs_its_row(line: str, reason: str) -> None:
    found = from_text("jsonl", f'{{"x": 1, "k": 1}}\n{line}\n{{"x": 3, "k": 3}}\n')
    assert found.column("x") == [1.0, "!", 3.0]
    assert reason in found.rejected[1]
    found.rejected[1].encode()


@settings(max_examples=300, deadline=None)
@given(
    st.binary(max_size=60).map(lambda line: line.replace(b"\n", b" "))
    | st.text(alphabet='{}[]":,\\ud8x1e-0k. \ufeff\0', max_size=40).map(str.encode)
)
def test_any_line(line: bytes) -> None:
    """Of JSON: it is a row, or rejected, and the rows beside it are what they are."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.jsonl")
        path.write_bytes(b'{"x": 1, "k": "a"}\n%s\n{"x": 3, "k": "c"}\n' % line)
        found = read(path, ["x"], ["k"])
    assert found.size == 3
    assert found.column("x")[::2] == [1.0, 3.0]
    assert found.kept("k")[::2] == ["a", "c"]
    assert 1 in found.rejected or valid(line)
    for reason in found.rejected.values():
        reason.encode()


def valid(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line.decode()), dict)
    except ValueError:
        return False


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.binary(max_size=30)
        | st.sampled_from([b'"', b"1,a", b'"1","a"', b"1,a,b", b"1", b"\r", b"\0,\0"]),
        max_size=6,
    )
)
def test_any_csv(lines: list[bytes]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.csv")
        path.write_bytes(b"\n".join([b"x,k", b"1,a", *lines]) + b"\n")
        try:
            found = read(path, ["x"], ["k"])
        except GradcliError:
            return
    assert found.bad or found.blocks
    for block in found.blocks:
        assert isinstance(block, Block)
        assert set(block.rejected) <= set(range(block.size))
        for reason in block.rejected.values():
            reason.encode()


# ---- arrays --------------------------------------------------------------------------------------


def head(shape: str, descr: str = "'<f8'", fortran: bool = False) -> bytes:
    text = f"{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x02\x00" + len(text).to_bytes(4, "little") + text


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (
            head("(1000000000000,)"),
            "it ends too early: with 1000000000000 rows it would have 8000000000082 bytes, and it has 162",
        ),
        (head("(1000000000000, 2)", fortran=True), "it ends too early"),
        (head("(1, 1000000000000)"), "it ends too early"),
        (head(f"({10**30},)"), "it ends too early"),
        (head(f"(10, {10**30})"), "it ends too early"),
        (head(f"({2**63},)"), "it ends too early"),
        (head("(11,)"), "it ends too early"),
        (head("(-5,)"), r"it is damaged: it says that its shape is \(-5,\)"),
        (head("(5, -2)"), r"it is damaged: it says that its shape is \(5, -2\)"),
        (head("(-5, -2)", fortran=True), "it is damaged"),
        (head("(1000000000000, 0)"), "its rows hold nothing"),
        (head("(1000000000000,)", "'|S0'"), "its rows hold nothing"),
        (head("(5,)", "'|O'"), "it holds Python objects, which are never read"),
        (
            head("(5,)", "[('x', '<f8'), ('k', '|O')]"),
            "it holds Python objects, which are never read",
        ),
        (head("()"), "it holds a single value"),
        (head("(5,)", "-" * 9000 + "1"), "it is not NPY, or damaged"),
        (head("(" + "-" * 3000 + "5,)"), "it is not NPY, or damaged"),
        (head("(" * 5000), "it is not NPY, or damaged"),
    ],
)
def test_an_array_that_claims_what_it_has_not(tmp_path: Path, data: bytes, why: str) -> None:
    path = tmp_path / "a.npy"
    path.write_bytes(data + bytes(80))
    with pytest.raises(GradcliError, match=why):
        read(path, [""])


def test_arrays_of_all_layouts(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    path.write_bytes(head("(5, 2)", fortran=True) + np.arange(10.0).tobytes())
    assert read(path, [""], rows=2).column("") == [
        [0.0, 5.0],
        [1.0, 6.0],
        [2.0, 7.0],
        [3.0, 8.0],
        [4.0, 9.0],
    ]
    path.write_bytes(head("(2,)", "[('x', '<f8'), ('k', '<i8')]") + np.arange(4.0).tobytes())
    assert read(path, ["x"], ["k"]).column("x") == [0.0, 2.0]


@pytest.mark.skipif(
    np.finfo(np.longdouble).max == np.finfo(np.float64).max, reason="there is nothing wider here"
)
@pytest.mark.parametrize("dtype", [np.longdouble, np.clongdouble])
def test_numbers_wider_than_float64(tmp_path: Path, dtype: type) -> None:
    path = tmp_path / "a.npy"
    path.write_bytes(
        npy(
            np.array(
                [1, np.longdouble("1e400"), np.longdouble("-1e-400"), np.inf, 0, np.nan], dtype
            )
        )
    )
    for found in (read(path, [""]), read(path, keep=[""])):
        assert found.rejected == {
            1: "column ``: 1e+400 is too large for a float64",
            2: "column ``: -1e-400 is too small for a float64",
        }
    assert repr(found.kept("")[3:]) == repr(
        [(float if dtype is np.longdouble else complex)(v) for v in (np.inf, 0, np.nan)]
    )


# ---- values of --set and --inputs ----------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["1e400", "-1e400", "1e-400", "9" * 400, "9007199254740993", "1_000", "１２"]
)
def test_a_value_from_a_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.csv").write_text(f"1\n{text}\n")
    with pytest.raises(GradcliError, match=r"a\.csv:2: "):
        read_value(str(tmp_path / "a.csv"), Files())


@pytest.mark.parametrize("text", ["1e400", "-1e400", "1e-400", "9" * 5000])
def test_a_value_in_json(text: str) -> None:
    with pytest.raises(GradcliError, match="file: "):
        parse_json(f'{{"x": [1, {text}]}}', "file")
