"""Where rows come from: files, folders, globs, standard input; what is passed over, and what is
said of what isn't there."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.ipc as ipc
import pytest

from gradcli.diagnostics import GradcliError
from gradcli.rows.formats import ENDINGS, format_of
from gradcli.rows.sources import OPENERS, open_source
from gradcli.rows.writing import WRITERS

from .data import read


def parts(folder: Path, count: int = 3) -> Path:
    for k in range(count):
        (folder / f"part-{k}.csv").write_text(f"x\n{2 * k}\n{2 * k + 1}\n")
    return folder


def test_a_folder_in_natural_order(tmp_path: Path) -> None:
    parts(tmp_path, 12)
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / ".part-0.csv.crc").write_text("")
    (tmp_path / "folder.csv").mkdir()
    found = read(tmp_path, ["x"], rows=100)
    assert found.column("x") == list(range(24))
    assert [block.start for block in found.blocks] == list(range(0, 24, 2))
    assert read(tmp_path / "part-*.csv", ["x"]).column("x") == list(range(24))
    assert read(tmp_path / "part-1*.csv", ["x"]).column("x") == [2, 3, 20, 21, 22, 23]


def test_resuming_passes_over_ranges(tmp_path: Path) -> None:
    parts(tmp_path)
    (tmp_path / "part-1.csv").write_text("y\n1\n")
    source = open_source(str(tmp_path))
    every = [(type(where).__name__, where.start) for where in source.ranges(1, numeric=["x"])]
    assert every == [
        ("CsvRange", 0),
        ("CsvRange", 1),
        ("BadPart", 2),
        ("CsvRange", 2),
        ("CsvRange", 3),
    ]
    for first in range(7):
        assert [
            (type(where).__name__, where.start) for where in source.ranges(1, first, ["x"])
        ] == every[first:]


def test_identity(tmp_path: Path) -> None:
    before = open_source(str(parts(tmp_path))).identity
    assert json.loads(json.dumps(before)) == before == open_source(str(tmp_path)).identity
    (tmp_path / "part-1.csv").write_text("x\n1\n2\n3\n")
    assert open_source(str(tmp_path)).identity != before
    assert open_source(str(tmp_path)).bytes == sum(
        path.stat().st_size for path in tmp_path.iterdir()
    )


def test_a_part_that_is_no_csv(tmp_path: Path) -> None:
    parts(tmp_path)
    (tmp_path / "part-0.csv").write_bytes(b"")
    found = read(tmp_path, ["x"])
    assert found.column("x") == [2.0, 3.0, 4.0, 5.0]
    assert [(bad.path, bad.start) for bad in found.bad] == [(str(tmp_path / "part-0.csv"), 0)]


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("a.csv", "csv"), ("a.CSV.GZ", "csv"), ("a.tsv.zst", "tsv"), ("a.ndjson", "jsonl"),
        ("a.pq", "parquet"),
        ("a.feather", "arrow"), ("a.parquet.gz", None), ("a.txt", None), ("a", None),
        ("a.gz", None),
    ],
)  # fmt: skip
def test_endings(name: str, format: str | None) -> None:
    assert format_of(name) == format


def empty(path: Path) -> str:
    return str(path)


def mixed(path: Path) -> str:
    (path / "a.csv").write_text("x\n1\n")
    (path / "b.jsonl").write_text('{"x": 1}\n')
    return str(path)


def unknown(path: Path) -> str:
    (path / "a.xlsx").write_bytes(b"\0\1\2")
    return str(path / "a.xlsx")


def every_part_bad(path: Path) -> str:
    (path / "a.csv").write_text("")
    (path / "b.csv").write_text("")
    return str(path)


def pipe(path: Path) -> str:
    os.mkfifo(path / "a.csv")
    return str(path / "a.csv")


@pytest.mark.parametrize(
    ("make", "code", "message"),
    [
        (
            lambda path: f"{path}/nowhere.csv",
            "E002",
            "nowhere.csv: cannot read it: no such file or folder",
        ),
        (lambda path: f"{path}/*.csv", "E002", "*.csv: no file matches"),
        (empty, "E002", ": the folder has no part files"),
        (mixed, "E002", ": parts of several formats: csv, jsonl"),
        (unknown, "E002", "a.xlsx: don't know how to read this"),
        (pipe, "E002", "a.csv: it isn't a regular file: blocks are read in any order, and again"),
        (every_part_bad, "E002", "a.csv: it has no header: its first line must name the columns"),
    ],
)
def test_what_is_not_there(
    tmp_path: Path, make: Callable[[Path], str], code: str, message: str
) -> None:
    with pytest.raises(GradcliError) as caught:
        open_source(make(tmp_path))
    assert (caught.value.diagnostics[0].code, caught.value.exit_code) == (code, 2)
    assert caught.value.diagnostics[0].message.endswith(message)


def test_where_no_part_can_be_read(tmp_path: Path) -> None:
    with pytest.raises(GradcliError) as caught:
        open_source(every_part_bad(tmp_path))
    assert caught.value.diagnostics[0].help == "none of the 2 parts can be read"


def test_a_format_that_there_is_not(tmp_path: Path) -> None:
    path = str(tmp_path / "a.xlsx")
    Path(path).write_text("x\n1\n")
    assert read(path, ["x"], format="csv").column("x") == [1.0]
    with pytest.raises(GradcliError, match="there is no row format `parket`") as caught:
        open_source(path, "parket")
    assert caught.value.diagnostics[0].help.startswith("did you mean `parquet`?")
    with pytest.raises(GradcliError, match="npz can't be read from standard input"):
        open_source("-", "npz")


# ---- standard input ------------------------------------------------------------------------------

FROM_STDIN = """
import sys
from gradcli.rows.sources import open_source
source = open_source("-", sys.argv[1] or None)
ranges = list(source.ranges(7))
assert source.rows in (None, 20) and source.bytes is None
print([value for where in ranges for value in where.read([sys.argv[2]], []).columns[sys.argv[2]].tolist()])
"""


def stdin_data() -> dict[str, tuple[str, bytes]]:
    csv = "x\n" + "".join(f"{k}\n" for k in range(20))
    table = pa.table({"x": [float(k) for k in range(20)]})
    stream, file = pa.BufferOutputStream(), pa.BufferOutputStream()
    with ipc.new_stream(stream, table.schema) as writer, ipc.new_file(file, table.schema) as other:
        writer.write_table(table)
        other.write_table(table)
    npy = io.BytesIO()
    np.save(npy, np.arange(20.0))
    return {
        "csv": ("csv", csv.encode()),
        "csv.gz": ("csv", gzip.compress(csv.encode())),
        "csv.zst": ("csv", pa.compress(csv.encode(), codec="zstd", asbytes=True)),
        "jsonl": ("jsonl", "".join(f'{{"x": {k}.0}}\n' for k in range(20)).encode()),
        "stream": ("arrow", stream.getvalue().to_pybytes()),
        "file": ("arrow", file.getvalue().to_pybytes()),
        "npy": ("npy", npy.getvalue()),
    }


@pytest.mark.parametrize(("format", "data"), stdin_data().values(), ids=stdin_data())
@pytest.mark.parametrize("is_told", [True, False], ids=["told", "looked at"])
def test_standard_input(format: str, data: bytes, is_told: bool) -> None:
    if not is_told and data.startswith(b"\x28\xb5\x2f\xfd"):  # zstd tells nothing of its contents
        return
    command = [sys.executable, "-c", FROM_STDIN, format * is_told, "" if format == "npy" else "x"]
    done = subprocess.run(command, input=data, capture_output=True, check=False)
    assert (done.stderr, done.stdout.decode().strip()) == (b"", str([float(k) for k in range(20)]))


# ---- without pyarrow -----------------------------------------------------------------------------

WITHOUT_ARROW = """
import sys
sys.modules["pyarrow"] = None
from gradcli.diagnostics import GradcliError
from gradcli.rows.sources import open_source
from gradcli.rows.writing import WRITERS
for path in sys.argv[1:]:
    try:
        (where,) = open_source(path).ranges(10)
        print(where.read(["x"], []).columns["x"].tolist())
    except GradcliError as error:
        print(error.exit_code, error.diagnostics[0].message.split(",")[0], "/", error.diagnostics[0].help)
try:
    WRITERS["parquet"]("nothing", None)
except GradcliError as error:
    print(error.exit_code)
"""


def test_without_pyarrow(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"x": 1}\n')
    np.savez(tmp_path / "a.npz", x=np.ones(1))
    (tmp_path / "a.csv").write_text("id,x\na,1\n")
    (tmp_path / "a.parquet").write_text("")
    names = ["a.jsonl", "a.npz", "a.csv", "a.parquet"]
    command = [sys.executable, "-c", WITHOUT_ARROW, *(str(tmp_path / name) for name in names)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "[1.0]",
        "[1.0]",
        "[1.0]",
        "2 Parquet needs the package pyarrow / pip install 'gradcli[data]'",
        "2",
    ]


def test_formats_are_all_there() -> None:
    assert set(OPENERS) == set(WRITERS) == set(ENDINGS.values())


# pyarrow looks for pandas when it makes arrays of Python objects; importing it would take longer
# than a small job.
WITHOUT_PANDAS = """
import sys
class Finder:
    def find_spec(self, name, path, target=None):
        assert name != "pandas", "pandas is looked for"
sys.meta_path.insert(0, Finder())
import numpy as np
from gradcli.rows.sources import open_source
from gradcli.rows.writing import WRITERS, Column
words = np.array(["a", None, 'b"', "c"], dtype=object)
columns = [Column("f", np.arange(4.0)), Column("b", np.arange(4) > 1), Column("t", words, np.arange(4) > 2),
           Column("i", np.arange(4), np.arange(4) > 2), Column("g", np.ones((4, 2)), np.arange(4) > 2)]
for ending, make in WRITERS.items():
    path = f"{sys.argv[1]}/a.{ending}"
    block = columns if ending != "npy" else columns[:2]
    writer = make(path, None)
    position = writer.append(block)
    writer.close()
    writer = make(path, position)
    writer.append(block)
    writer.finish()
    numeric, keep = (["f", "b", "i", "g"], ["t", "i"]) if ending != "npy" else ([""], [])
    for where in open_source(path).ranges(5):
        assert not where.read(numeric, keep).rejected
"""


def test_pandas_is_not_imported(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_PANDAS, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""


def test_how_much_of_the_data_is_done(tmp_path: Path) -> None:
    """Of plain text by its bytes; where it is compressed or its rows are counted, nobody has to
    guess."""
    (tmp_path / "a.csv").write_text("x\n" + "1\n" * 99)
    (tmp_path / "b.csv").write_text("x\n" + "1\n" * 199)
    source = open_source(str(tmp_path / "*.csv"))
    shares = [source.share(where) for where in source.ranges(50)]
    assert shares == pytest.approx([102 / 600, 200 / 600, 302 / 600, 402 / 600, 502 / 600, 1.0])
    (tmp_path / "c.csv.gz").write_bytes(gzip.compress(b"x\n1\n"))
    packed = open_source(str(tmp_path / "c.csv.gz"))
    assert [packed.share(where) for where in packed.ranges(50)] == [None]
