"""Rows out: what formats say of values, and that they read back the same."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gradcli.diagnostics import GradcliError
from gradcli.rows.thrift import read_struct, write_struct
from gradcli.rows.writing import STREAMED, Column, open_stdout

from .data import read
from .writing import FORMATS, example, fitting, numeric, written

# ---- what is written -----------------------------------------------------------------------------


def test_csv(tmp_path: Path) -> None:
    block = [
        Column("id", pa.array(["a", 'say "b"', "c,d", None])),
        Column("f", np.array([0.1, math.nan, -math.inf, 1e300])),
        Column(
            "df/dx",
            np.array([[1, 2], [3, 4], [5, 6], [7, 8.5]]),
            np.array([False, True, False, False]),
        ),
        Column("z", np.array([1j, 2, 3, 4])),
        Column("ok", np.array([True, False, True, True])),
    ]
    assert written(tmp_path / "a.csv", [block]).decode() == (
        "id,f,df/dx.0,df/dx.1,z.re,z.im,ok\n"
        "a,0.1,1,2,0,1,true\n"
        '"say ""b""",nan,,,2,0,false\n'
        '"c,d",-inf,5,6,3,0,true\n'
        ",1e+300,7,8.5,4,0,true\n"
    )
    assert written(tmp_path / "a.tsv", [block[:2]]).decode().splitlines()[3] == "c,d\t-inf"


def test_csv_says_the_same_of_numbers_beside_text(tmp_path: Path) -> None:
    """Columns of numbers alone are written by another function of Arrow's."""
    random = np.random.default_rng(0)
    bits = random.integers(-(2**63), 2**63 - 1, 5000)
    edges = np.resize(
        [
            0.0,
            -0.0,
            math.nan,
            math.inf,
            -math.inf,
            5e-324,
            0.1,
            1e15,
            1e16,
            1e20,
            1e21,
            1e22,
            1e-4,
            1e-5,
        ],
        5000,
    )
    columns = [
        Column("a", bits, None),
        Column("b", bits.view(float), bits % 7 == 0),
        Column("c", edges, None),
    ]
    columns += [Column("d", edges.astype(np.float32), None), Column("e,", bits > 0, bits % 5 == 0)]
    alone = written(tmp_path / "a.csv", [columns]).splitlines()
    beside = written(
        tmp_path / "b.csv", [[*columns, Column("f", np.full(5000, "t", object), None)]]
    ).splitlines()
    assert [line + b",f" for line in alone[:1]] + [line + b",t" for line in alone[1:]] == beside


def test_jsonl(tmp_path: Path) -> None:
    ragged = np.empty(3, dtype=object)
    ragged[:] = [np.array([1.0, math.inf]), np.zeros((1, 2)), None]
    block = [
        Column("id", np.array([1, "\u00e9\n", {"a": [None]}], dtype=object)),
        Column("f", np.array([0.1, math.nan, -0.0])),
        Column(
            "df/dx",
            np.array([[[1.0], [2]], [[3], [4]], [[math.inf], [6]]]),
            np.array([False, True, False]),
        ),
        Column("z", np.array([1j, 2, complex(math.nan, 0)]), np.array([False, True, False])),
        Column("r", ragged),
        Column("e", np.zeros((3, 0))),
        Column("day", pa.array([0, None, 1], pa.date32())),
    ]
    assert written(tmp_path / "a.jsonl", [block]).decode().splitlines() == [
        '{"id": 1, "f": 0.1, "df/dx": [[1], [2]], "z": {"re": 0, "im": 1}, "r": [1.0, "inf"], "e": [], "day": "1970-01-01"}',
        '{"id": "\u00e9\\n", "f": "nan", "df/dx": null, "z": null, "r": [[0.0, 0.0]], "e": [], "day": null}',
        '{"id": {"a": [null]}, "f": -0.0, "df/dx": [["inf"], [6]], "z": {"re": "nan", "im": 0}, "r": null, "e": [],'
        ' "day": "1970-01-02"}',
    ]  # fmt: skip


@pytest.mark.parametrize("format", ["parquet", "arrow"])
def test_tables(tmp_path: Path, format: str) -> None:
    path = tmp_path / f"a.{format}"
    written(path, [example(5), example(0), example(40, 1)])
    table = pq.read_table(path) if format == "parquet" else feather.read_table(path)
    assert table.num_rows == 45
    types = {field.name: str(field.type) for field in table.schema}
    assert types == {
        "id": "string", "t": "string", "f": "double", "df/dx.0": "double", "df/dx.1": "double",
        "i": "int64", "b": "bool",
        "z.re": "double", "z.im": "double", "none": "double", "m.0.0": "double", "m.0.1": "double",
        "m.0.2": "double",
        "m.1.0": "double", "m.1.1": "double", "m.1.2": "double", "s": "float",
    }  # fmt: skip
    assert table["i"].to_pylist() == [k * 2**55 for k in [*range(5), *range(40)]]
    assert table["none"].null_count == 45
    assert table["df/dx.1"].null_count == 1 + 6
    assert table["t"].to_pylist()[:5] == ["a", 'b"c,', "x\ny", None, ""]
    f = np.concatenate([example(5)[2].values, example(40, 1)[2].values])
    assert table["f"].to_numpy().tobytes() == f.tobytes()


def test_npy(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    written(path, [numeric(example(5)), numeric(example(3, 1))])
    matrix = np.load(path)
    assert (matrix.shape, matrix.dtype) == ((8, 14), np.float64)
    assert np.array_equal(matrix[:5, 0], example(5)[2].values, equal_nan=True)
    assert np.isnan(matrix[3, 1:3]).all()
    with pytest.raises(GradcliError, match="`id` holds text, which an NPY file of numbers can't"):
        written(path, [example(5)[:1]])
    with pytest.raises(GradcliError, match="`i` has integers of more digits"):
        written(path, [[Column("i", np.array([2**60 + 1]))]])


def test_npz(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    blocks = [
        example(5),
        example(0),
        [*example(40, 1)[:4], Column("i", np.arange(40), np.arange(40) == 3), *example(40)[5:]],
    ]
    written(path, blocks)
    with np.load(path, allow_pickle=False) as found:
        assert {name: (found[name].dtype.str, found[name].shape) for name in found} == {
            "id": ("<U3", (45,)), "t": ("<U4", (45,)), "f": ("<f8", (45,)),
            "df/dx": ("<f8", (45, 2)), "i": ("<f8", (45,)),
            "b": ("|b1", (45,)), "z": ("<c16", (45,)), "none": ("<f8", (45,)),
            "m": ("<f8", (45, 2, 3)), "s": ("<f4", (45,)),
        }  # fmt: skip
        assert np.array_equal(found["m"][5:], example(40)[8].values)
        assert found["id"].tolist()[:3] == ["", "k1", "k2"]
        assert np.isnan(found["i"][8])
        assert found["i"][6] == 1
    assert sorted(name.name for name in tmp_path.iterdir()) == ["a.npz", "a.npz.blocks"]


@pytest.mark.parametrize("format", [format for format in FORMATS if format != "jsonl"])
def test_rows_of_different_shapes_need_json_lines(tmp_path: Path, format: str) -> None:
    ragged = np.empty(2, dtype=object)
    ragged[:] = [np.zeros(1), np.zeros(2)]
    with pytest.raises(
        GradcliError, match="`f` holds arrays of different shapes, which only JSON lines can show"
    ):
        written(tmp_path / f"a.{format}", [[Column("f", ragged)]])
    with pytest.raises(GradcliError, match="the columns of this block don't fit"):
        written(tmp_path / f"a.{format}", [[Column("f", np.zeros((3, k)))] for k in (2, 3)])


@pytest.mark.parametrize("format", FORMATS)
def test_two_columns_of_one_name(tmp_path: Path, format: str) -> None:
    with pytest.raises(GradcliError, match="two columns to be written are named `f`"):
        written(tmp_path / f"a.{format}", [[Column("f", np.zeros(2)), Column("f", np.zeros(2))]])


@pytest.mark.parametrize("format", FORMATS)
def test_no_rows(tmp_path: Path, format: str) -> None:
    path = tmp_path / f"a.{format}"
    written(path, [fitting(format, example(0))])
    if format == "jsonl":
        assert path.read_bytes() == b""
    elif format != "npy":
        assert read(path).source.names == tuple(c.name for c in example(0))
        assert read(path).blocks == []
    else:
        assert np.load(path).shape == (0, 14)


# ---- round trips ---------------------------------------------------------------------------------

FLOATS = st.integers(0, 30).flatmap(lambda n: arrays(np.float64, n, elements=st.floats(width=64)))


@pytest.mark.parametrize("format", FORMATS)
@settings(
    max_examples=30,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    deadline=None,
)
@given(values=FLOATS)
def test_numbers_come_back_to_the_last_bit(tmp_path: Path, format: str, values: Any) -> None:
    path = tmp_path / f"a.{format}"
    written(path, [[Column("x", values), Column("v", np.stack([values, -values], axis=1))]])
    if format == "npy":
        assert np.array_equal(
            np.load(path), np.stack([values, values, -values], axis=1), equal_nan=True
        )
        return
    found = read(path, ["x", "v"], rows=7).blocks
    x = np.concatenate([np.zeros(0), *(block.columns["x"] for block in found)])
    v = np.concatenate([np.zeros((0, 2)), *(block.columns["v"] for block in found)])
    assert not any(block.rejected or block.missing for block in found)
    assert np.array_equal(x, values, equal_nan=True)
    assert np.array_equal(v[:, 1], -values, equal_nan=True)
    there = ~np.isnan(values)
    assert np.array_equal(np.signbit(x)[there], np.signbit(values)[there])


PARTS = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.5]


@pytest.mark.parametrize("format", FORMATS)
def test_complex_numbers_come_back(tmp_path: Path, format: str) -> None:
    path = tmp_path / f"a.{format}"
    values = np.empty(len(PARTS) ** 2, np.complex128)
    values.real, values.imag = np.repeat(PARTS, len(PARTS)), np.tile(PARTS, len(PARTS))
    written(path, [[Column("z", values), Column("v", np.stack([values, values[::-1]], axis=1))]])
    if format == "npy":
        assert np.array_equal(
            np.load(path)[:, :2], values.view(np.float64).reshape(-1, 2), equal_nan=True
        )
        return
    (block,) = read(path, ["z", "v"]).blocks
    assert not block.rejected
    for found, expected in [(block.columns["z"], values), (block.columns["v"][:, 1], values[::-1])]:
        assert np.array_equal(found.real, expected.real, equal_nan=True)
        assert np.array_equal(found.imag, expected.imag, equal_nan=True)


@pytest.mark.parametrize("format", ["csv", "tsv", "jsonl", "parquet", "arrow", "npz"])
@settings(
    max_examples=30,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    deadline=None,
)
@given(
    texts=st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5),
        max_size=20,
    )
)
def test_text_comes_back(tmp_path: Path, format: str, texts: list[str]) -> None:
    path = tmp_path / f"a.{format}"
    written(
        path,
        [
            [
                Column("t", np.array([*texts, None], dtype=object)),
                Column("x", np.arange(len(texts) + 1.0)),
            ]
        ],
    )
    found = [
        value
        for block in read(path, [], ["t"], rows=7).blocks
        for value in block.kept["t"].tolist()
    ]
    empty = None if format in ("csv", "tsv") else ""  # CSV doesn't tell them apart
    assert found == [text or empty for text in texts] + ["" if format == "npz" else None]


@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_a_single_column_without_values_has_rows(tmp_path: Path, format: str) -> None:
    path = tmp_path / f"a.{format}"
    written(path, [[Column("x", np.array([1.0, 2.0, 3.0]), np.array([True, False, True]))]])
    assert read(path, ["x"]).column("x") == [None, 2.0, None]


VALUES = (
    st.binary(max_size=3).map(lambda data: (8, data))
    | st.integers(-(2**63), 2**63 - 1).map(lambda number: (6, number))
    | st.sampled_from([(1, None), (2, None)])
    | st.lists(st.integers(-9, 9), max_size=20).map(lambda numbers: (9, (5, numbers)))
)
STRUCTS = st.recursive(
    VALUES,
    lambda inner: st.dictionaries(st.integers(1, 40), inner, max_size=4).map(
        lambda fields: (12, fields)
    ),
    max_leaves=8,
)


@given(STRUCTS)
def test_footers_are_written_as_they_were_read(field: tuple[int, Any]) -> None:
    out = bytearray()
    write_struct({3: field}, out)
    assert read_struct(bytes(out)) == ({3: field}, len(out))


# ---- standard output -----------------------------------------------------------------------------

TO_STDOUT = """
import sys
import numpy as np
from gradcli.rows.writing import Column, open_stdout
writer = open_stdout(sys.argv[1], sys.argv[2])
try:
    for k in range(int(sys.argv[3])):
        writer.append([Column("f", np.arange(3.0) + k), Column("df/dx", np.ones((3, 2)))])
    writer.finish()
except BrokenPipeError:
    sys.stderr.write("closed")
    sys.stdout = None
"""


@pytest.mark.parametrize("format", STREAMED)
def test_standard_output(tmp_path: Path, format: str) -> None:
    delimiter = {"csv": ",", "tsv": "\t"}.get(format, "")
    command = [sys.executable, "-c", TO_STDOUT, format, delimiter]
    done = subprocess.run([*command, "2"], capture_output=True, check=True)
    path = tmp_path / f"a.{format}"
    path.write_bytes(done.stdout)
    found = read(path, ["f", "df/dx"])
    assert found.column("f") == [0.0, 1.0, 2.0, 1.0, 2.0, 3.0]
    assert found.column("df/dx") == [[1.0, 1.0]] * 6
    with subprocess.Popen(
        [*command, "100000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(1)
        process.stdout.close()
        assert process.stderr.read() == b"closed"


def test_formats_that_have_an_end() -> None:
    with pytest.raises(GradcliError, match="rows can't be written to standard output as `parquet`"):
        open_stdout("parquet", "")
