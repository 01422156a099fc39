"""Parquet out: what other readers find in it, that they can leave out what a query doesn't need,
and how large it is."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from gradcli.rows.thrift import read_struct
from gradcli.rows.writing import WRITERS, Column
from gradcli.rows.writing.parquet import split

from .writing import example, written

COMPRESSIONS = ("none", "snappy", "zstd")


def table_of(blocks: Sequence[Sequence[Column]], path: Path, compression: str = "zstd") -> Path:
    """A file of these blocks; after each, another writer goes on."""
    position = None
    for block in blocks:
        writer = WRITERS["parquet"](str(path), position, compression)
        position = writer.append(block)
        writer.close()
    writer = WRITERS["parquet"](str(path), position, compression)
    writer.finish()
    return path


def typed(n: int) -> list[Column]:
    """A block with a kept column of each type that Parquet has, some of them without a value in
    some rows."""
    values: dict[str, Any] = {
        "list": pa.array(
            [[[1.0, None], None, []][k % 3] for k in range(n)], pa.list_(pa.float64())
        ),
        "lists": pa.array([[[1], [2, 3]], None] * (n // 2), pa.list_(pa.list_(pa.int64()))),
        "day": pa.array(
            [date(2024, 1, 1 + k % 9) if k % 5 else None for k in range(n)], pa.date32()
        ),
        "price": pa.array([Decimal(k) / 4 for k in range(n)], pa.decimal128(12, 2)),
        "pair": pa.array([{"a": k, "b": f"b{k}"} for k in range(n)]),
        "text": pa.array([f"\u00e9{k % 7}" if k % 4 else None for k in range(n)], pa.string()),
        "i8": pa.array([k % 100 for k in range(n)], pa.int8()),
        "u64": pa.array([2**64 - 1 - k for k in range(n)], pa.uint64()),
    }
    numbers = np.arange(n) * 0.1
    numbers[3] = -math.inf
    return [
        *(Column(name, array) for name, array in values.items()),
        Column("f", numbers, np.arange(n) % 7 == 2),
        Column("i", 2**60 + np.arange(n), np.arange(n) % 3 == 0),
        Column("ok", np.arange(n) % 2 == 0, np.arange(n) % 11 == 5),
        Column("s", (np.arange(n) / 3).astype(np.float32)),
    ]


def of_pyarrow(path: Path) -> dict[str, list[Any]]:
    return dict(pq.ParquetFile(path, page_checksum_verification=True).read().to_pydict())


def of_polars(path: Path) -> dict[str, list[Any]]:
    return dict(pytest.importorskip("polars").read_parquet(path).to_dict(as_series=False))


def of_duckdb(path: Path) -> dict[str, list[Any]]:
    found = pytest.importorskip("duckdb").sql(f"select * from '{path}'")
    return {
        name: list(column)
        for name, column in zip(found.columns, zip(*found.fetchall(), strict=True), strict=True)
    }


def of_pandas(path: Path) -> dict[str, list[Any]]:
    frame = pytest.importorskip("pandas").read_parquet(path, dtype_backend="pyarrow")
    return dict(pa.Table.from_pandas(frame, preserve_index=False).to_pydict())


@pytest.mark.parametrize("reader", [of_pyarrow, of_polars, of_duckdb, of_pandas])
@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_what_readers_find(
    tmp_path: Path, reader: Callable[[Path], dict[str, list[Any]]], compression: str
) -> None:
    sizes = (40, 4, 5000, 1000)
    path = table_of([typed(n) for n in sizes], tmp_path / "a.parquet", compression)
    expected: dict[str, list[Any]] = {}
    for n in sizes:
        for column in typed(n):
            values = (
                column.values.to_pylist()
                if isinstance(column.values, pa.Array)
                else column.values.tolist()
            )
            if column.mask is not None:
                values = [
                    None if gone else value
                    for value, gone in zip(values, column.mask.tolist(), strict=True)
                ]
            expected.setdefault(column.name, []).extend(values)
    assert reader(path) == expected
    assert pq.read_schema(path).field("s").type == pa.float32()


@pytest.mark.parametrize("reader", [of_polars, of_duckdb])
def test_readers_agree_about_blocks_of_all_sizes(
    tmp_path: Path, reader: Callable[[Path], dict[str, list[Any]]]
) -> None:
    path = tmp_path / "a.parquet"
    written(path, [example(n, n) for n in (1000, 1, 0, 70_000)], cuts=[0, 1, 2], garbage=b"PAR1")
    found, expected = reader(path), of_pyarrow(path)
    for name in ("i", "t", "b", "none", "df/dx.0"):
        assert found[name] == expected[name]
    assert np.asarray(found["f"]).tobytes() == np.asarray(expected["f"]).tobytes()
    assert pq.ParquetFile(path).metadata.num_row_groups == 3
    assert pq.read_table(path, memory_map=True)["i"].to_pylist() == expected["i"]
    assert (
        pq.ParquetFile(path, pre_buffer=False, buffer_size=4096).read()["i"].to_pylist()
        == expected["i"]
    )


def keys_of_polars(path: Path) -> list[int]:
    polars = pytest.importorskip("polars")
    return list(polars.scan_parquet(path).filter(polars.col("y") < 9.5).select("k").collect()["k"])


def keys_of_duckdb(path: Path) -> list[int]:
    return [
        row[0]
        for row in pytest.importorskip("duckdb")
        .sql(f"select k from '{path}' where y < 9.5")
        .fetchall()
    ]


def keys_of_pyarrow(path: Path) -> list[int]:
    return list(
        ds.dataset(path).to_table(columns=["k"], filter=ds.field("y") < 9.5)["k"].to_pylist()
    )


@pytest.mark.parametrize("query", [keys_of_pyarrow, keys_of_polars, keys_of_duckdb])
def test_what_a_query_does_not_need_is_not_read(
    tmp_path: Path, query: Callable[[Path], list[int]]
) -> None:
    """The blocks that its condition leaves out are made unreadable: a reader that looks at them
    fails. (For polars nan is the largest number, and statistics leave it out: it goes by them where
    there is an upper limit.)"""
    blocks = [
        [Column("k", np.arange(n, n + 10)), Column("y", np.arange(n, n + 10) + 0.25)]
        for n in (0, 10, 20, 30)
    ]
    path = table_of(blocks, tmp_path / "a.parquet")
    metadata, data = pq.read_metadata(path), bytearray(path.read_bytes())
    for group in range(1, 4):
        for chunk in (metadata.row_group(group).column(k) for k in range(2)):
            begin = chunk.dictionary_page_offset or chunk.data_page_offset
            data[begin : begin + chunk.total_compressed_size] = (
                b"\xff" * chunk.total_compressed_size
            )
    path.write_bytes(data)
    assert query(path) == list(range(10))
    with pytest.raises(OSError, match=r"(?i)thrift|page|checksum"):
        pq.read_table(path)


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_footers(tmp_path: Path, compression: str) -> None:
    """Sizes and places are right, each column has statistics, and each page a checksum."""
    path = table_of([example(n, n) for n in (300, 70_000)], tmp_path / "a.parquet", compression)
    metadata, data = pq.read_metadata(path), path.read_bytes()
    begin = 0
    for group in map(metadata.row_group, range(2)):
        chunks = [group.column(k) for k in range(group.num_columns)]
        assert group.total_byte_size == sum(chunk.total_uncompressed_size for chunk in chunks)
        for chunk in chunks:
            assert chunk.compression == {"none": "UNCOMPRESSED"}.get(
                compression, compression.upper()
            )
            assert chunk.statistics.null_count is not None
            assert chunk.statistics.has_min_max == (chunk.path_in_schema != "none")
            at = chunk.dictionary_page_offset or chunk.data_page_offset
            assert at >= begin
            begin = at + chunk.total_compressed_size
            while at < begin:
                header, at = read_struct(data, at)
                assert 4 in header
                at += header[3][1]
            assert at == begin


def test_a_block_has_a_footer_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    writer = WRITERS["parquet"](str(path), None)
    writer.append(example(5))
    writer.close()
    data = path.read_bytes()
    (length,) = struct.unpack("<I", data[-8:-4])
    assert read_struct(data[-8 - length : -8])[0][3] == (6, 5)
    assert pq.read_table(path).num_rows == 5


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_sizes(tmp_path: Path, compression: str) -> None:
    """A column whose values repeat takes a small part of its memory; one whose values differ no
    more than that and a bit."""
    n = 2**16
    random = np.random.default_rng(0)
    few, same, distinct = (
        random.choice(random.standard_normal(20), n),
        np.full(n, 0.1),
        random.standard_normal(n),
    )
    sizes = {}
    for name, values in (("few", few), ("same", same), ("distinct", distinct)):
        path = table_of([[Column("x", values)]], tmp_path / f"{name}.parquet", compression)
        assert pq.read_table(path)["x"].to_numpy().tobytes() == values.tobytes()
        sizes[name] = path.stat().st_size / values.nbytes
    assert sizes["same"] < 0.005
    assert sizes["few"] < 0.1
    assert sizes["distinct"] < 1.04


def test_split_takes_a_file_apart(tmp_path: Path) -> None:
    path = table_of([[Column("x", np.arange(3.0))]], tmp_path / "a.parquet", "none")
    footer, data = split(path.read_bytes())
    assert footer[3] == (6, 3)
    assert np.arange(3.0).tobytes() in bytes(data)
