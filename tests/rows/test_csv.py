"""CSV in: what counts as a number, a missing value, a row; and that ranges of any size say the
same."""

from __future__ import annotations

import csv
import gzip
import io
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradcli.diagnostics import GradcliError
from gradcli.rows.reading.lines import pieces

from .data import read

NAN, INF = math.nan, math.inf


def same(a: object, b: object) -> bool:
    return repr(a) == repr(b)  # nan is like nan here


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("1", 1.0), ("-2.5", -2.5), ("1e5", 1e5), (".5", 0.5), ("3.", 3.0), ("+7", 7.0),
        (" 4 ", 4.0), ('"2.5"', 2.5),
        ("nan", NAN), ("NaN", NAN), ("inf", INF), ("-inf", -INF), ("-0.0", -0.0),
        ("5e-324", 5e-324), ("true", 1.0),
        ("FALSE", 0.0), ("", None), ('""', None), ("9007199254740992", 2.0**53),
        ("1234567890123456800", 1234567890123456800.0),
        ("1e22", 1e22), ("123456789012345680000", 123456789012345680000.0), ("0.1", 0.1),
    ],
)  # fmt: skip
def test_what_a_cell_says(tmp_path: Path, cell: str, value: float | None) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"x,y\n1.5,0\n{cell},0\n")
    assert same(read(path, ["x", "y"]).column("x"), [1.5, value])


@pytest.mark.parametrize(
    ("cell", "reason"),
    [
        ("banana", 'column `x`: "banana" is not a number'),
        ("1_000", 'column `x`: "1_000" is not a number'),
        ("nan(abc)", 'column `x`: "nan(abc)" is not a number'),
        ("0x10", 'column `x`: "0x10" is not a number'),
        ("1,5", "expected 2 cells, got 3"),
        (
            "9007199254740993",
            "column `x`: the integer 9007199254740993 has more digits than a float64 holds",
        ),
        (
            "-9007199254740993",
            "column `x`: the integer -9007199254740993 has more digits than a float64 holds",
        ),
        ("\xff", "column `x`: b'\\xff' is not UTF-8 text"),
        ("y" * 100, f'column `x`: "{"y" * 40}…" is not a number'),
    ],
)
def test_a_bad_cell_costs_only_its_row(tmp_path: Path, cell: str, reason: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(f"x,y\n1,2\n{cell},0\n3,4\n".encode("latin-1"))
    found = read(path, ["x", "y"])
    assert found.rejected == {1: reason}
    assert found.column("y") == [2.0, "!", 4.0]


def test_too_few_cells(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,x\na,1\nb\nc,3\n")
    found = read(path, ["x"], ["id"])
    assert found.rejected == {1: "expected 2 cells, got 1"}
    assert found.kept("id") == ["a", None, "c"]
    assert found.column("x") == [1.0, "!", 3.0]
    path.write_text("id,x\na\n")
    assert read(path, ["x"], ["id"]).column("x") == ["!"]
    path.write_text("x\n1,5\n")
    assert read(path, ["x"]).rejected == {0: "expected 1 cell, got 2"}


def test_latin_1_with_a_row_that_is_too_long(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("id,x\né,1\né,é,2\né\na,5\n".encode("latin-1"))
    found = read(path, ["x"], ["id"])
    assert found.rejected == {
        0: "column `id`: b'\\xe9' is not UTF-8 text",
        1: "expected 2 cells, got 3",
        2: "expected 2 cells, got 1",
    }
    assert (found.column("x"), capfd.readouterr().err) == (["!", "!", "!", 5.0], "")


def test_a_column_of_true_and_false_is_bool(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x\ntrue\nfalse\n\ntrue\n")
    found = read(path, ["x"])
    assert found.blocks[0].columns["x"].dtype == bool
    assert found.column("x") == [True, False, None, True]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", ["", "END", "ENDENDEND"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("rows", [1, 2, 1000])
def test_lines(tmp_path: Path, end: str, last: str, mark: str, rows: int) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(
        (f'{mark}id,"x.0",x.1ENDu,1,2END"v,"" w",3,4END"y\nz",5,6' + last)
        .replace("END", end)
        .encode()
    )
    found = read(path, ["x"], ["id"], rows=rows)
    assert found.source.names == ("id", "x")
    assert found.column("x") == [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    assert found.kept("id") == ["u", 'v," w', "y\nz"]


def test_a_vector_that_is_not_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x.0,x.1\n1,2\n3,\n,\n")
    found = read(path, ["x"])
    assert found.column("x") == [[1.0, 2.0], "!", None]
    assert found.rejected == {1: "column `x.1` has no value, other elements of `x` have"}


def test_a_key_that_the_program_takes_too(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    for text in ("x,,\n01,,\n,,\n", "x\n01\n\nbanana\n"):
        path.write_text(text)
        found = read(path, ["x"], ["x"])
        assert found.column("x")[:2] == [1.0, None][: found.size]
        assert found.kept("x") == ["01", None, "banana"][: found.size]


def test_complex_and_matrix(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("z.re,z.im,w.1.0,w.0.0,w.0.1,w.1.1\n1,2,30,10,20,40\n")
    found = read(path, ["z", "w"])
    assert found.column("z") == [1 + 2j]
    assert found.column("w") == [[[10.0, 20.0], [30.0, 40.0]]]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it has no header: its first line must name the columns"),
        ("1,2\n3,4\n", "its first line must name the columns, and says `1,2`"),
        (
            'x,"' + "y" * 200_000 + '"\n',
            "its first line must name the columns: field larger than field limit (131072)",
        ),
        ("x,x\n3,4\n", "two of its columns are named `x`"),
        ("x,\xff\n3,4\n", "it is not UTF-8 text"),
        ("x,y\r1,2\r3,4\r", "its lines end with a carriage return alone: save it with line feeds"),
    ],
)
def test_a_header_that_is_none(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(GradcliError) as caught:
        read(path)
    assert caught.value.exit_code == 2
    assert caught.value.diagnostics[0].message == f"{path}: {reason}"


@pytest.mark.parametrize("rows", [1, 2, 10])
@pytest.mark.parametrize("last", ['3,"c\n4,d\n', '3,"', '"3\n\n', '"'])
def test_a_quote_that_never_ends(tmp_path: Path, last: str, rows: int) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f'x,y\n1,"a\nb"\n2,b\n{last}')
    found = read(path, ["x"], rows=rows)
    assert found.column("x") == [1.0, 2.0]
    assert [(bad.start, bad.reason) for bad in found.bad] == [
        (2, "a quote that begins in its last row never ends")
    ]


def test_quotes_in_names(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('\ufeff"a\n""b""",5" pipe\n1,2\n')
    assert read(path, ['a\n"b"', '5" pipe']).source.columns == ('a\n"b"', '5" pipe')
    assert read(path, ['5" pipe']).column('5" pipe') == [2.0]


def test_a_header_without_an_end(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"y" * (1 << 24))
    with pytest.raises(GradcliError, match="its first line has no end within 16 MiB"):
        read(path)


@pytest.mark.parametrize("line", ["1\r2", "1\r", "7,7\r8", '"1\n",2\r', "\r1", "1,\r"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_carriage_return_costs_only_its_row(tmp_path: Path, line: str, end: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f'x,y\n0,"a\rb"\n{line},3\n4,c\n5,d\n6,e\r'.replace("\n", end), newline="")
    found = read(path, ["x"], ["y"])
    assert list(found.rejected) == [1]
    assert found.column("x") == [0.0, "!", 4.0, 5.0, 6.0]
    assert found.kept("y")[0] == "a\rb"


def test_quotes_in_odd_places(tmp_path: Path) -> None:
    """Where rows are counted otherwise than pyarrow finds them, none of them can be trusted."""
    from gradcli.rows.reading.csv import CsvRange
    from gradcli.rows.reading.lines import Lines

    data = b'1,"a\nb"\n2,c\n'
    block = CsvRange(0, 3, Lines(len(data), data), ("x", "y"), ",").read(["x"], [])
    assert (
        block.unreadable
        == "cannot read it: 3 lines were counted, and 2 rows found: quotes in odd places?"
    )


def test_names_that_are_numbers(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("name,2019,2020\na,1,2\n")
    assert read(path, ["2020"]).column("2020") == [2.0]


def test_only_a_header(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x,y")
    assert read(path, ["x"]).blocks == []


@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_compressed(tmp_path: Path, rows: int) -> None:
    text = "x,id\n" + "".join(f"{k},k{k}\n" for k in range(500))
    (tmp_path / "a.csv.gz").write_bytes(
        gzip.compress(text[:100].encode()) + gzip.compress(text[100:].encode())
    )
    passed_over = b"\x50\x2a\x4d\x18\x04\0\0\0abcd"  # a frame that parallel tools begin with
    (tmp_path / "a.csv.zst").write_bytes(
        passed_over + pa.compress(text.encode(), codec="zstd", asbytes=True)
    )
    for ending in ("gz", "zst"):
        found = read(tmp_path / f"a.csv.{ending}", ["x"], ["id"], rows=rows)
        assert found.column("x") == list(range(500))
        assert found.kept("id") == [f"k{k}" for k in range(500)]


@pytest.mark.parametrize("ending", ["gz", "zst"])
def test_compressed_data_that_ends_too_early(tmp_path: Path, ending: str) -> None:
    text = "x\n" + "".join(f"{x!r}\n" for x in np.random.default_rng(1).random(300_000).tolist())
    whole = (
        gzip.compress(text.encode(), 1)
        if ending == "gz"
        else pa.compress(text.encode(), codec="zstd", asbytes=True)
    )
    (tmp_path / f"b.csv.{ending}").write_bytes(whole[: len(whole) - 5])
    (tmp_path / f"c.csv.{ending}").write_bytes(whole)
    found = read(tmp_path / f"*.csv.{ending}", ["x"], rows=10_000)
    assert [Path(bad.path).name for bad in found.bad] == [f"b.csv.{ending}"]
    assert 0 < found.bad[0].start == found.size - 300_000
    assert not found.rejected


def test_a_file_that_changes_is_unreadable(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x\n1\n2\n")
    from gradcli.rows.sources import open_source

    (where,) = open_source(str(path)).ranges(10)
    path.write_text("x\n1\n")
    block = where.read(["x"], [])  # type: ignore[union-attr]
    assert block.unreadable == "cannot read it: it has become shorter while it was read"
    assert block.rejected == dict.fromkeys(range(2), block.unreadable)


CELLS = st.text(st.sampled_from('ab ,"\n;é'), max_size=6)


@given(
    st.lists(st.tuples(CELLS, CELLS, st.floats()), max_size=30),
    st.integers(1, 12),
    st.integers(1, 40),
    st.booleans(),
)
def test_pieces_end_where_rows_do(
    rows: list[tuple[str, str, float]], size: int, chunk: int, crlf: bool
) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n" if crlf else "\n").writerows(rows)
    data = text.getvalue().encode()
    found = list(pieces([data[k : k + chunk] for k in range(0, len(data), chunk)], size, b","))
    assert b"".join(piece.data or b"" for piece in found) == data
    assert [piece.size for piece in found] == [
        min(size, len(rows) - k) for k in range(0, len(rows), size)
    ]
    offset = 0
    for k, piece in enumerate(found):
        assert (piece.offset, data[offset : offset + piece.length]) == (offset, piece.data)
        offset += piece.length
        parsed = list(csv.reader(io.StringIO((piece.data or b"").decode(), newline="")))
        assert parsed == [list(map(str, row)) for row in rows[k * size : (k + 1) * size]]


def test_a_quote_within_a_cell_means_nothing() -> None:
    data = b'5" pipe,1\n6" pipe and "more,2\n"a\nb",3\n'
    assert [piece.data for piece in pieces([data], 1, b",")] == [
        b'5" pipe,1\n',
        b'6" pipe and "more,2\n',
        b'"a\nb",3\n',
    ]


@given(st.lists(st.integers(0, 3), max_size=12), st.integers(1, 5), st.integers(1, 9))
def test_empty_lines_at_the_end_are_no_rows(blanks: list[int], size: int, chunk: int) -> None:
    data = b"".join(b"%d\n" % k + b"\n" * blank for k, blank in enumerate(blanks))
    rows = data.rstrip(b"\n").count(b"\n") + 1 if blanks else 0
    found = list(pieces([data[k : k + chunk] for k in range(0, len(data), chunk)], size, b","))
    assert sum(piece.size for piece in found) == rows
    assert all(piece.size == size for piece in found[:-1])
