"""Files with wrong bytes: whatever they are, it is said what is wrong, and nothing else happens."""

from __future__ import annotations

import gzip
import random
import re
import struct
import zipfile
from contextlib import suppress
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pytest

from gradcli.diagnostics import GradcliError
from gradcli.rows.blocks import BadPart
from gradcli.rows.sources import open_source

from .data import npy, read

TABLE = pa.table({"x": np.arange(11.0), "k": [f"k{k}" for k in range(11)]})
LINES = b'x,k\n1,"a"\n2,b\n3,"c\nd"\n'


def arrow(make: Any) -> bytes:
    out = pa.BufferOutputStream()
    with make(out, TABLE.schema) as writer:
        writer.write_table(TABLE, max_chunksize=3)
    return bytes(out.getvalue())


def parquet() -> bytes:
    out = pa.BufferOutputStream()
    pq.write_table(TABLE, out, row_group_size=4)
    return bytes(out.getvalue())


def npz(path: Path, save: Any = np.savez) -> bytes:
    save(path / "a.npz", x=np.arange(11.0), k=np.array(TABLE["k"].to_pylist()))
    return (path / "a.npz").read_bytes()


FILES = {
    "a.parquet": lambda path: parquet(),
    "a.arrow": lambda path: arrow(ipc.new_file),
    "stream.arrow": lambda path: arrow(ipc.new_stream),
    "a.npz": npz,
    "packed.npz": lambda path: npz(path, np.savez_compressed),
    "a.npy": lambda path: npy(np.zeros(11, [("x", "f8"), ("k", "U3")])),
    "a.csv": lambda path: LINES,
    "a.csv.gz": lambda path: gzip.compress(LINES * 20),
    "a.csv.zst": lambda path: pa.compress(LINES * 20, codec="zstd", asbytes=True),
    "a.jsonl": lambda path: b'{"x": 1, "k": "a"}\n{"x": [1, 2], "k": null}\n',
}


@pytest.mark.parametrize("name", FILES)
def test_wrong_bytes(tmp_path: Path, name: str) -> None:
    data, path = FILES[name](tmp_path), tmp_path / f"damaged-{name}"
    chance = random.Random(name)
    for _ in range(60):
        damaged = bytearray(data)
        for _ in range(chance.choice([1, 1, 2, 5])):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        path.write_bytes(
            damaged[: chance.choice([len(damaged)] * 9 + [chance.randrange(len(damaged))])]
        )
        with suppress(GradcliError):
            for where in islice(open_source(str(path)).ranges(4, numeric=["x"], keep=["k"]), 50):
                if not isinstance(where, BadPart):
                    block = where.read(["x"], ["k"])
                    assert set(block.rejected) <= set(range(block.size))


SOUND = pa.table(
    {
        "x": np.random.default_rng(1).standard_normal(18),
        "y": pa.array([None if k % 5 == 2 else k % 3 for k in range(18)]),
        "d": pa.array([Decimal(k) / 4 for k in range(18)], pa.decimal128(12, 2)),
        "k": [f"k{k % 4}" for k in range(18)],
    }
)
WAYS: dict[str, dict[str, Any]] = {
    "plain": {"compression": "none", "use_dictionary": False},
    "dictionaries": {"compression": "zstd"},
    "version 2": {"compression": "snappy", "data_page_version": "2.0"},
    "without a schema of Arrow's": {"compression": "none", "store_schema": False},
}


def rows_of(path: Path) -> dict[int, Any]:
    """The values of the rows that can be read, by their numbers; {} where the file says that it
    can't be."""
    found = {}
    with suppress(GradcliError):
        for where in islice(
            open_source(str(path)).ranges(9, numeric=["x", "y", "d"], keep=["k"]), 50
        ):
            if isinstance(where, BadPart):
                continue
            block = where.read(["x", "y", "d"], ["k"])
            assert not block.unreadable or "cannot read row group" in block.unreadable
            for row in range(block.size) if not block.unreadable else ():
                if row not in block.rejected:
                    gone = [name for name, mask in block.missing.items() if mask[row]]
                    numbers = {
                        name: values[row]
                        for name, values in block.columns.items()
                        if name not in gone
                    }
                    key = block.kept["k"][row].as_py()
                    found[block.start + row] = (
                        numbers,
                        key.decode() if isinstance(key, bytes) else key,
                    )
    return found


@pytest.mark.parametrize("way", WAYS)
def test_flipped_bits_of_parquet(tmp_path: Path, way: str) -> None:
    """One wrong bit, anywhere in a file that has checksums: a row is as it was, or it is told that
    it can't be read. (A key may be bytes instead of text: that something is text a footer says only
    once.)"""
    path = tmp_path / "a.parquet"
    pq.write_table(SOUND, path, row_group_size=9, write_page_checksum=True, **WAYS[way])
    data, sound, chance = path.read_bytes(), rows_of(path), random.Random(way)
    assert len(sound) == 18
    lost = 0
    for bit in chance.sample(range(8 * len(data)), 400):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        found = rows_of(path)
        assert found.items() <= sound.items(), f"bit {bit}"
        lost += len(found) < 18
    assert lost > 100


def test_an_encrypted_array(tmp_path: Path) -> None:
    data = bytearray(npz(tmp_path))
    for mark, flags in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        data[data.find(mark) + flags] |= 1
    (tmp_path / "a.npz").write_bytes(data)
    with pytest.raises(GradcliError, match="its array `x` is encrypted"):
        read(tmp_path / "a.npz")


def test_two_arrays_of_one_name(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("x.npy", npy(np.zeros(2)))
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("x.npy", npy(np.zeros(2)))
    with pytest.raises(GradcliError, match="two of its columns are named `x`"):
        read(tmp_path / "a.npz")


def test_a_footer_that_lies(tmp_path: Path) -> None:
    data = bytearray(arrow(ipc.new_file))
    begin = len(data) - 10 - struct.unpack_from("<i", data, len(data) - 10)[0]
    for at in range(begin, len(data) - 34):
        offset, header, body = struct.unpack_from("<qi4xq", data, at)
        if min(offset, header, body) > 0 and offset + header + body < begin:
            struct.pack_into("<q", data, at, 1 << 40)
    (tmp_path / "a.arrow").write_bytes(data)
    with pytest.raises(GradcliError, match="its footer says that there are batches outside of it"):
        read(tmp_path / "a.arrow")


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_a_wrong_bit_in_a_large_array(tmp_path: Path, save: Any) -> None:
    """The checksum is of the whole array: a range that is read by itself knows nothing of it."""
    path = tmp_path / "a.npz"
    save(path, x=np.arange(20_000.0))
    data = path.read_bytes()
    for at in range(len(data) // 3, len(data) // 2, len(data) // 50):
        damaged = bytearray(data)
        damaged[at] ^= 16
        path.write_bytes(damaged)
        (part,) = open_source(str(path)).ranges(1000, numeric=["x"], keep=[])
        assert isinstance(part, BadPart)
        assert re.search("its checksum is another one|cannot read it: Error -3", part.reason)
