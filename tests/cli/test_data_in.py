"""Data in, as it is given at a shell: columns of files, standard input, and formats that nobody
names."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import pytest

from ..shell import shell

QUOTES = {"sym": ["A", "B"], "price": [3.0, 5.0], "qty": [1.0, 2.0]}
SUM = "gradcli eval -e 'sum(x**2)' --no-grad --set x=@"


def text(delimiter: str) -> str:
    rows = [list(QUOTES), *([str(v) for v in row] for row in zip(*QUOTES.values(), strict=True))]
    return "".join(delimiter.join(row) + "\n" for row in rows)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    work.mkdir()
    for name, delimiter in {"c": ",", "s": ";", "t": "\t"}.items():
        (work / f"{name}.csv").write_text(text(delimiter))
    (work / "t.tsv").write_text(text("\t"))
    (work / "nameless").write_text(text(","))
    (work / "gap.csv").write_text("sym,price\nA,3\nB,\nC,5\nD,\n")
    (work / "bare.csv").write_text("1,2\n3,4\n")
    table = pa.table(QUOTES)
    pyarrow.parquet.write_table(table, work / "q.parquet")
    with pa.ipc.new_file(str(work / "q.arrow"), table.schema) as file:
        file.write_table(table)
    lines = [dict(zip(QUOTES, row, strict=True)) for row in zip(*QUOTES.values(), strict=True)]
    (work / "q.jsonl").write_text("".join(f"{line}\n".replace("'", '"') for line in lines))
    np.savez(work / "q.npz", price=QUOTES["price"], qty=QUOTES["qty"])
    np.save(work / "x.npy", QUOTES["price"])
    day = pa.table({"day": pa.array([0], pa.date32())})
    pyarrow.parquet.write_table(day, work / "d.parquet")
    (work / "v.json").write_text('{"price": [3, 5], "deep": {"w": 2}}')
    rows = '[{"price": 3, "d": {"w": 3}}, {"price": 5, "d": {"w": 4}, "rest": 1}]'
    (work / "rows.json").write_text(rows)
    (work / "part.csv").write_text("sym,price,qty\nA,3,1\nB,,2\n")
    (work / "comma.csv").write_text("price;qty\n3,5;1\n")
    (work / "odd.csv").write_text('a,b,c,d\n"1,234.5","2,000",N/A,$5\n')
    (work / "blanks.txt").write_text("1.0 2.0\n3.0 4.0\n")
    (work / "m.tg").write_text("var price\nconst qty\nf = price**2 * qty\n")
    return work


FILES = (
    "c.csv",
    "s.csv",
    "t.csv",
    "t.tsv",
    "nameless",
    "q.parquet",
    "q.arrow",
    "q.jsonl",
    "q.npz",
    "v.json",
)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("way", ["@{}:price", "@-:price < {}", "@-:price < <(cat {})"])
def test_a_column_by_its_name(folder: Path, tmp_path: Path, name: str, way: str) -> None:
    command = f"bash -c \"gradcli eval -e 'sum(x**2)' --no-grad --set x={way.format(name)}\""
    assert shell(command, folder, tmp_path) == "result    34.0\n"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (f"{SUM}c.csv", "result    39.0\n"),  # without the column of text
        (f"{SUM}bare.csv", "result    30.0\n"),
        ("echo 3 | gradcli eval -e 'x**2' --no-grad --set x=@-", "result    9.0\n"),
        ("gradcli eval -e 'dot(a, b)' --no-grad --set a=@-:price --set b=@-:qty < s.csv", "result    13.0\n"),
        ("gradcli eval -e 'dot(price, qty)' --no-grad --inputs c.csv", "result    13.0\n"),
        ("gradcli eval -e 'dot(price, qty)' --no-grad --inputs - < q.parquet", "result    13.0\n"),
        ("echo '{\"x\": 3}' | gradcli eval -e 'x**2' --no-grad --inputs -", "result    9.0\n"),
        ("gradcli check -q -e 'sum(x**2)' --set x=@c.csv:price --format json | grep -c verified", "1\n"),
        (f"{SUM}rows.json:price", "result    34.0\n"),
        ("gradcli eval -e 'sum(price)' --no-grad --inputs rows.json --ignore-extra", "result    8.0\n"),
        ("gradcli eval -e 'sum(qty)' --no-grad --inputs part.csv", "result    3.0\n"),
        ("gradcli eval -e 'sum(qty)' --no-grad --inputs - < part.csv", "result    3.0\n"),
        ("gradcli eval -e 'price + sum(qty)' --no-grad --inputs part.csv --set price=1", "result    4.0\n"),
        ("gradcli batch m.tg --no-grad -q --set price=@v.json:price --rows c.csv", "f.0,f.1\n9,25\n18,50\n"),
    ],
)  # fmt: skip
def test_what_is_read(folder: Path, tmp_path: Path, command: str, said: str) -> None:
    assert shell(command, folder, tmp_path) == said


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (f"{SUM}gap.csv:price", "gap.csv:3: column `price` has no value; nor in line 5\n"),
        (f"{SUM}-:price < gap.csv", "standard input:3: column `price` has no value; nor in line 5\n"),
        (f"{SUM}c.csv:sym", 'c.csv:2: column `sym`: "A" is not a number\n'),
        (f"{SUM}c.csv:prise", "c.csv: it has no column `prise`\n  = help: did you mean `price`?\n"),
        (f"{SUM}bare.csv:price", "bare.csv: it has no column `price`\n  = help: it names none: take it whole"),
        (f"{SUM}x.npy:price", "x.npy: it has no column `price`\n  = help: it names none: take it whole"),
        ("gradcli eval -e 'sum(price)' --inputs x.npy", "x.npy: it doesn't name its columns\n  = help: read it as one value: --set x=@x.npy\n"),
        (f"{SUM}d.parquet:day", "d.parquet: column `day` holds date32[day], which isn't a number\n  = help: convert it"),
        (f"{SUM}v.json", "v.json: which of its values?"),
        (f"{SUM}no.csv:price", "no.csv: cannot read it: No such file or directory\n"),
        ("gradcli eval -e 'sum(price)' --inputs part.csv", "part.csv:3: column `price` has no value\n"),
        ("gradcli check m.tg --inputs part.csv", "part.csv:3: column `price` has no value\n"),
        ("gradcli diff m.tg m.tg --inputs part.csv", "part.csv:3: column `price` has no value\n"),
        ("gradcli eval -e 'sym + qty' --inputs part.csv", 'column `sym`: "A" is not a number\n'),
        (f"{SUM}part.csv", "part.csv:3: column `price` has no value\n"),
        (f"{SUM}rows.json:rest", "rows.json: it has no `rest`\n  = help: write @rows.json:NAME; there are `price`, `d.w`\n"),
        (f"{SUM}c.csv:", "c.csv: a name is missing after the colon\n  = help: write @c.csv:NAME, or @c.csv for all\n"),
        (f"{SUM}comma.csv:price", 'comma.csv:2: column `price`: "3,5" is not a number: write 3.5\n'),
        ("gradcli batch m.tg --rows comma.csv", 'column `price`: "3,5" is not a number: write 3.5\n'),
        (f"{SUM}odd.csv:a", 'odd.csv:2: column `a`: "1,234.5" is not a number: write 1234.5\n'),
        (f"{SUM}odd.csv:b", 'column `b`: "2,000" is not a number: write 2000 or 2.000\n'),
        (f"{SUM}odd.csv:c", 'column `c`: "N/A" is not a number: a cell without a value is empty\n'),
        (f"{SUM}odd.csv:d", 'column `d`: "$5" is not a number\n'),
        (f"{SUM}blanks.txt", '"3.0 4.0" is not a number: cells are separated by commas, semicolons or tabs\n'),
        ("gradcli batch m.tg < /dev/null", "error[E002]: standard input: it has no header"),
        ("echo '[1]' | gradcli eval -e 'x' --inputs -", "expected a mapping from names to values, got a list\n"),
        ("echo 'x**2' | gradcli eval - --set x=@-", "the inputs are standard input, and so is something else"),
        ("cat c.csv | gradcli batch -e 'x*w' --set w=@-", "the inputs are standard input, and so is"),
        ("gradcli batch m.tg -q --rows gap.csv --set qty=1", "error[E605]: row 1: `price` has no value\n"),
        ("echo '[{}]' | gradcli batch m.tg", "standard input: it is a JSON array\n  = help: write one object on"),
        ("gradcli batch m.tg < q.parquet", "parquet can't be read from standard input"),
    ],
)  # fmt: skip
def test_what_is_said_of_data(folder: Path, tmp_path: Path, command: str, said: str) -> None:
    assert said in shell(command, folder, tmp_path)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("cat c.csv | gradcli batch m.tg -q", "f,df/dprice\n9,6\n50,20\n"),
        ("gradcli batch m.tg -q --keep sym < s.csv", "sym;f;df/dprice\nA;9;6\nB;50;20\n"),
        ("gradcli batch m.tg -q < t.tsv", "f\tdf/dprice\n9\t6\n50\t20\n"),
        ("gradcli batch m.tg -q --rows t.csv", "f\tdf/dprice\n9\t6\n50\t20\n"),
        ("gradcli batch m.tg -q --rows s.csv --out-format csv", "f,df/dprice\n9,6\n50,20\n"),
        ("gradcli batch m.tg -q --rows s.csv -o o.csv && cat o.csv", "f,df/dprice\n9,6\n50,20\n"),
        ("gradcli batch m.tg -q --rows nameless", "f,df/dprice\n9,6\n50,20\n"),
        ("gradcli batch m.tg -q --rows q.parquet", "f,df/dprice\n9,6\n50,20\n"),
        ("cat q.jsonl | gradcli batch m.tg -q", '{"f": 9, "df/dprice": 6}\n{"f": 50, "df/dprice": 20}\n'),
        ("gzip -c c.csv | gradcli batch m.tg -q", "f,df/dprice\n9,6\n50,20\n"),
        ("cat c.csv | gradcli batch m.tg -q --reduce mean", "f            29.5\n∂f/∂price    13.0\n"),
        (
            "cat c.csv | gradcli batch m.tg -q | python -c \"import polars, sys; "
            "print(polars.read_csv(sys.stdin.buffer)['f'].sum())\"",
            "59\n",
        ),
        (
            "cat c.csv | gradcli batch m.tg -q | python -c \"import duckdb, sys; "
            "rows = duckdb.read_csv(sys.stdin.buffer); print(duckdb.sql('select sum(f) from rows'))\""
            " | grep -o '59'",
            "59\n",
        ),
    ],
)  # fmt: skip
def test_rows_through_a_pipe(folder: Path, tmp_path: Path, command: str, said: str) -> None:
    assert shell(command, folder, tmp_path) == said


def test_an_arrow_stream_comes_out_as_it_goes_in(folder: Path, tmp_path: Path) -> None:
    script = (
        "import pyarrow as pa, sys; t = pa.ipc.open_stream(sys.stdin.buffer).read_all(); "
        "print(t.column('df/dprice').to_pylist())"
    )
    command = f'gradcli batch m.tg -q < q.arrow | python -c "{script}"'
    assert shell(command, folder, tmp_path) == "[6.0, 20.0]\n"
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, pa.table(QUOTES).schema) as stream:
        stream.write_table(pa.table(QUOTES))
    (folder / "stream").write_bytes(sink.getvalue())
    assert shell(command.replace("q.arrow", "stream"), folder, tmp_path) == "[6.0, 20.0]\n"
