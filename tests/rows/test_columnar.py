"""Parquet and Arrow in: ranges within row groups and batches, in any order, and what the types
become."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pytest

from gradcli.diagnostics import GradcliError
from gradcli.rows.blocks import BadPart
from gradcli.rows.sources import open_source
from gradcli.rows.thrift import I64, packed
from gradcli.rows.writing.parquet import CHUNKS, GROUPS, METADATA, split

from .data import read

N = 1000
TABLE = pa.table(
    {
        "id": pa.array([f"k{k}" for k in range(N)]).dictionary_encode(),
        "x": pa.array([[float(k), k + 1.0] for k in range(N)], pa.list_(pa.float64())),
        "y": pa.array([k if k % 3 else None for k in range(N)], pa.int32()),
    }
)


def write_parquet(path: Path, table: Any = TABLE, size: int = 300) -> Path:
    pq.write_table(table, path / "a.parquet", row_group_size=size)
    return path / "a.parquet"


def write_arrow(path: Path, table: Any = TABLE, size: int = 300) -> Path:
    with ipc.new_file(str(path / "a.arrow"), table.schema) as writer:
        writer.write_table(table.unify_dictionaries(), max_chunksize=size)
    return path / "a.arrow"


def write_stream(path: Path, table: Any = TABLE, size: int = 300) -> Path:
    with ipc.new_stream(str(path / "b.arrow"), table.schema) as writer:
        writer.write_table(table, max_chunksize=size)
    return path / "b.arrow"


def write_feather(path: Path, table: Any = TABLE, size: int = 300) -> Path:
    feather.write_feather(table, str(path / "a.feather"), chunksize=size, compression="lz4")
    return path / "a.feather"


WRITE = [write_parquet, write_arrow, write_stream, write_feather]
Write = Callable[..., Path]


@pytest.mark.parametrize("write", WRITE)
@pytest.mark.parametrize("size", [7, 300, 1000])
@pytest.mark.parametrize("rows", [1000, 650, 300, 299, 64])
def test_ranges(tmp_path: Path, write: Write, size: int, rows: int) -> None:
    found = read(write(tmp_path, size=size), ["x", "y"], ["id"], rows=rows)
    assert found.column("y") == [k if k % 3 else None for k in range(N)]
    assert found.column("x") == [[k, k + 1.0] for k in range(N)]
    assert [block.kept["id"].type for block in found.blocks] == [pa.string()] * len(found.blocks)
    assert [key for block in found.blocks for key in block.kept["id"].to_pylist()] == TABLE[
        "id"
    ].to_pylist()
    if write is not write_stream:
        assert found.source.rows == N


@pytest.mark.parametrize("write", WRITE)
def test_ranges_in_any_order(tmp_path: Path, write: Write) -> None:
    ranges = list(open_source(str(write(tmp_path, size=500))).ranges(20))
    random.Random(1).shuffle(ranges)
    for where in ranges * 2:
        assert not isinstance(where, BadPart)
        assert where.read(["x"], []).columns["x"][:, 0].tolist() == list(
            range(where.start, where.start + where.size)
        )


def test_ranges_in_threads(tmp_path: Path) -> None:
    ranges = list(open_source(str(write_parquet(tmp_path, size=N))).ranges(10))

    def first(where: Any) -> int:
        return int(where.read(["x"], []).columns["x"][0, 0])

    with ThreadPoolExecutor(4) as pool:
        assert (
            list(pool.map(first, ranges * 2))
            == [where.start for where in ranges if not isinstance(where, BadPart)] * 2
        )


COLUMNS: list[tuple[Any, list[object]]] = [
    (pa.array([1, None, 3], pa.int8()), [1, None, 3]),
    (pa.array([1, 2**64 - 1, 3], pa.uint64()), [1, "!", 3]),
    (pa.array([2**63 - 1, None], pa.int64()), [2**63 - 1, None]),
    (pa.array([True, None]), [True, None]),
    (pa.array([1.5, None, float("nan")], pa.float32()), [1.5, None, float("nan")]),
    (pa.array([Decimal("1.25"), None]), [1.25, None]),
    (pa.array([np.float16(1.5), None], pa.float16()), [1.5, None]),
    (pa.array(["1.5", "banana", None]), [1.5, "!", None]),
    (pa.array(["1", "2"]).dictionary_encode(), [1.0, 2.0]),
    (pa.nulls(2), [None, None]),
    (pa.array([[1, 2], None, [3, 4]]), [[1, 2], None, [3, 4]]),
    (pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int64(), 2)), [[1, 2], None, [3, 4]]),
    (pa.array([[1.0], [], [3.0, 4.0], None]), [[1.0], [], [3.0, 4.0], None]),
    (pa.array([[1.0, None], [3.0, 4.0]]), ["!", [3.0, 4.0]]),
    (pa.array([[[1, 2], [3, 4]], [[5, 6], [7, 8]]]), [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]),
    (pa.array([[[1], [2]], [[3]]]), [[[1], [2]], [[3]]]),
    (pa.array([{"re": 1.0, "im": 2.0}, None]), [1 + 2j, None]),
    (
        pa.array([{"re": 1.0, "im": float("inf")}, {"re": None, "im": 1.0}]),
        [complex(1, float("inf")), "!"],
    ),
    (
        pa.array([{"re": 1, "im": 2**60 + 1}, {"re": 2**60, "im": 1}, {"re": 3, "im": 4}]),
        ["!", "!", 3 + 4j],
    ),
    (pa.array([{"re": [1.0], "im": [2.0]}]), ["!"]),
    (pa.array([[], []], pa.list_(pa.float64())), [[], []]),
]


@pytest.mark.parametrize(
    ("column", "values"), COLUMNS, ids=lambda value: str(getattr(value, "type", ""))
)
def test_types(tmp_path: Path, column: Any, values: list[object]) -> None:
    assert repr(read(write_arrow(tmp_path, pa.table({"x": column})), ["x"]).column("x")) == repr(
        values
    )
    if column.type != pa.list_(pa.int64(), 2):  # Parquet has no null among these
        assert repr(
            read(write_parquet(tmp_path, pa.table({"x": column})), ["x"]).column("x")
        ) == repr(values)


def test_a_type_that_is_no_number(tmp_path: Path) -> None:
    table = pa.table({"x": pa.array([1, 2], pa.timestamp("us"))})
    with pytest.raises(
        GradcliError, match=r"column `x` holds timestamp\[us\], which isn't a number"
    ):
        read(write_parquet(tmp_path, table), ["x"])
    assert read(write_parquet(tmp_path, table), [], ["x"]).blocks[0].kept["x"].type == pa.timestamp(
        "us"
    )


def test_flat_columns_of_parquet(tmp_path: Path) -> None:
    table = pa.table(
        {
            "x.0": [1.0, 2.0],
            "x.1": [3.0, 4.0],
            "x": [5.0, 6.0],
            "w.0": [7.0, 8.0],
            "w.1": [9.0, 0.0],
        }
    )
    found = read(write_parquet(tmp_path, table), ["x", "w", "x.1"])
    assert found.source.names == ("x.0", "x.1", "x", "w")
    assert [found.column(name) for name in ("x", "w", "x.1")] == [
        [5.0, 6.0],
        [[7.0, 9.0], [8.0, 0.0]],
        [3.0, 4.0],
    ]


@pytest.mark.parametrize("size", [7, 1000])
def test_only_the_footer_says_where_batches_are(tmp_path: Path, size: int) -> None:
    """Others may leave the schema before them out."""
    path = write_arrow(tmp_path, size=size)
    data = bytearray(path.read_bytes())
    data[8:16] = bytes(8)
    path.write_bytes(data)
    found = read(path, ["y"], rows=300)
    assert found.source.rows == N
    assert found.column("y") == [k if k % 3 else None for k in range(N)]


@pytest.mark.parametrize("format", ["arrow", "stream", "parquet", "csv", "jsonl"])
def test_files_of_polars(tmp_path: Path, format: str) -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"x": np.arange(50.0), "k": [f"k{k % 5}" for k in range(50)]})
    frame = frame.with_columns(
        c=polars.col("k").cast(polars.Categorical), x=polars.when(frame["x"] != 3).then(frame["x"])
    )
    path = tmp_path / f"a.{format.replace('stream', 'arrow')}"
    write = {
        "arrow": frame.write_ipc,
        "stream": frame.write_ipc_stream,
        "jsonl": frame.write_ndjson,
        "csv": frame.write_csv,
    }
    options = {"compression": "zstd"} if format in ("arrow", "stream") else {}
    write.get(format, frame.write_parquet)(path, **options)
    found = read(path, ["x"], ["k", "c"], rows=20)
    assert found.column("x") == [k if k != 3 else None for k in range(50)]
    for name in "kc":
        assert [key for block in found.blocks for key in block.kept[name].tolist()] == frame[
            "k"
        ].to_list()


def test_integers_that_lie_beside_floats(tmp_path: Path) -> None:
    """Alone they stay integers; together they are float64, which doesn't hold all of them."""
    table = pa.table(
        {
            "x.0": [2**60 + 1, 2**53, -(2**63), 4],
            "x.1": [1.0, 2.0, 3.0, 4.0],
            "z.re": [1, 2, 3, -(2**60) - 1],
        }
    )
    table = table.append_column("z.im", pa.array([float("inf"), 0.0, 0.0, 0.0]))
    found = read(write_parquet(tmp_path, table), ["x", "x.0"])
    assert found.column("x") == ["!", [2.0**53, 2.0], "!", [4.0, 4.0]]
    assert (
        found.rejected[0]
        == "column `x.0`: the integer 1152921504606846977 has more digits than a float64 holds"
    )
    assert read(tmp_path / "a.parquet", ["x.0"]).column("x.0") == [2**60 + 1, 2**53, -(2**63), 4]
    assert read(tmp_path / "a.parquet", ["z"]).column("z") == [complex(1, float("inf")), 2, 3, "!"]


@pytest.mark.parametrize("write", [write_parquet, write_arrow, write_stream])
def test_two_columns_of_one_name(tmp_path: Path, write: Write) -> None:
    table = pa.table([pa.array([1.0]), pa.array([2.0]), pa.array([3.0])], names=["x", "y", "x"])
    with pytest.raises(GradcliError, match="two of its columns are named `x`"):
        read(write(tmp_path, table))


def test_flat_columns_that_hold_lists(tmp_path: Path) -> None:
    table = pa.table({"x.0": [[1.0], [2.0]], "x.1": [3.0, 4.0]})
    found = read(write_parquet(tmp_path, table), ["x"])
    assert found.rejected == dict.fromkeys(
        range(2), "the flat columns of `x` hold lists themselves"
    )


@pytest.mark.parametrize("write", WRITE)
def test_a_damaged_part(tmp_path: Path, write: Write) -> None:
    path = write(tmp_path, size=100)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    (tmp_path / f"c{path.suffix}").write_bytes(data)
    found = read(tmp_path, ["y"], rows=100)
    assert [Path(bad.path) for bad in found.bad] == [path]
    assert found.column("y")[-N:] == [k if k % 3 else None for k in range(N)]


@pytest.mark.parametrize("write", [write_parquet, write_arrow])
def test_a_part_that_changes_while_it_is_read(tmp_path: Path, write: Write) -> None:
    path = write(tmp_path)
    first, *_ = open_source(str(path)).ranges(100)
    assert not isinstance(first, BadPart)
    write(tmp_path, TABLE.slice(10))
    what = "row group 0: the file" if write is write_parquet else "it: it"
    assert (
        first.read(["y"], ["id"]).unreadable == f"cannot read {what} has changed while it was read"
    )


def test_a_row_group_with_fewer_rows_than_the_footer_says(tmp_path: Path) -> None:
    path = write_parquet(tmp_path, pa.table({"x": np.arange(30.0)}))
    data = path.read_bytes()
    footer, _ = split(data)
    group = footer[GROUPS][1][1][0]
    group[3] = footer[3] = (I64, 40)
    group[CHUNKS][1][1][0][METADATA][1][5] = (I64, 40)
    out = packed(footer)
    path.write_bytes(data[: -len(out) - 8] + out + data[-8:])
    blocks = read(path, ["x"], rows=10).blocks
    assert [block.unreadable for block in blocks[:3]] == [""] * 3
    assert (
        blocks[3].unreadable == "cannot read row group 0: there are fewer rows than the footer says"
    )


def test_damaged_pages_cost_only_their_range(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(
        pa.table({"x": np.arange(3000.0)}),
        path,
        row_group_size=1000,
        use_dictionary=False,
        compression="snappy",
    )
    data = bytearray(path.read_bytes())
    at = pq.read_metadata(path).row_group(1).column(0).data_page_offset
    data[at : at + 200] = bytes(200)
    path.write_bytes(data)
    blocks = read(path, ["x"], rows=1000).blocks
    assert [bool(block.unreadable) for block in blocks] == [False, True, False]
    assert len(blocks[1].rejected) == 1000
    assert blocks[2].columns["x"][0] == 2000


def test_damaged_pages_cost_the_rest_of_a_large_row_group(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    table = pa.table({"x": np.arange(50_000.0)})
    pq.write_table(
        table,
        path,
        use_dictionary=False,
        compression="snappy",
        data_page_size=8 << 10,
        row_group_size=40_000,
    )
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 2000] = bytes(2000)
    path.write_bytes(data)
    blocks = read(path, ["x"], rows=4000).blocks
    bad = [bool(block.unreadable) for block in blocks]
    assert bad == [*sorted(bad[:10]), False, False, False]
    assert 0 < sum(bad) < 10
    assert blocks[-1].columns["x"][-1] == 49_999


def test_parts_must_agree(tmp_path: Path) -> None:
    for k, table in enumerate(
        [
            {"x": [1.0], "id": ["a"]},
            {"y": [1.0], "id": ["a"]},
            {"x": [1], "id": [3]},
            {"x": [4], "id": ["d"]},
        ]
    ):
        pq.write_table(pa.table(table), tmp_path / f"{k}.parquet")
    found = read(tmp_path, ["x"], ["id"])
    assert found.column("x") == [1.0, 4]
    assert [(bad.start, bad.reason) for bad in found.bad] == [
        (1, "it has no column `x`, as the first part has"),
        (1, "its column `id` holds int64, that of the first part string"),
    ]
    assert read(tmp_path, ["x"]).column("x") == [1.0, 1, 4]
