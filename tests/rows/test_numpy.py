"""NPY and NPZ in: ranges of arrays in any order, and files that can't be used."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradcli.diagnostics import GradcliError
from gradcli.rows.sources import open_source

from .data import npy, read


@pytest.mark.parametrize("rows", [1, 7, 1000])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(
    "array",
    [
        np.arange(20.0), np.arange(60, dtype=">i4").reshape(20, 3),
        np.arange(120, dtype=np.float32).reshape(20, 2, 3),
        np.arange(20) % 2 == 0, np.arange(20) + 1j, np.zeros((20, 0)),
        np.arange(20, dtype=np.uint8),
    ],
    ids=lambda array: f"{array.dtype}{array.shape}",
)  # fmt: skip
def test_npy_and_npz(tmp_path: Path, array: Any, order: Any, rows: int) -> None:
    array = np.asarray(array, order=order)
    np.save(tmp_path / "a.npy", array)
    np.savez(tmp_path / "a.npz", **{"x": array, "df/dx": np.arange(20)})
    found = read(tmp_path / "a.npy", [""], rows=rows)
    assert found.source.columns == ("",)
    assert found.source.rows == 20
    assert found.column("") == array.tolist()
    found = read(tmp_path / "a.npz", ["x", "df/dx"], ["df/dx"], rows=rows)
    assert found.column("x") == array.tolist()
    assert found.column("df/dx") == found.kept("df/dx") == list(range(20))
    kinds = {"i": "int64", "u": "int64", "f": "float64", "b": "bool", "c": "complex128"}
    assert str(found.blocks[0].columns["x"].dtype) == kinds[array.dtype.kind]


def test_compressed_npz_and_structured_npy(tmp_path: Path) -> None:
    x, name = np.arange(40.0).reshape(20, 2), np.array([f"k{k}" for k in range(20)])
    np.savez_compressed(tmp_path / "a.npz", x=x, name=name)
    found = read(tmp_path / "a.npz", ["x"], ["name"], rows=7)
    assert (found.column("x"), found.kept("name")) == (x.tolist(), name.tolist())
    records = np.zeros(20, [("x", "f8", (2,)), ("name", "U3"), ("n", "i4")])
    records["x"], records["name"] = x, name
    np.save(tmp_path / "a.npy", records)
    found = read(tmp_path / "a.npy", ["x", "n"], ["name"], rows=7)
    assert found.source.columns == ("x", "name", "n")
    assert (found.column("x"), found.kept("name"), found.column("n")) == (
        x.tolist(),
        name.tolist(),
        [0] * 20,
    )


@pytest.mark.parametrize(
    ("arrays", "reason"),
    [
        ({"x": np.zeros(3), "y": np.zeros(4)}, "its arrays differ in length: `x` 3, `y` 4"),
        (
            {"x": np.array(3.0)},
            "its array `x` can't be used: it holds a single value: its first axis must be the rows",
        ),
        (
            {"x": np.array([None, 1])},
            "its array `x` can't be used: it holds Python objects, which are never read",
        ),
        (
            {"x": np.zeros(3, "i4,f8")},
            "its array `x` has fields: save these as arrays, or it alone as an NPY file",
        ),
        ({}, "it has no arrays"),
    ],
)
def test_npz_that_cannot_be_used(tmp_path: Path, arrays: dict[str, Any], reason: str) -> None:
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(GradcliError) as caught:
        read(tmp_path / "a.npz")
    assert caught.value.diagnostics[0].message.endswith(reason)


@pytest.mark.parametrize(
    "name", ["a.npy", "a.npz", "a.parquet", "a.arrow", "a.csv.gz", "a.csv.zst"]
)
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x1f\x8b",
        b"ARROW1\0\0",
        b"\x93NUMPY\x01",
        b"PK\x03\x04",
        b"\x28\xb5\x2f\xfdabc",
        b"x" * 99,
    ],
)
def test_what_is_not_what_it_says(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    if ".csv" in name and data in (b"ARROW1\0\0", b"PK\x03\x04", b"x" * 99):
        assert read(tmp_path / name).source.columns == (data.decode(),)
    else:
        with pytest.raises(GradcliError) as caught:
            read(tmp_path / name)
        assert caught.value.exit_code == 2


def test_integers_too_large_for_int64(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([[1, 2], [3, 2**64 - 1]], np.uint64))
    assert read(tmp_path / "a.npy", [""]).column("") == [[1, 2], "!"]


def test_arrays_that_cannot_be_read_in_order(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "a.npz", x=np.asfortranarray(np.zeros((4, 2))), y=np.zeros(4))
    (bad,) = read(tmp_path / "a.npz", ["x"]).bad
    assert (
        bad.reason
        == "its array lies column by column: save it in C order, or uncompressed in a file"
    )
    (tmp_path / "a.npy").write_bytes(gzip.compress(npy(np.zeros(4))))
    with pytest.raises(GradcliError, match="it is compressed: an NPY file is read where it lies"):
        read(tmp_path / "a.npy")


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("ending", ["npy", "npz"])
def test_arrays_are_read_where_they_lie(tmp_path: Path, order: Any, ending: str) -> None:
    path, array = (
        tmp_path / f"a.{ending}",
        np.arange(60.0).reshape(10, 3, 2).astype(">f8", order=order),
    )
    if ending == "npy":
        np.save(path, array)
    else:
        np.savez(path, array)
    (name,) = open_source(str(path)).columns
    found = [where.read([name], []).columns[name] for where in open_source(str(path)).ranges(4)]  # type: ignore[union-attr]
    assert [len(block) for block in found] == [4, 4, 2]
    assert np.concatenate(found).tolist() == array.tolist()


def test_an_array_that_becomes_shorter(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.arange(10.0))
    (where,) = open_source(str(path)).ranges(10)
    path.write_bytes(path.read_bytes()[:-8])
    assert (
        where.read([""], []).unreadable == "cannot read it: it has become shorter while it was read"
    )  # type: ignore[union-attr]
