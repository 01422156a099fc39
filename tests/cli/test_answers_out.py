"""Answers out: a file's ending says the format, in every command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

Run = Callable[..., Any]


@pytest.fixture
def folder(gradcli: Run, tmp_path: Path) -> Path:
    """The folder in which commands run."""
    (tmp_path / "m.tg").write_text("var x = 3.0\nvar z = [1.0, 2.0]\nf = x**2 * sum(z)\n")
    (tmp_path / "d.csv").write_text("x\n3\n4\n")
    return tmp_path


@pytest.mark.parametrize(
    ("command", "name", "begins"),
    [
        ("eval m.tg", "r.json", b'{"file": "m.tg",\n "outputs": {"f": {"value": 27.0'),
        ("eval m.tg", "r.jsonl", b'{"file": "m.tg", "outputs": '),
        ("eval m.tg", "r.csv", b"file,output,wrt,index,value\nm.tg,f,,,27.0\n"),
        ("eval m.tg", "r.npz", b"PK\x03\x04"),
        ("eval m.tg", "r.parquet", b"PAR1"),
        ("eval m.tg", "R.JSON", b'{"file": '),
        ("eval m.tg", "r.txt", "f        27.0\n∂f/∂x    18.0\n".encode()),
        ("eval m.tg", "r", "f        27.0\n∂f/∂x    18.0\n".encode()),
        ("eval m.tg --format json", "r.csv", b'{"file": '),
        ("check -q m.tg", "r.json", b'{"file": "m.tg",\n "passed": 2,'),
        ("check -q m.tg", "r.xml", b"<?xml"),
        ("check -q m.tg", "r.sarif", b"{"),
        ("check -q m.tg", "r.html", b"<!doctype html>"),
        ("lint m.tg", "r.json", b'{"file": "m.tg",'),
        ("why m.tg", "r.json", b'{"file": "m.tg",\n "explanations": '),
        ("diff m.tg m.tg", "r.json", b'{"old": "m.tg",'),
        ("trace m.tg", "r.json", b'{"file": "m.tg",\n "sources": '),
        ("trace m.tg", "r.dot", b"digraph"),
        ("trace m.tg", "r.mmd", b"flowchart"),
        ("symbolic m.tg", "r.json", b'{"file": "m.tg",\n "to": "text",'),
        ("symbolic -e x**2", "r.tex", b"result = x^{2}"),
        ("symbolic -e x**2", "r.f90", b"module closed_forms\n"),
        ("batch m.tg -q --no-grad --rows d.csv", "r.csv", b"f\n27\n48\n"),
        ("batch m.tg -q --no-grad --rows d.csv", "r.jsonl", b'{"f": 27}\n'),
        ("batch m.tg -q --no-grad --rows d.csv", "r.parquet", b"PAR1"),
        ("batch m.tg -q --no-grad --rows d.csv", "r.npz", b"PK\x03\x04"),
        ("batch m.tg -q --rows d.csv --reduce sum", "r.json", b'{"file": "m.tg",\n "outputs": {"f": '),
        ("batch m.tg -q --rows d.csv --reduce sum", "r.txt", "f        75.0\n∂f/∂x    42.0\n".encode()),
        ("batch m.tg -q --rows d.csv --reduce sum", "r.csv", b"f,df/dx,df/dz.0,df/dz.1\n75,42,"),
        ("batch m.tg -q --rows d.csv --reduce sum", "r.jsonl", b'{"f": 75, '),
        ("batch m.tg -q --rows d.csv --reduce sum", "r.parquet", b"PAR1"),
        ("batch m.tg -q --rows d.csv --reduce sum", "r.npz", b"PK\x03\x04"),
        ("plot -e x**2 --over x=0:1", "r.svg", b"<?xml"),
    ],
)  # fmt: skip
def test_the_ending_says_the_format(
    gradcli: Run, folder: Path, command: str, name: str, begins: bytes
) -> None:
    done = gradcli(f"{command} -o {name}")
    assert (done.code, done.out, done.err) == (0, "", "")
    assert (folder / name).read_bytes().lower().startswith(begins.lower())


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (
            "why m.tg -o r.npz",
            "`r.npz`: this command writes no .npz\n  = help: the endings are .txt .json;",
        ),
        ("check m.tg -o r.csv", "this command writes no .csv"),
        ("batch m.tg --rows d.csv -o r.json", "of which format should the output `r.json` be?"),
        ("batch m.tg --rows d.csv -o r.txt", "with --reduce also .json .txt"),
        ("batch m.tg --rows d.csv --out-format json", "--out-format json without --reduce"),
        ("eval m.tg --format parquet", "--format parquet needs a file"),
    ],
)
def test_an_ending_of_another_command(gradcli: Run, folder: Path, command: str, said: str) -> None:
    assert said in gradcli(command).err
    assert not list(folder.glob("r.*"))


def test_a_table_of_numbers_and_of_what_is_none(gradcli: Run, folder: Path) -> None:
    program = 'var x = 3.0; y = x**2; s = "t"; n = none; k = 9007199254740993; b = true; output y, s, n, k, b'
    assert gradcli(f"eval -q -e '{program}' -o r.parquet").code == 0
    table = pyarrow.parquet.read_table(folder / "r.parquet").to_pydict()
    found = dict(
        zip(
            zip(table["output"], table["wrt"], strict=True),
            zip(table["value"], table["text"], strict=True),
            strict=True,
        )
    )
    assert found == {
        ("y", ""): (9.0, None),
        ("s", ""): (None, "t"),
        ("n", ""): (None, None),
        ("k", ""): (None, "9007199254740993"),
        ("b", ""): (1.0, None),
        ("y", "x"): (6.0, None),
    }
