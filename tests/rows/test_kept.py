"""Key columns of any type, from the files that have it to the formats that haven't: as they are, or
as text."""

from __future__ import annotations

import csv
import datetime
import json
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
from gradcli.rows.writing import WRITERS, Column

from .data import read
from .writing import written

DAY = datetime.date(2020, 1, 31)
BIG = 2**60 + 1

# What CSV says of the first row and of the third; the second has no value.
ARROW: list[tuple[Any, str, str]] = [
    (pa.array([DAY, None, DAY]), "2020-01-31", "2020-01-31"),
    (pa.array([5, None, 0], pa.timestamp("s")), "1970-01-01 00:00:05", "1970-01-01 00:00:00"),
    (pa.array([5, None, 0], pa.time32("s")), "00:00:05", "00:00:00"),
    (pa.array([5, None, 0], pa.duration("s")), "5", "0"),
    (pa.array([Decimal("1.25"), None, Decimal(3)]), "1.25", "3.00"),
    (pa.array([b"a\xff", None, b""]), "b'a\\xff'", "b''"),
    (pa.array([b"a\xff", None, b"bc"], pa.binary(2)), "b'a\\xff'", "b'bc'"),
    (pa.array([b"a", None, b"c"], pa.binary_view()), "b'a'", "b'c'"),
    (pa.array(["a", None, "c"], pa.large_string()), "a", "c"),
    (pa.array(["a", None, "c"], pa.string_view()), "a", "c"),
    (pa.array(["a", None, "c"]).dictionary_encode(), "a", "c"),
    (pa.DictionaryArray.from_arrays([0, None, 1], pa.array(["a", "c"], pa.string_view())), "a",
        "c"),
    (pa.RunEndEncodedArray.from_arrays(pa.array([1, 2, 3], pa.int32()), pa.array(["a", None, "c"])),
        "a", "c"),
    (pa.array([[1, 2], None, []]), "[1, 2]", "[]"),
    (pa.array([["a", None], None, []]), '["a", null]', "[]"),
    (pa.array([{"a": 1, "b": DAY}, None, {}]), '{"a": 1, "b": "2020-01-31"}',
        '{"a": null, "b": null}'),
    (pa.array([[1], None, []], pa.list_(pa.timestamp("ns"))), '["1970-01-01 00:00:00.000000001"]',
        "[]"),
    (pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.duration("ns"))), '[["a", "1"]]',
        "[]"),
    (pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.int64())), '[["a", 1]]', "[]"),
    (pa.array([1.5, None, 2], pa.float16()), "1.5", "2"),
    (pa.array([True, None, False]), "true", "false"),
    (pa.array([3, None, -3], pa.int16()), "3", "-3"),
    (pa.array([BIG, None, 3]), str(BIG), "3"),
    (pa.array([2**64 - 1, None, 3], pa.uint64()), str(2**64 - 1), "3"),
    (pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, None, 0], pa.int8())), "1", "0"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("values", "first", "third"), ARROW, ids=lambda value: str(getattr(value, "type", ""))
)
def test_columns_of_arrow(tmp_path: Path, values: Any, first: str, third: str) -> None:
    table = pa.table({"k": values})
    with ipc.new_file(str(tmp_path / "in.arrow"), table.schema) as writer:
        writer.write_table(table)
    (block,) = read(tmp_path / "in.arrow", [], ["k"]).blocks
    kept = block.kept["k"]
    assert read(tmp_path / "in.arrow").source._first.kinds == {"k": str(kept.type)}
    columns = [Column("k", kept), Column("y", np.arange(3.0))]
    written(tmp_path / "a.csv", [columns])
    with open(tmp_path / "a.csv", newline="") as file:
        assert [row["k"] for row in csv.DictReader(file)] == [first, "", third]
    rows = [json.loads(line)["k"] for line in written(tmp_path / "a.jsonl", [columns]).splitlines()]
    assert [row if row is None or isinstance(row, str) else json.dumps(row) for row in rows] in (
        [first, None, third],
        [first, None, f"{third}.0"],
    )
    for format, reads in [("parquet", pq.read_table), ("arrow", feather.read_table)]:
        written(tmp_path / f"a.{format}", [columns, columns])
        assert reads(tmp_path / f"a.{format}")["k"].combine_chunks().cast(
            kept.type
        ) == pa.concat_arrays([kept, kept])
    is_number = (
        pa.types.is_floating(kept.type)
        or pa.types.is_integer(kept.type)
        or pa.types.is_boolean(kept.type)
    )
    if first in (str(BIG), str(2**64 - 1)):
        for format in ("npy", "npz"):
            with pytest.raises(
                GradcliError, match="`k` has integers of more digits than a float64 holds"
            ) as caught:
                written(tmp_path / f"a.{format}", [columns])
            assert caught.value.diagnostics[0].code == "E006"
        return
    written(tmp_path / "a.npz", [columns])
    found = np.load(tmp_path / "a.npz")["k"].tolist()
    if is_number:
        written(tmp_path / "a.npy", [columns])
        assert repr(found) == repr(np.load(tmp_path / "a.npy")[:, 0].tolist())
        assert [found[0], str(found[1]), found[2]] == [
            float(kept[0].as_py()),
            "nan",
            float(kept[2].as_py()),
        ]
    else:
        assert found == [first, "", third]
        with pytest.raises(
            GradcliError, match="`k` holds text, which an NPY file of numbers can't"
        ):
            written(tmp_path / "a.npy", [columns])


def test_integers_of_npz_that_lack_a_value_in_another_block(tmp_path: Path) -> None:
    """That they become floats is only known in the end."""
    first, second = Column("k", pa.array([BIG])), Column("k", pa.array([1, None]))
    with pytest.raises(
        GradcliError,
        match="`k` has integers of more digits than a float64 holds, and an NPZ file says with nan",
    ):
        written(tmp_path / "a.npz", [[first], [second]])
    written(tmp_path / "a.npz", [[first], [first]])
    assert np.load(tmp_path / "a.npz")["k"].tolist() == [BIG, BIG]
    written(tmp_path / "a.npz", [[Column("k", pa.array([2**60]))], [second]])
    assert repr(np.load(tmp_path / "a.npz")["k"].tolist()) == repr([2.0**60, 1.0, float("nan")])


NUMPY: list[tuple[Any, str]] = [
    (np.array(["2020-01-31"], "M8[D]"), "2020-01-31"),
    (np.array(["2020"], "M8[Y]"), "2020-01-01"),
    (np.array(["2020-01-31T05"], "M8[h]"), "2020-01-31 05:00:00"),
    (np.array([2], "m8[h]"), "7200"),
    (np.array([b"a\xff"]), "b'a\\xff'"),
    (np.array(["\u00e9"], ">U3"), "\u00e9"),
    (np.array([1.5], np.longdouble), "1.5"),
    (np.array([1.5], ">f2"), "1.5"),
    (np.array([BIG], ">i8"), str(BIG)),
    (np.array([2**64 - 1], np.uint64), str(2**64 - 1)),
]


@pytest.mark.parametrize(
    ("values", "text"), NUMPY, ids=lambda value: str(getattr(value, "dtype", ""))
)
def test_columns_of_numpy(tmp_path: Path, values: Any, text: str) -> None:
    np.savez(tmp_path / "in.npz", k=values)
    (block,) = read(tmp_path / "in.npz", [], ["k"]).blocks
    columns = [Column("k", block.kept["k"])]
    assert written(tmp_path / "a.csv", [columns]).decode() == f"k\n{text}\n"
    for format in WRITERS:
        if format != "npy":
            written(tmp_path / f"a.{format}", [columns])
    assert np.array_equal(np.load(tmp_path / "a.npz")["k"], values)


def test_what_cannot_be_kept(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", v=np.array([b"a"], "V4"), t=np.array([1], "m8[M]"), x=np.zeros(1))
    for name in "vt":
        with pytest.raises(GradcliError, match=f"column `{name}` holds .*, which can't be kept"):
            read(tmp_path / "a.npz", ["x"], [name])
    feather.write_feather(
        pa.table({"i": pa.array([pa.MonthDayNano([1, 2, 3])])}), tmp_path / "a.arrow"
    )
    with pytest.raises(
        GradcliError, match="column `i` holds month_day_nano_interval, which can't be kept"
    ):
        read(tmp_path / "a.arrow", [], ["i"])


@pytest.mark.parametrize("make", [ipc.new_file, ipc.new_stream])
def test_text_that_is_not_utf8(tmp_path: Path, make: Any) -> None:
    table = pa.table({"k": pa.array([b"a\xff", None, b"1"]).view(pa.string())})
    with make(str(tmp_path / "a.arrow"), table.schema) as writer:
        writer.write_table(table)
    for numeric, keep in [([], ["k"]), (["k"], [])]:
        found = read(tmp_path / "a.arrow", numeric, keep)
        assert found.rejected == {0: "column `k`: b'a\\xff' is not UTF-8 text"}
    assert found.column("k") == ["!", None, 1.0]
    lists = pa.table(
        {"k": pa.ListArray.from_arrays(pa.array([0, 1, 2, 3], pa.int32()), table["k"].chunk(0))}
    )
    with make(str(tmp_path / "a.arrow"), lists.schema) as writer:
        writer.write_table(lists)
    assert read(tmp_path / "a.arrow", [], ["k"]).blocks[0].unreadable.startswith("cannot read it: ")


def test_parts_with_different_kinds_of_text(tmp_path: Path) -> None:
    for k, kind in enumerate(
        [
            pa.string(),
            pa.large_string(),
            pa.string_view(),
            pa.dictionary(pa.int8(), pa.large_string()),
        ]
    ):
        pq.write_table(pa.table({"k": pa.array(["a", "b"]).cast(kind)}), tmp_path / f"{k}.parquet")
    found = read(tmp_path, [], ["k"])
    assert found.bad == []
    assert [block.kept["k"].to_pylist() for block in found.blocks] == [["a", "b"]] * 4
